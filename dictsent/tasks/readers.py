"""Readers of the forms in which sentence pairs are published: one function a form.

Before: dictsent.tasks.data finds the files. After: `load` hands dictsent.tasks.sts the pairs that have a gold score.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dictsent.errors import TaskError
from dictsent.records import Rejected
from dictsent.tasks.data import Copy, Form

MOST_REJECTED = 0.1
"""A file with a larger share of unusable rows is not what its name says: an error, not a score."""

_DELIMITERS = {"tab": "\t", "comma": ",", "semicolon": ";"}
_PEEK = 1 << 16


@dataclass(frozen=True, slots=True)
class Row:
    """One pair as the file has it; an empty score means that nobody scored it."""

    score: str
    first: str
    second: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Subset:
    """The scored pairs of one file.

    Attributes:
        gold: (n,) scores as published.
        blank: pairs of the file without a gold score, which take no part.
        rejected: rows that could not be used, with the reason.
    """

    name: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    gold: NDArray[np.float64]
    blank: int = 0
    rejected: tuple[Rejected, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePairs:
    """The pairs of one split of a set, subset by subset in the registry's order."""

    copy: Copy
    subsets: tuple[Subset, ...]
    notes: tuple[str, ...] = ()

    @property
    def first(self) -> list[str]:
        """The first sentences of all subsets, concatenated."""
        return [text for subset in self.subsets for text in subset.first]

    @property
    def second(self) -> list[str]:
        """The second sentences of all subsets, concatenated."""
        return [text for subset in self.subsets for text in subset.second]

    @property
    def gold(self) -> NDArray[np.float64]:
        """(n,) gold scores of all subsets, concatenated."""
        return np.concatenate([subset.gold for subset in self.subsets])

    @property
    def rejected(self) -> list[Rejected]:
        """The unusable rows of all subsets."""
        return [row for subset in self.subsets for row in subset.rejected]

    @property
    def blank(self) -> int:
        """Pairs without a gold score."""
        return sum(subset.blank for subset in self.subsets)


def load(copy: Copy) -> SentencePairs:
    """Read a copy: pairs without a score are counted, faulty rows become Rejected.

    Raises:
        TaskError: a file cannot be read, is not in its form, or most of it cannot be used.
    """
    order = ("",) if copy.form.whole else copy.set.subsets or ("",)
    subsets = tuple(
        load_file(copy.files[name], copy.form, name=name, scale=copy.set.scale) for name in order if name in copy.files
    )
    pairs = SentencePairs(copy=copy, subsets=subsets)
    return SentencePairs(copy=copy, subsets=subsets, notes=tuple(_remarks(pairs)))


def load_file(path: Path, form: Form, *, name: str = "", scale: tuple[float, float] = (-math.inf, math.inf)) -> Subset:
    """Read one file of sentence pairs. Raises TaskError as `load` does."""
    first: list[str] = []
    second: list[str] = []
    gold: list[float] = []
    blank = 0
    rejected: list[Rejected] = []
    for row in READERS[form.reader](path, form):
        checked = _check(row, scale) if isinstance(row, Row) else row
        if checked is None:
            blank += 1
        elif isinstance(checked, Rejected):
            rejected.append(checked)
        else:
            gold.append(checked)
            first.append(row.first.strip())  # type: ignore[union-attr]
            second.append(row.second.strip())  # type: ignore[union-attr]
    _check_usable(path, len(gold), rejected)
    return Subset(
        name=name, first=tuple(first), second=tuple(second), gold=np.array(gold), blank=blank, rejected=tuple(rejected)
    )


def _check(row: Row, scale: tuple[float, float]) -> float | Rejected | None:
    """The gold score, None where the pair has none, Rejected where the row is faulty."""
    shown = f"{row.score}\t{row.first}\t{row.second}"[:200]
    if not row.score.strip():
        return None
    try:
        score = float(row.score)
    except ValueError:
        return Rejected("score is not a number", row.place, shown)
    if not math.isfinite(score):
        return Rejected("score is not a number", row.place, shown)
    if not scale[0] <= score <= scale[1]:
        return Rejected(f"score outside {scale[0]:g} to {scale[1]:g}", row.place, shown)
    if not row.first.strip() or not row.second.strip():
        return Rejected("empty sentence", row.place, shown)
    return score


