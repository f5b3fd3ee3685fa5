"""An article of plain text taken apart: head line, part of speech, numbered senses, examples.

Before: dictd.py and stardict.py fetch the article. After: each sense becomes a Definition. The layouts known are those
of dictfmt's users: GCIDE, WordNet, FOLDOC, the Jargon File, FreeDict, V.E.R.A.; others lose nothing but their layout.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import takewhile

from dictsent.records import Example
from dictsent_adapters.wordnet.gloss import split_gloss

_NUMBERED = re.compile(r"^[ \t]*(?:(?P<part>n|v|adj|adv|a|r|s)\s+)?(?P<number>\d{1,2})[.:)°](?:\s+|$)", re.MULTILINE)
_OUTER_NUMBER = re.compile(r"^\d{1,2}\.(?:[ \t]|$)", re.MULTILINE)
_INNER_NUMBER = re.compile(r"(?:^|[ \t])[ \t]{0,9}\d{1,2}\.[ \t]{0,9}$")
_PRONUNCIATION = re.compile(r"\\[^\\]*\\|/[^/\n]*/(?=\s|,|$)")
_PRONOUNCED = re.compile(r"/[^/]{0,200}/,?\s{0,9}(?:<[^>]{0,40}>\s{0,9}){0,9}$")
_CLOSING = ")]!?%’'\"*+"
_RESPELLING = re.compile(r"\([^()\s]*[^()\w\s][^()]*\)|\([?]\)")
_PART = re.compile(
    r"(?P<part>(?:n|v|a|s|[VS](?=\. [a-z]\.)|adj|adv|prep|conj|interj|pron|pl|vb|imp|p|prop|superl|fem|sing|loc)\."
    r"(?: ?(?:&|or|et)? ?(?:t|i|n|v|a|p|m|f|r|réfl|pl|pr|adj|adv|sing|fem|vb)\.)*)(?=[\s,;\[(]|$)"
)
_SPELT_OUT = re.compile(r"\([^()]{1,60}\)\s+(?=" + _PART.pattern.replace("?P<part>", "?:") + ")")
_TAG = re.compile(r"<(?P<tag>[^<>\n]{1,40})>")
_GRAMMAR = frozenset("n v vt vi adj adv prep conj pron int num art masc fem neut pl sg noun verb prop".split())  # noqa: SIM905
_LABEL = re.compile(r"\((?P<label>[A-Z][\w&., ]{1,30}\.)\)\s+(?=\S)")
_INLINE = re.compile(
    r" ?(?:<(?:masc|fem|neut|pl|sg|num|n|v|adj|adv|prep)(?:, ?\w+)*>|\{(?:m|f|n|pl|sg|v[tir]|adj|adv)\})"
)
_LINK = re.compile(r"\{([^{}]*)\}")
_SYNONYMS = re.compile(r" ?\[(?:syn|ant|also):[^\]]{0,4000}\]")
_PROVENANCE = re.compile(r" ?\[[^\]\[]{0,60}(?:Webster|PJC|WordNet|Century Dict)[^\]\[]{0,60}\]")
_ASIDE = re.compile(r"\s*(?:Note|Syn|Usage|see|See also|Synonyms?|Antonyms?|Cross references?)\b[^:\n]{0,20}:")
_TRANSLATED = re.compile(r'\s*"(?P<text>[^"]+)"\s+[-–]\s+(?P<translation>.+)')
_BRACKETED = re.compile(r"\s*(?:[\[(][^\])]*[\])]\s*)+")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Sense:
    """One numbered sense, or the whole of an article that numbers none."""

    text: str
    part_of_speech: str = ""
    examples: tuple[Example, ...] = ()
    labels: tuple[str, ...] = ()
    glosses: tuple[str, ...] = ()
    """What the sense is, in the headword's language, where `text` translates it (WikDict)."""


@dataclass(frozen=True, slots=True)
class Article:
    """The headword as the article writes it ("" where it does not begin with it), and the senses in order."""

    headword: str
    senses: tuple[Sense, ...]


