"""The registry of sentence similarity sets, and finding copies of them below any folder.

Before: sets.toml, one row a set, and the user's files. After: dictsent.tasks.readers reads a copy, sts scores it.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

from dictsent.errors import TaskError
from dictsent.languages import key_language

PACKAGED = Path(__file__).parent
"""Holds mini-sts/, the smoke set that is always there."""

SEVEN = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
"""The papers' columns, in their order (DefSent, Table 3; DefSent+, Table 3)."""

BY_TEXT = "by text"
FETCHED = "hub"


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One way in which copies of a set are published.

    Attributes:
        reader: a name in dictsent.tasks.readers.READERS.
        paths: for each split the globs of the last parts of a path.
        variant: the kind of text; BY_TEXT where only the content tells raw from SentEval's tokenised, lowercased copy.
        score, first, second: column numbers from 0, column names, or dotted keys of a JSON record.
        joined: the column that holds both sentences, one a line; then first and second are not used.
        whole: one file holds all subsets, which then cannot be told apart.
        keep: only rows with these values, by column name or (as text) number.
    """

    reader: str
    paths: Mapping[str, Sequence[str]]
    variant: str = ""
    score: str | int = 0
    first: str | int = 1
    second: str | int = 2
    joined: str = ""
    delimiter: str = "tab"
    header: bool = False
    quoting: bool = False
    whole: bool = False
    keep: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSet:
    """One row of the registry; sets.toml says what each field means."""

    name: str
    language: str
    split: str
    origin: str
    licence: str
    source: str
    scale: tuple[float, float] = (-math.inf, math.inf)
    pairs: Mapping[str, int] = field(default_factory=dict)
    forms: tuple[Form, ...] = ()
    gold: Mapping[str, str] = field(default_factory=dict)
    protocol: str = ""
    subsets: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()
    same_as: str = ""
    hub: Mapping[str, Any] = field(default_factory=dict)
    second_language: str = ""

    @property
    def label(self) -> str:
        """The name with the language where the name does not tell: "STSb-multi-mt (de)"."""
        if self.language == "en" and self.name in SEVEN:
            return self.name
        return f"{self.name} ({self.tag})"

    @property
    def tag(self) -> str:
        """The language, or both of a cross-lingual set: "en-de"."""
        return f"{self.language}-{self.second_language}" if self.second_language else self.language

    @property
    def slug(self) -> str:
        """The name of the folder that `eval fetch` keeps it in."""
        return re.sub(r"[^A-Za-z0-9.-]+", "-", f"{self.label} {self.protocol}").strip("-").lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A copy of one split of a set on this machine: the files of its subsets ("" where it has none)."""

    set: PairSet
    split: str
    variant: str
    form: Form
    files: Mapping[str, Path]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A set that cannot be or is not scored, and why."""

    set: PairSet
    reason: str


@lru_cache(maxsize=1)
def registry() -> tuple[PairSet, ...]:
    """All rows of sets.toml, one for each language of a row with several, in its order."""
    with (PACKAGED / "sets.toml").open("rb") as file:
        rows = tomllib.load(file)["set"]
    return tuple(expanded for row in rows for expanded in _expand(row))


def _expand(row: dict[str, Any]) -> Iterator[PairSet]:
    codes, crossings = row.pop("codes", {}), row.pop("crossings", [])
    languages = row.pop("languages", None) or crossings or [row["language"]]
    for language in languages:
        names = {"language": language, "code": codes.get(language, language)}
        values: dict[str, Any] = _fill(row, names) | {"language": language}
        if crossings:
            one, _, two = language.partition("-")
            values |= {"language": one, "second_language": "" if two == one else two}
        if isinstance(values.get("same_as"), dict):
            values["same_as"] = values["same_as"].get(language, "")
        if codes and row.get("gold"):
            values["gold"], values["pairs"] = row["gold"][language], row["pairs"][language]
        values["forms"] = tuple(Form(**form) for form in values.get("forms", ()))
        if language in row.get("hub", {}).get("lacks", ()):
            values.pop("hub")
        if "scale" in values:
            values["scale"] = (float(values["scale"][0]), float(values["scale"][1]))
        for name in ("subsets", "exposed"):
            values[name] = tuple(values.get(name, ()))
        bare = PairSet(**values)
        yield replace(bare, forms=(*bare.forms, fetched_form(bare))) if bare.hub else bare


def fetched_form(row: PairSet) -> Form:
    """The form of what `eval fetch` keeps: JSON lines, all subsets together."""
    paths = {split: [f"{row.slug}/{split}.jsonl"] for split in row.hub["splits"]}
    return Form(
        reader="json", variant=FETCHED, paths=paths, score="score", first="sentence1", second="sentence2", whole=True
    )


def _fill(value: Any, names: Mapping[str, str]) -> Any:
    """Fill {language} and {code} in every text of a nested value; {subset} stays."""
    if isinstance(value, str):
        for name, text in names.items():
            value = value.replace("{" + name + "}", text)
        return value
    if isinstance(value, dict):
        return {key: _fill(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, names) for item in value]
    return value


class Shelf:
    """The files below some folders, found by the last parts of their paths.

    Args:
        folders: searched in this order; where a file is found twice the earlier folder wins, then the shorter path.

    Raises:
        TaskError: a folder does not exist or cannot be read.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._by_name: dict[str, list[tuple[Path, tuple[str, ...]]]] = {}
        for folder in folders:
            if not folder.is_dir():
                raise TaskError("no such folder", where=str(folder), hint="--data names the folder of evaluation sets")
            for path in sorted(_walk(folder), key=lambda p: (len(p.parts), p.as_posix())):
                inside = path.relative_to(folder).parts
                parts = tuple(part.lower() for part in (folder.resolve().name, *inside))
                self._by_name.setdefault(parts[-1], []).append((path, parts))

    def match(self, pattern: str) -> list[Path]:
        """The files whose path ends in `pattern` ("*2012*/OnWN.test.tsv"), without regard to case."""
        wanted = pattern.lower().split("/")
        names = (
            [wanted[-1]]
            if not set("*?[") & set(wanted[-1])
            else [n for n in self._by_name if fnmatchcase(n, wanted[-1])]
        )
        found = (entry for name in names for entry in self._by_name.get(name, ()))
        return [path for path, parts in found if _ends_in(parts, wanted)]