def _check_usable(path: Path, usable: int, rejected: Sequence[Rejected]) -> None:
    if len(rejected) > MOST_REJECTED * (usable + len(rejected)):
        worst = rejected[0]
        raise TaskError(
            f"{len(rejected)} of {usable + len(rejected)} rows cannot be used, the first because: {worst.reason}",
            where=worst.place,
            hint="are the columns what the set's form says?",
        )
    if not usable:
        raise TaskError("holds no pair with a gold score", where=str(path))


def _remarks(pairs: SentencePairs) -> Iterator[str]:
    """What a reader of the score must know about this copy."""
    copy, n = pairs.copy, len(pairs.gold)
    if copy.missing:
        yield f"incomplete: no file for {', '.join(copy.missing)}"
    for row in pairs.rejected[:3]:
        yield f"row left out at {row.place}: {row.reason}"
    if len(pairs.rejected) > 3:
        yield f"{len(pairs.rejected)} rows left out in all"
    published = copy.set.pairs.get(copy.split)
    if published and n != published and not copy.missing:
        yield f"{n} scored pairs, published were {published}"
    elif (known := copy.set.gold.get(copy.split)) and gold_checksum(pairs.gold) != known and not copy.missing:
        yield "its gold scores differ from the published ones"


def gold_checksum(gold: Iterable[float]) -> str:
    """First 16 hexadecimal digits of sha256 over the scores in order, one "%.4f" a line: the same for every form."""
    return hashlib.sha256("".join(f"{score:.4f}\n" for score in gold).encode()).hexdigest()[:16]


def read_text(path: Path) -> str:
    """The text of a file in UTF-8 (with or without BOM) or UTF-16 with BOM; line ends stay as they are.

    Raises:
        TaskError: it cannot be opened or is in another encoding.
    """
    try:
        raw = path.read_bytes()
        return raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except OSError as error:
        raise TaskError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise TaskError(
            f"is not UTF-8 (byte {error.start})", where=str(path), hint="convert it, e.g. with iconv"
        ) from None


def lines(text: str) -> list[str]:
    r"""Lines ended by \n or \r\n only: sentences hold U+2028, U+0085 and form feeds."""
    rows = [line.removesuffix("\r") for line in text.split("\n")]
    while rows and not rows[-1]:
        rows.pop()
    return rows


def _records(path: Path, form: Form) -> Iterator[tuple[int, list[str]]]:
    """The rows of a delimited file with the number of the line each ends on."""
    text, delimiter = read_text(path), _DELIMITERS[form.delimiter]
    if not form.quoting:
        yield from ((number, line.split(delimiter)) for number, line in enumerate(lines(text), 1) if line.strip())
        return
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        yield from ((reader.line_num, row) for row in reader if row)
    except csv.Error as error:
        raise TaskError(f"not readable as quoted columns: {error}", where=f"{path}:{reader.line_num}") from None


def read_columns(path: Path, form: Form) -> Iterator[Row | Rejected]:
    """Delimited columns by number or, with a header, by name (RFC 4180 where `quoting`)."""
    records = _records(path, form)
    header = next(records, (1, []))[1] if form.header else []
    column = _columns(path, form, [name.strip() for name in header])
    for number, fields in records:
        place = f"{path}:{number}"
        if max(column.values()) >= len(fields):
            yield Rejected(
                f"{len(fields)} columns, at least {max(column.values()) + 1} expected", place, fields[0][:200]
            )
        elif all(fields[column[name]] == value for name, value in form.keep.items()):
            yield _row(fields, column, place)


def _columns(path: Path, form: Form, header: list[str]) -> dict[str, int]:
    texts = {"joined": form.joined} if form.joined else {"first": form.first, "second": form.second}
    wanted: dict[str, str | int] = {
        "score": form.score,
        **texts,
        **{name: name if form.header else int(name) for name in form.keep},
    }
    column: dict[str, int] = {}
    for role, name in wanted.items():
        if isinstance(name, str) and name not in header:
            raise TaskError(f"has no column named {name!r}", where=str(path), hint=f"its first line: {header[:8]}")
        column[role] = header.index(name) if isinstance(name, str) else name
    return column