def parse_article(text: str, headword: str, *, whole: bool = False) -> Article:
    """Take an article apart.

    Args:
        headword: as the index has it, often in lower case.
        whole: keep all paragraphs of a sense, not only the first: the others discuss, quote and point elsewhere.
    """
    written, body, headed = _split_head(text, headword)
    pieces = _split_numbers(body)
    preface, part, labels = _strip_head(pieces[0][1], headed)
    senses = [_make_sense(preface, part, labels, whole=whole)] if len(pieces) == 1 else []
    for given, piece in pieces[1:]:
        part = given or part
        rest, own, more = _strip_head(piece, False)
        senses.append(_make_sense(rest, own or part, more, whole=whole))
    return Article(written, tuple(sense for sense in senses if sense.text))


def parse_glossed_article(text: str, headword: str) -> Article:
    """Take an article of WikDict apart: a sense is a line of translations and, below it, what it means.

    Inner numbers (`Glied 2.`, a line of ` 3.`) count the meanings that share a translation.
    """
    written, body, headed = _split_head(text, headword)
    preface, part, labels = _strip_head(body, headed)
    senses: list[Sense] = []
    for piece in _OUTER_NUMBER.split(preface):
        lines = [line for line in piece.split("\n") if line.strip()] or [""]
        first, *others = [_INNER_NUMBER.sub("", line).strip() for line in lines]
        first, glosses = first or lines[0].strip(), [line for line in others if line]
        if translation := _INLINE.sub("", first).strip(" ;,"):
            senses.append(Sense(translation, part, labels=labels, glosses=tuple(glosses)))
    if not senses and preface.strip():  # `10e`: "10." is the translation, no number
        senses.append(Sense(preface.strip(), part, labels=labels))
    return Article(written, tuple(senses))


def _split_head(text: str, headword: str) -> tuple[str, str, bool]:
    """The headword as written, what follows it, and whether the line is a dictionary's head (`cat \\cat\\ ...`)."""
    lines = text.lstrip("\n").split("\n")
    heads = _head_lines(lines)
    for line in heads or lines[:1]:
        end = _end_of_headword(line, headword)
        if end and heads:
            return line[:end].strip(" …"), "\n".join(lines[len(heads) :]), False
        if end:
            return line[:end].strip(" …"), "\n".join([line[end:].removeprefix("."), *lines[1:]]), "\\" in line
    if heads:
        return "", "\n".join(lines[len(heads) :]), False
    first = lines[0]
    if "\\" in first:  # GCIDE under another of its headwords
        return "", "\n".join([first[first.index("\\") :], *lines[1:]]), True
    if len(lines) > 1 and (_PRONOUNCED.search(first) or (lines[1][:1].isspace() and not first[:1].isspace())):
        tags = "".join(tag[0] for tag in _TAG.finditer(first))
        return "", "\n".join([tags, *lines[1:]]), False
    return "", "\n".join(lines), False


def _head_lines(lines: list[str]) -> list[str]:
    """FOLDOC's list of headwords in front: short lines up to a blank one, the text below them indented."""
    heads = list(takewhile(lambda line: line.strip() and not line[0].isspace(), lines))
    after = lines[len(heads) :]
    indented = len(after) > 1 and not after[0].strip() and after[1][:1].isspace()
    return heads if heads and indented and all(len(line) < 60 and "," not in line for line in heads) else []


def _end_of_headword(line: str, headword: str) -> int:
    """Where the headword ends that the line begins with, 0 where it does not: only letters and digits are compared."""
    if line.startswith(headword) and line[len(headword) : len(headword) + 1] in ("", " ", ",", "\n"):
        return len(headword)
    wanted = _letters(headword)
    if not wanted:
        return len(headword) if line.startswith(headword) else 0
    found = ""
    for place, character in enumerate(line):
        found += _letters(character)
        if len(found) >= len(wanted):
            rest = line[place + 1 :]
            if found != wanted or rest[:1].isalnum():
                return 0
            return place + 1 + len(rest) - len(rest.lstrip(_CLOSING))
    return 0