def _ends_in(parts: Sequence[str], wanted: Sequence[str]) -> bool:
    tail = parts[-len(wanted) :]
    return len(tail) == len(wanted) and all(map(fnmatchcase, tail, wanted))


def _walk(folder: Path) -> Iterator[Path]:
    """All files below a folder, links followed once, hidden folders left aside."""
    seen: set[str] = set()
    for place, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(place)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place, name) for name in names if not name.startswith("."))


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which sets to score.

    Attributes:
        protocol: "paper" (SICK-R: the 4,927 pairs of the 2014 test file) or "mteb" (all 9,927).
        languages: key tags; empty for every language.
        names: only these sets; then sets that hold another's pairs again may be named too.
        variant: "raw", "senteval", ...: only copies with this kind of text; "" prefers the first form of a row.
        split: "" for the split each row names.
    """

    protocol: str = "paper"
    languages: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    variant: str = ""
    split: str = ""


def choose(choice: Choice, sets: Sequence[PairSet] | None = None) -> list[PairSet]:
    """The rows of the registry that a choice asks for, in its order.

    Raises:
        TaskError: a named set is in no row, or is named twice.
    """
    rows = [row for row in (registry() if sets is None else sets) if row.protocol in ("", "smoke", choice.protocol)]
    lowered = [name.lower() for name in choice.names]
    for name in choice.names:
        if lowered.count(name.lower()) > 1:
            raise TaskError(f"set {name!r} is named twice", where="--set")
        if not any(name.lower() in _names(row) for row in rows):
            known = ", ".join(dict.fromkeys(row.name for row in rows))
            raise TaskError(f"no set is named {name!r}", where="--set", hint=f"known: {known}")
    if choice.names:
        rows = [row for row in rows if _names(row) & set(lowered)]
    if choice.languages:
        rows = [row for row in rows if speaks(row, choice.languages)]
    return rows


def _names(row: PairSet) -> set[str]:
    return {row.name.lower(), row.label.lower()}


def speaks(row: PairSet, languages: Sequence[str]) -> bool:
    """Whether the set is in these languages (pt-BR is found under pt); a cross-lingual one needs both."""
    known = {key_language(tag) for tag in languages}
    return all(key_language(tag) in known for tag in (row.language, row.second_language) if tag)


def find(choice: Choice, folders: Sequence[Path]) -> tuple[list[Copy], list[LeftOut]]:
    """The copies of the chosen sets below the folders, and the sets that are left out with the reason.

    Raises:
        TaskError: a folder is missing; a named set is unknown.
    """
    shelves = Shelf(folders), Shelf([PACKAGED])
    copies: list[Copy] = []
    left_out: list[LeftOut] = []
    for row in choose(choice):
        if row.same_as and not choice.names:
            left_out.append(LeftOut(row, f"holds the pairs of {row.same_as} again; name it to score it"))
            continue
        found, reason = locate(row, shelves[row.protocol == "smoke"], choice)
        if found:
            copies.append(found[0])
        else:
            left_out.append(LeftOut(row, reason))
    return copies, left_out


def locate(row: PairSet, shelf: Shelf, choice: Choice) -> tuple[list[Copy], str]:
    """All copies of a set, the complete ones first, then in the order of its forms; and why there is none."""
    split = choice.split or row.split
    copies: list[Copy] = []
    refused: list[str] = []
    for form in row.forms:
        for variant, files in _gather(row, form, split, shelf, refused).items():
            missing = () if form.whole else tuple(name for name in row.subsets if name not in files)
            copies.append(Copy(set=row, split=split, variant=variant, form=form, files=files, missing=missing))
    wanted = [
        copy for copy in copies if choice.variant in ("", copy.variant) or not copy.variant or not _has_forms(row)
    ]
    if wanted:
        return sorted(wanted, key=lambda copy: len(copy.missing)), ""
    if copies:
        return [], f"only as {' and '.join(copy.variant for copy in copies)}, not as {choice.variant}"
    if refused:
        return [], refused[0]
    if row.hub and all(form.whole for form in row.forms):
        return [], "not fetched (dictsent eval fetch)"
    if not any(split in form.paths for form in row.forms):
        return [], f"has no {split} split with public scores"
    return [], "not found (--data names a folder of sets)"


def _has_forms(row: PairSet) -> bool:
    """Whether copies of this set differ in their text, so that a wanted variant applies to it."""
    return len({form.variant for form in row.forms}) > 1 or any(form.variant == BY_TEXT for form in row.forms)


def _gather(row: PairSet, form: Form, split: str, shelf: Shelf, refused: list[str]) -> dict[str, dict[str, Path]]:
    """variant -> subset -> the first file that is in the form."""
    from dictsent.tasks.readers import text_variant, why_not

    found: dict[str, dict[str, Path]] = {}
    for subset in ("",) if form.whole else row.subsets or ("",):
        for pattern in form.paths.get(split, ()):
            for path in shelf.match(pattern.replace("{subset}", subset)):
                if reason := why_not(path, form):
                    refused.append(f"{path} is not in its form: {reason}")
                    continue
                variant = text_variant(path) if form.variant == BY_TEXT else form.variant
                found.setdefault(variant, {}).setdefault(subset, path)
    return {variant: found[variant] for variant in sorted(found)}


def unknown_fields(row: Mapping[str, Any]) -> list[str]:
    """Keys of a registry row that no field takes; a test keeps sets.toml free of them."""
    known = {f.name for f in fields(PairSet)} | {"languages", "codes", "crossings"}
    return [key for key in row if key not in known]
