"""JSON lines: dictsent's own export form, and anybody's objects by a mapping of keys.

Before: streams.py reads the lines. After: entries. The own form, one JSON object a line, UTF-8:

    {"dictsent": 1, "dictionary": {"name": "wordnet-3.0", "language": "en", "title": "", "version": "", "licence": "",
     "attribution": "", "address": ""}}
    {"headword": "dog", "language": "en", "definitions": [{"text": "a domestic animal", "language": "en",
     "part_of_speech": "noun", "sense": "dog%1:05:00::", "ili": "i46360", "examples": [{"text": "the dog barked",
     "translation": "", "source": ""}], "labels": ["zoology"], "form_of": "", "etymology": 1, "translation": false}],
     "spellings": [], "place": "data.noun:2084071"}

The first line describes the source; a file that holds several has such a line before each. Every key is a field of
dictsent.records, by its name; those with the record's default value may be left out, and a definition's language where
it is the entry's.
`entry_to_json` and `dictionary_to_json` write it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any

from dictsent.adapter import Adapter, Options, option
from dictsent.errors import SourceError
from dictsent.languages import find_tag
from dictsent.records import Definition, Dictionary, Entry, Example, Rejected
from dictsent_adapters.sections import part_checksum, part_names, part_of
from dictsent_adapters.streams import (
    LINE_LIMIT,
    Line,
    damage_as_source_error,
    open_plain,
    read_lines,
    sample_lines,
    text_encoding,
)
from dictsent_adapters.table import EARLY, check_spoilt

FORM = 1
"""The version of the own form, the value of "dictsent" in the first line."""
_HEADWORDS = ("headword", "word", "entry", "lemma", "term")
_DEFINITIONS = ("definition", "definitions", "gloss", "glosses", "meaning", "meanings")
_OWN = '{"dictsent": '
_DICTIONARY = tuple(f.name for f in fields(Dictionary))


class _BadRecord(ValueError):
    """Why a line cannot be used."""


@dataclass(frozen=True, kw_only=True)
class JsonlOptions(Options):
    """Where the values stand in anybody's objects: a key, or a path of keys such as senses.gloss; lists are walked."""

    headword: str = option("key of the headword", default="")
    definition: str = option("key or path of the definitions, such as senses.gloss", default="")
    part_of_speech: str = option("key of the part of speech, if any", default="")
    example: str = option("key or path of the examples, if any", default="")
    definition_language: str = option("language of the definitions, if not the headwords'", default="")