def _letters(text: str) -> str:
    if text.isascii():
        return "".join(filter(str.isalnum, text)).casefold()
    return "".join(filter(str.isalnum, unicodedata.normalize("NFD", text.casefold())))


def _split_numbers(text: str) -> list[tuple[str, str]]:
    """(part of speech given with the number, text) pairs: what stands before sense 1, then each sense."""
    pieces: list[tuple[str, str]] = []
    part, start, expected = "", 0, 1
    for match in _NUMBERED.finditer(text):
        number = int(match["number"])
        if number == expected or (number == 1 and match["part"]):
            pieces.append((part, text[start : match.start()]))
            part, start, expected = match["part"] or "", match.end(), number + 1
    return [*pieces, (part, text[start:])]


def _strip_head(text: str, headed: bool) -> tuple[str, str, tuple[str, ...]]:
    """The text without pronunciation, part of speech, etymology and labels in front, and the last two of these."""
    part, labels = "", list[str]()
    text = text.lstrip(" ,;\n") if not text.startswith("\n\n") else text
    while True:
        before = text
        front = text.lstrip()
        if (match := _PRONUNCIATION.match(front) or _SPELT_OUT.match(front)) or (
            headed and (match := _RESPELLING.match(text.lstrip()))
        ):
            text = text.lstrip()[match.end() :].lstrip(" ,;")
        elif not part and (match := _PART.match(text.lstrip())):
            part, text = match["part"].rstrip(".").lower(), text.lstrip()[match.end() :].lstrip(" ,;")
            headed = True
        elif match := _TAG.match(text.lstrip()):
            tag = match["tag"].strip()
            if not part and tag.split(",")[0] in _GRAMMAR:
                part = tag.split(",")[0]
            else:
                labels.append(tag)
            text = text.lstrip()[match.end() :]
        elif match := _LABEL.match(text.lstrip()):
            labels.append(match["label"])
            text = text.lstrip()[match.end() :]
        elif headed and text.lstrip().startswith("["):
            text = _after_bracket(text.lstrip())
        if text == before:
            return text, part, tuple(labels)


def _after_bracket(text: str) -> str:
    """What follows the bracket that the text begins with; the text where it is never closed."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if not depth:
            return text[place + 1 :].lstrip(" ,;")
    return text


def _make_sense(text: str, part: str, labels: tuple[str, ...], *, whole: bool) -> Sense:
    kept, examples = _without_asides(text.split("\n"))
    paragraphs = [p for p in re.split(r"\n\s*\n", text if whole else "\n".join(kept)) if any(map(str.isalnum, p))]
    if not whole:
        told = [p for p in paragraphs if not _BRACKETED.fullmatch(p)]
        paragraphs = told[:1] or paragraphs[:1]
    plain = _PROVENANCE.sub("", _SYNONYMS.sub("", _SPACE.sub(" ", " ".join(paragraphs))))
    plain = _LINK.sub(r"\1", _INLINE.sub("", plain)).strip(" ;").removeprefix(". ")
    if '; "' in plain and not whole:
        plain, quoted = split_gloss(plain)
        examples += quoted
    return Sense(plain, part, () if whole else examples, labels)


def _without_asides(lines: list[str]) -> tuple[list[str], tuple[Example, ...]]:
    """The lines without notes and cross-references, which run on as long as lines are indented as they are."""
    kept: list[str] = []
    examples: list[Example] = []
    depth = -1
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if aside := _ASIDE.match(line):
            depth = indent
        elif example := _TRANSLATED.match(line):
            examples.append(Example(example["text"], translation=example["translation"].strip()))
            depth = -1
        elif not (line.strip() and 0 <= depth <= indent and depth):
            depth = depth if not line.strip() else -1
            kept.append(line)
        if aside and not any(k.strip() for k in kept):
            depth = -1
    return (kept if any(any(map(str.isalnum, k)) for k in kept) else lines), tuple(examples)
