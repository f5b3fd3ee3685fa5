"""The Japanese dictionaries of the EDRDG: JMdict and JMnedict (XML), EDICT and EDICT2 (text, mostly EUC-JP).

Before: elements.py or streams.py. After: entries with kanji and kana forms, a sense's glosses as one translation.
Formats: https://www.edrdg.org/wiki/index.php/JMdict-EDICT_Dictionary_Project and the DTD in the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dictsent.adapter import Adapter
from dictsent.errors import SourceError
from dictsent.records import Definition, Dictionary, Entry, Example, Rejected
from dictsent_adapters.elements import XML_LANG, children, iterate_elements, plain_text
from dictsent_adapters.streams import beginning, read_lines
from dictsent_adapters.tags import tag_of_code

_ROOT = re.compile(rb"<!DOCTYPE\s+(JMdict|JMnedict)\b|<(JMdict|JMnedict)[\s>]")
_CREATED = re.compile(rb"(?:JMdict|JMnedict|EDICT)[^\n]*?(?:created:|Created:) ?(\d{4}-\d\d-\d\d)")
_LINE = re.compile(r"(?P<forms>[^\s\[/]\S*) (?:\[(?P<readings>[^\]]+)\] )?/(?P<glosses>.+)/\s*")
_TAGS = re.compile(r"(?:\((?P<tags>[^()]*)\)|\{(?P<field>[^{}]*)\})\s*")
_FORM_TAG = re.compile(r"\([^()]*\)")
_NUMBER = re.compile(r"\d+")
_PARTS = re.compile(
    r"(?:n|v|adj|adv|aux|conj|cop|ctr|exp|int|num|pn|pref|prt|suf|unc|vs|vi|vt|vk|vn|vr|vz)(?:-[\w-]+|\d\w*(?:-\w+)*)?"
)
_ENCODINGS = ("utf-8", "euc-jp", "shift-jis")
_LICENCE = "https://www.edrdg.org/edrdg/licence.html"


class JMdict(Adapter):
    """Reads JMdict, JMnedict, EDICT and EDICT2."""

    name = "jmdict"
    summary = "Japanese dictionaries of the EDRDG: JMdict, JMnedict (XML), EDICT, EDICT2 (text, EUC-JP or UTF-8)"

    def matches(self, path: Path) -> bool:
        """Whether it is XML with one of the roots, or lines of EDICT's form in Japanese."""
        start = beginning(path, 1 << 15)
        return bool(_ROOT.search(start[:8192]) or _text_encoding(start))

    def describe(self, source: str) -> Dictionary:
        """Name and date from the file's own comment or first line."""
        start = beginning(Path(source), 1 << 18)
        root = _ROOT.search(start)
        name = (root[1] or root[2]).decode().lower() if root else "edict"
        created = _CREATED.search(start)
        return Dictionary(
            name=name if root else Path(source).name.split(".")[0].lower(),
            language=self.options.language or "ja",
            title=name,
            version=created[1].decode() if created else "",
            licence=_LICENCE,
            attribution="Electronic Dictionary Research and Development Group",
            address="https://www.edrdg.org/",
        )

    def read(self, source: str) -> Iterator[Entry | Rejected]:
        """One entry an element or line. Raises SourceError for damaged XML or another encoding."""
        path = Path(source)
        if _ROOT.search(beginning(path, 8192)):
            for number, element in enumerate(iterate_elements(path, ["entry"], self.reading), start=1):
                yield _read_element(element, number)
        else:
            yield from self._read_text(path)

    def _read_text(self, path: Path) -> Iterator[Entry | Rejected]:
        encoding = _text_encoding(beginning(path, 1 << 15))
        if not encoding:
            raise SourceError("no EDICT lines in EUC-JP, UTF-8 or Shift JIS", where=str(path))
        if encoding != "utf-8":
            self.reading.notes.append(f"read as {encoding.upper()}")
        for line in read_lines(path, encoding, self.reading):
            if line.text.startswith(("　？？", "#")) or not (line.text.strip() or line.fault):
                continue
            place = f"{path.name}, line {line.number}"
            found = None if line.fault else _LINE.fullmatch(line.text.strip())
            if not found:
                text = line.text[:200].encode("utf-8", "replace").decode()
                yield Rejected(line.fault or "not of EDICT's form", place, text)
                continue
            yield _read_line(found, place)


def _text_encoding(start: bytes) -> str:
    """The encoding in which most lines are of EDICT's form and have kana or kanji, "" for none."""
    for encoding in _ENCODINGS:
        try:
            text = start.decode(encoding, "strict" if len(start) < 1 << 15 else "ignore")
        except UnicodeDecodeError:
            continue
        lines = [line for line in text.split("\n")[: -1 if len(start) == 1 << 15 else None] if line.strip()]
        good = sum(bool(_LINE.fullmatch(line.strip())) and _is_japanese(line.split(" ")[0]) for line in lines)
        if lines and 2 * good > len(lines) and any(re.search("[぀-ヿ]", line) for line in lines):
            return encoding
    return ""