class Jsonl(Adapter):
    """Reads one JSON object a line."""

    name = "jsonl"
    summary = "JSON lines: dictsent's own export, or anybody's by --headword and --definition keys"
    generic = True
    Options = JsonlOptions

    def matches(self, path: Path) -> bool:
        """Whether the first line is the own form's, or an object with a headword and a definition."""
        for line in sample_lines(path):
            if line.strip():
                try:
                    found = json.loads(line)
                except (ValueError, RecursionError):
                    return False
                return isinstance(found, dict) and (_is_own(found) or _known_keys(found) is not None)
        return False

    def describe(self, source: str) -> Dictionary:
        """What the first line tells, else the file's name."""
        path, number = part_of(source)
        first = next((line for line in sample_lines(path) if line.strip()), "")
        told = next(islice(_own_headers(path), number - 1, None), None) if number else _told(first)
        if told is None:
            name = path.name.split(".")[0] or path.name
            return Dictionary(name=name, language=self.options.language, title=path.name)
        if not str(told.get("name", "")).strip():
            raise SourceError("its first line names no dictionary", where=source)
        known = {key: str(told[key]) for key in _DICTIONARY if key in told}
        return Dictionary(**{**known, "language": self.options.language or known.get("language", "")})

    def read(self, source: str) -> Iterator[Entry | Rejected]:
        """One entry a line. Raises SourceError where most lines cannot be used or nothing tells the language."""
        path, number = part_of(source)
        spoilt, count, part = dict[str, int](), 0, 0
        for line in read_lines(path, text_encoding(path), self.reading):
            if not line.text.strip() and not line.fault:
                continue
            if (line.number == 1 or line.text.startswith(_OWN)) and _told(line.text) is not None:
                part += 1
                if number and part > number:
                    break
                continue
            if number and part != number:
                continue
            count += 1
            record = self._read_line(line, path.name)
            if isinstance(record, Rejected):
                spoilt[record.reason] = spoilt.get(record.reason, 0) + 1
                if record.reason == "no language" and not self.options.language:
                    raise SourceError("nothing tells the language", where=record.place, hint="give --lang")
            yield record
            if not count % EARLY:
                check_spoilt(spoilt, count, source)
        check_spoilt(spoilt, count, source)

    def parts(self, source: str) -> list[str]:
        """The file, or each dictionary in it where there are several."""
        return part_names(source, sum(1 for _ in _own_headers(Path(source))) if self.matches(Path(source)) else 1)

    def checksum(self, source: str) -> str:
        """Of the file and the dictionary's place in it."""
        path, number = part_of(source)
        return part_checksum(super().checksum(str(path)), number)

    def _read_line(self, line: Line, file: str) -> Entry | Rejected:
        place = f"{file}, line {line.number}"
        shown = line.text[:200].encode("utf-8", "replace").decode()
        if line.fault:
            return Rejected(line.fault, place, shown)
        try:
            found = json.loads(line.text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
            if not isinstance(found, dict):
                raise _BadRecord("not an object")
            if _is_own(found) and not self.options.headword:
                return entry_from_json(found, place, self.options.language)
            return self._map(found, place)
        except _BadRecord as error:
            return Rejected(str(error), place, shown)
        except (ValueError, RecursionError):
            return Rejected("not JSON", place, shown)

    def _map(self, found: Mapping[str, Any], place: str) -> Entry:
        told = _known_keys(found) or ("", "")
        headword = next(_walk(found, self.options.headword or told[0]), "")
        texts = list(_walk(found, self.options.definition or told[1]))
        language = self.options.language or next(_walk(found, "language"), "")
        if not headword or not texts or not language:
            raise _BadRecord("no headword" if not headword else "no definition" if not texts else "no language")
        given = self.options.definition_language
        examples = tuple(Example(text) for text in _walk(found, self.options.example))
        definitions = tuple(
            Definition(
                text=text,
                language=find_tag(given) if given else language,
                part_of_speech=next(_walk(found, self.options.part_of_speech), "").lower(),
                examples=examples,
            )
            for text in texts
        )
        return Entry(headword=headword, language=language, definitions=definitions, place=place)


def dictionary_to_json(dictionary: Dictionary) -> dict[str, Any]:
    """The first line's object."""
    return {"dictsent": FORM, "dictionary": {name: getattr(dictionary, name) for name in _DICTIONARY}}


def entry_to_json(entry: Entry) -> dict[str, Any]:
    """An entry's object, without the fields that have their default value."""
    return {key: value for key, value in _to_json(entry).items() if value != []}


def entry_from_json(found: Mapping[str, Any], place: str, language: str = "") -> Entry:
    """The entry of an object in the own form.

    Args:
        place: where it stands, for objects that do not tell.
        language: in place of the object's own, "" for that.

    Raises:
        ValueError: a key of another type, or no text.
    """
    tag = language or _text(found, "language")
    if not tag:
        raise _BadRecord("no language")
    definitions = tuple(_definition(d, tag) for d in _list(found, "definitions", dict))
    headword = _text(found, "headword")
    if not headword.strip() or not definitions:
        raise _BadRecord("no definition" if headword.strip() else "no headword")
    return Entry(
        headword=headword,
        language=tag,
        definitions=definitions,
        spellings=tuple(_list(found, "spellings", str)),
        place=_text(found, "place") if "place" in found else place,
    )


def _definition(found: Mapping[str, Any], language: str) -> Definition:
    if not _text(found, "text").strip():
        raise _BadRecord("empty definition")
    etymology, translation = found.get("etymology", 0), found.get("translation", False)
    if type(etymology) is not int or type(translation) is not bool:
        raise _BadRecord("wrong type")
    return Definition(
        text=found["text"],
        language=_text(found, "language") or language,
        examples=tuple(
            Example(_text(e, "text"), _text(e, "translation"), _text(e, "source"))
            for e in _list(found, "examples", dict)
        ),
        labels=tuple(_list(found, "labels", str)),
        etymology=etymology,
        translation=translation,
        **{name: _text(found, name) for name in ("part_of_speech", "sense", "ili", "form_of")},
    )


def _to_json(record: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if field.default is not MISSING and value == field.default:
            continue
        if isinstance(value, tuple):
            value = [item if isinstance(item, str) else _to_json(item) for item in value]
        found[field.name] = value
    return found


def _is_own(found: Mapping[str, Any]) -> bool:
    definitions = found.get("definitions")
    return "dictsent" in found or (
        "headword" in found and isinstance(definitions, list) and all(isinstance(d, dict) for d in definitions)
    )


def _own_headers(path: Path) -> Iterator[Mapping[str, Any]]:
    """What the lines that begin a dictionary say of it."""
    with damage_as_source_error(path), open_plain(path) as stream:
        while line := stream.readline(LINE_LIMIT):
            if line.startswith(_OWN.encode()) and (told := _told(line.decode("utf-8", "replace"))) is not None:
                yield told


def _told(line: str) -> Mapping[str, Any] | None:
    """The dictionary that a first line describes, None where it is no such line."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or "dictsent" not in found:
        return None
    if found["dictsent"] != FORM:
        raise SourceError(f"form {found['dictsent']!r} of a newer dictsent", where="line 1", hint="update dictsent")
    told = found.get("dictionary")
    return told if isinstance(told, dict) else {}


def _known_keys(found: Mapping[str, Any]) -> tuple[str, str] | None:
    """The keys of headword and definition in anybody's object, where they have a usual name."""
    headword = next((key for key in _HEADWORDS if isinstance(found.get(key), str)), "")
    definition = next((key for key in _DEFINITIONS if isinstance(found.get(key), str | list)), "")
    return (headword, definition) if headword and definition else None


def _walk(found: Any, path: str) -> Iterator[str]:
    """The texts at a path of keys, through all lists on the way."""
    if isinstance(found, list):
        for item in found:
            yield from _walk(item, path)
    elif isinstance(found, str):
        if not path and found.strip():
            yield found.strip()
    elif isinstance(found, dict) and path:
        key, _, rest = path.partition(".")
        if key in found:
            yield from _walk(found[key], rest)


def _text(found: Mapping[str, Any], key: str) -> str:
    value = found.get(key, "")
    if not isinstance(value, str):
        raise _BadRecord("wrong type")
    return value


def _list(found: Mapping[str, Any], key: str, kind: type) -> list[Any]:
    value = found.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, kind) for item in value):
        raise _BadRecord("wrong type")
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _BadRecord("duplicate keys")
    return found


def _no_constant(name: str) -> float:
    raise _BadRecord("not JSON")