def _row(fields: Sequence[str], column: dict[str, int], place: str) -> Row | Rejected:
    if "joined" not in column:
        return Row(fields[column["score"]], fields[column["first"]], fields[column["second"]], place)
    text = fields[column["joined"]].strip()
    first, newline, second = text.partition("\n")
    if not newline or "\n" in second.strip():
        return Rejected("not two sentences on two lines", place, text[:200])
    return Row(fields[column["score"]], _unquote(first), _unquote(second), place)


def _unquote(sentence: str) -> str:
    """SemRel puts some sentences into quotation marks that are no part of them."""
    text = sentence.strip()
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] == '"' and '"' not in text[1:-1] else text


def gold_file(path: Path) -> Path:
    """The file of scores beside a file of pairs: STS.input.X.txt -> STS.gs.X.txt."""
    return path.with_name(path.name.replace(".input.", ".gs."))


def read_paired(path: Path, form: Form) -> Iterator[Row | Rejected]:
    """SemEval's and SentEval's layout: pairs in STS.input.X.txt, their scores line by line in STS.gs.X.txt."""
    pairs = lines(read_text(path))
    scores = [line.strip() for line in read_text(gold_file(path)).removesuffix("\n").split("\n")]
    while len(scores) > len(pairs) and not scores[-1]:
        scores.pop()
    if len(pairs) != len(scores):
        raise TaskError(
            f"{len(pairs)} pairs but {len(scores)} lines of scores in {gold_file(path).name}", where=str(path)
        )
    for number, (pair, score) in enumerate(zip(pairs, scores, strict=True), 1):
        fields = pair.split("\t")
        place = f"{path}:{number}"
        yield Row(score, fields[0], fields[1], place) if len(fields) > 1 else Rejected("no tab", place, pair[:200])


def read_json(path: Path, form: Form) -> Iterator[Row | Rejected]:
    """JSON records, one a line or in one array; columns are dotted keys ("labels.label")."""
    text = read_text(path).strip()
    try:
        records = (
            json.loads(text) if text.startswith("[") else [json.loads(line) for line in lines(text) if line.strip()]
        )
    except json.JSONDecodeError as error:
        raise TaskError(f"not JSON: {error.msg}", where=f"{path}:{error.lineno}") from None
    for number, record in enumerate(records, 1):
        place = f"{path}:record {number}"
        values = [_value(record, str(key)) for key in (form.score, form.first, form.second)]
        missing = [str(k) for k, v in zip((form.score, form.first, form.second), values, strict=True) if v is None]
        yield Rejected(f"no key {missing[0]!r}", place) if missing else Row(*map(str, values), place)  # type: ignore[call-arg]


def _value(record: Any, key: str) -> Any:
    for part in key.split("."):
        record = record.get(part) if isinstance(record, dict) else None
    return record


def read_assin(path: Path, form: Form) -> Iterator[Row | Rejected]:
    """ASSIN's XML: <pair id similarity><t>..</t><h>..</h></pair>."""
    from lxml import etree

    try:
        root = etree.parse(str(path), etree.XMLParser(resolve_entities=False, no_network=True)).getroot()
    except (etree.XMLSyntaxError, OSError) as error:
        raise TaskError(f"not XML: {error}", where=str(path)) from None
    for pair in root.iter("pair"):
        place = f"{path}:{pair.sourceline}"
        yield Row(pair.get("similarity", ""), pair.findtext("t") or "", pair.findtext("h") or "", place)


READERS: dict[str, Callable[[Path, Form], Iterator[Row | Rejected]]] = {
    "columns": read_columns,
    "paired": read_paired,
    "json": read_json,
    "assin": read_assin,
}


def why_not(path: Path, form: Form) -> str:
    """Why a file is not in a form, told by its beginning; "" where it is."""
    if form.reader == "paired" and not gold_file(path).is_file():
        return f"{gold_file(path).name} does not lie beside it"
    try:
        first = next((row for row in READERS[form.reader](path, form)), None)
    except TaskError as error:
        return error.what
    if first is None:
        return "it is empty"
    return first.reason if isinstance(first, Rejected) else ""


def text_variant(path: Path) -> str:
    """The kind of text: "raw" where its sentences have capitals, else "senteval" (lowercased, tokenised)."""
    beginning = lines(read_text(path)[:_PEEK])
    sentences = " ".join(field for line in beginning for field in line.split("\t")[-2:])
    return "raw" if any(letter.isupper() for letter in sentences) else "senteval"