def _is_japanese(text: str) -> bool:
    return any("぀" <= c <= "ヿ" or "㐀" <= c <= "鿿" or "０" <= c <= "ｚ" or c in "々〇" for c in text)


def _read_element(entry: Any, number: int) -> Entry | Rejected:
    """An <entry>: k_ele and r_ele are its forms; a part of speech holds until another is given."""
    place = f"ent_seq {plain_text(entry.find('ent_seq')) if entry.find('ent_seq') is not None else number}"
    forms = [plain_text(e) for e in [*entry.iterfind("k_ele/keb"), *entry.iterfind("r_ele/reb")]]
    forms = [form for form in forms if form]
    if not forms:
        return Rejected("no headword", place, plain_text(entry)[:200])
    definitions: list[Definition] = []
    part = ""
    for place_in_entry, sense in enumerate(children(entry, "sense", "trans"), start=1):
        part = "; ".join(plain_text(p) for p in children(sense, "pos")) or part
        labels = tuple(plain_text(e) for e in children(sense, "field", "misc", "dial", "s_inf", "name_type"))
        glosses: dict[str, list[str]] = {}
        for gloss in children(sense, "gloss", "trans_det"):
            if text := plain_text(gloss):
                glosses.setdefault(tag_of_code(gloss.get(XML_LANG, "eng")) or "und", []).append(text)
        definitions += [
            Definition(
                text="; ".join(texts),
                language=language,
                part_of_speech=part.lower(),
                sense=str(place_in_entry),
                examples=tuple(_examples(sense)),
                labels=labels,
                translation=language != "ja",
            )
            for language, texts in glosses.items()
        ]
    if not definitions:
        return Rejected("no gloss", place, forms[0])
    spellings = tuple(dict.fromkeys(form for form in forms[1:] if form != forms[0]))
    return Entry(headword=forms[0], language="ja", definitions=tuple(definitions), spellings=spellings, place=place)


def _examples(sense: Any) -> Iterator[Example]:
    for example in children(sense, "example"):
        texts = {e.get(XML_LANG, "jpn"): plain_text(e) for e in children(example, "ex_sent")}
        if texts.get("jpn"):
            others = [text for code, text in texts.items() if code != "jpn"]
            source = next((e.get("exsrc_type", "") for e in children(example, "ex_srce")), "")
            yield Example(texts["jpn"], translation=others[0] if others else "", source=source)


def _read_line(line: re.Match[str], place: str) -> Entry | Rejected:
    """`漢字;別字 [よみ;よみ] /(n,vs) (1) gloss/gloss/(2) gloss/(P)/EntL1234560X/`."""
    forms = [_FORM_TAG.sub("", form) for text in line.group("forms", "readings") if text for form in text.split(";")]
    forms = list(dict.fromkeys(form for form in forms if form))
    senses: list[tuple[list[str], str, list[str]]] = []
    for gloss in line["glosses"].split("/"):
        if gloss in ("", "(P)") or gloss.startswith("EntL"):
            continue
        text, part, labels, numbered = _split_tags(gloss.strip())
        if text and (part or numbered or not senses):
            senses.append(([], part or (senses[-1][1] if senses else ""), []))
        if text:
            senses[-1][0].append(text)
            senses[-1][2].extend(labels)
    definitions = tuple(
        Definition(
            text="; ".join(texts),
            language="en",
            part_of_speech=part,
            sense=str(number),
            labels=tuple(labels),
            translation=True,
        )
        for number, (texts, part, labels) in enumerate(senses, start=1)
    )
    if not definitions or not forms:
        return Rejected("no gloss", place, line[0][:200])
    return Entry(headword=forms[0], language="ja", definitions=definitions, spellings=tuple(forms[1:]), place=place)


def _split_tags(text: str) -> tuple[str, str, list[str], bool]:
    """A gloss's text, part of speech, labels, and whether a sense number stood in front of it."""
    part, numbered, labels = "", False, list[str]()
    while match := _TAGS.match(text):
        tag = match["tags"] or ""
        if match["field"]:
            labels.append(match["field"])
        elif _NUMBER.fullmatch(tag):
            numbered = True
        elif all(_PARTS.fullmatch(one.strip()) for one in tag.split(",")):
            part = tag
        elif len(tag) <= 8 and tag.isascii() and " " not in tag:
            labels.append(tag)
        else:
            break
        text = text[match.end() :]
    return text, part, labels, numbered
