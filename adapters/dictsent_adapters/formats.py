"""Formats that the program pyglossary reads: ABBYY Lingvo DSL, Babylon, MDict, XDXF, Aard 2 and others.

Before: pyglossary turns the file into tab-separated lines. After: article.py takes the articles apart. pyglossary is
under the GPL: nothing of it is imported or shipped here. It runs as a program of its own, in a process and with a home
folder of its own, where the extra `dictsent[formats]` or the user has installed it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
import tempfile
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from os import defpath
from pathlib import Path

from dictsent.adapter import Adapter, Options, option
from dictsent.errors import SourceError
from dictsent.languages import find_tag, key_language
from dictsent.records import Definition, Dictionary, Entry, Example, Rejected
from dictsent_adapters.article import Sense, parse_article
from dictsent_adapters.foreign import FORMATS, foreign_format
from dictsent_adapters.markup import has_markup, markup_to_text
from dictsent_adapters.streams import read_lines
from dictsent_adapters.tags import tag_of_code, tag_of_name

PROGRAM = "pyglossary"
_SHOWN = 3
_HINT = "pip install 'dictsent[formats]'"
_EXAMPLE = re.compile(r'<(span|div)\b[^<>]*\bclass="ex(?:ample)?"[^<>]*>(.*?)</\1>', re.DOTALL)
_TITLE = re.compile(
    r'^<b>[^<>]*</b><br/>|<div class="k">.*?</div>|<font\b[^<>]*class="dsl_t"[^<>]*>.*?</font>', re.DOTALL
)
_PART = re.compile(r'<i class="p">\s*(?:<font\b[^<>]*>)?([^<>]{1,40}?)\.?(?:</font>)?\s*</i>')
_MARK = re.compile("\ue000(\\d+)\ue001")
_MARK_ALONE = re.compile("\\s*\n\\s*(?=\ue000)")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_WORD = re.compile(r"(?:[^|\\]|\\.)+", re.DOTALL)
_FAULT = re.compile(r"^(?:\[(?:CRITICAL|ERROR)\] )?(?:[\w.]*(?:Error|Exception): )?(?P<what>\S.*)", re.MULTILINE)
_ERRORS = re.compile(r"^\[(?:CRITICAL|ERROR)\] (.*)", re.MULTILINE)
_DAMAGE = re.compile(r"EOFError|decompress|failed to read|unexpected end|truncated|checksum", re.IGNORECASE)
_WANTS = re.compile(r"pip3? install (?P<package>[^`\s]+)` to install")


@dataclass(frozen=True, kw_only=True)
class FormatsOptions(Options):
    """What the reader of other programs' formats can be told."""

    definition_language: str = option("language of the definitions, if not the headwords'", default="")
    whole: bool = option("keep whole articles, not only the first paragraph of each sense", default=False)
    format: str = option("pyglossary's name of the format, where the file does not tell it", default="")


class Formats(Adapter):
    """Reads what pyglossary reads, by way of its command."""

    name = "formats"
    summary = "ABBYY Lingvo DSL, Babylon BGL, MDict, XDXF, Aard 2 and others, by the program pyglossary [formats]"
    Options = FormatsOptions

    def __init__(self, options: FormatsOptions | None = None) -> None:
        super().__init__(options)
        self._unpacked: Path | None = None

    def matches(self, path: Path) -> bool:
        """Whether it begins as a file of one of the formats does."""
        return foreign_format(path) is not None

    def describe(self, source: str) -> Dictionary:
        """What pyglossary tells: name, languages, author, copyright.

        Raises:
            SourceError: pyglossary is not installed, or cannot read the file.
        """
        told = _head(self._lines(Path(source)))
        language = self.options.language or _tag(told.get("sourceLang", ""))
        return Dictionary(
            name=Path(source).name.split(".")[0],
            language=language,
            title=told.get("name", "") or Path(source).name,
            version=told.get("edition", "") or told.get("creationTime", ""),
            licence=told.get("copyright", "")[:200],
            attribution=told.get("author", "") or told.get("publisher", ""),
            address=told.get("website", ""),
        )

    def read(self, source: str) -> Iterator[Entry | Rejected]:
        """One entry for each of pyglossary's, its alternates as other spellings, in the file's order.

        Raises:
            SourceError: as `describe`, or nothing tells the language.
        """
        lines = self._lines(Path(source))
        told = _head(lines)
        language = self.options.language or _tag(told.get("sourceLang", ""))
        if not language:
            raise SourceError("nothing tells the language", where=source, hint="give --lang")
        given = self.options.definition_language
        target = find_tag(given) if given else _tag(told.get("targetLang", "")) or language
        self.reading.notes.append("read by pyglossary; what it leaves out is not counted")
        number = 0
        for line in read_lines(lines, "utf-8", self.reading):
            if line.text.startswith("##") and not number:
                continue
            number += 1
            yield self._entry(line.text, line.fault, f"entry {number}", (language, target))
        if not number:
            raise SourceError("pyglossary finds no entries in it", where=source, hint="get the file again")

    def _entry(self, line: str, fault: str, place: str, languages: tuple[str, str]) -> Entry | Rejected:
        words, tab, article = line.partition("\t")
        if fault or not tab:
            return Rejected(fault or "no tab", place, line[:200].encode("utf-8", "replace").decode())
        headword, *others = [_unescaped(word).strip() for word in _WORD.findall(_unescaped(words))] or [""]
        if not headword:
            return Rejected("empty headword", place, line[:200])
        language, target = languages
        definitions = tuple(
            Definition(
                text=sense.text,
                language=target,
                part_of_speech=sense.part_of_speech,
                examples=sense.examples,
                labels=sense.labels,
                translation=key_language(target) != key_language(language),
            )
            for sense in take_apart(_unescaped(article), headword, whole=self.options.whole)
        )
        if not definitions:
            return Rejected("no text", place, line[:200])
        spellings = tuple(dict.fromkeys(word for word in others if word and word != headword))
        return Entry(headword=headword, language=language, definitions=definitions, spellings=spellings, place=place)

    def _lines(self, path: Path) -> Path:
        """pyglossary's lines: made once, gone with the adapter."""
        if self._unpacked is None:
            folder = tempfile.mkdtemp(prefix="dictsent-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._unpacked, complaints = _convert(path, Path(folder), self.options.format)
            self.reading.notes.extend(complaints)
        return self._unpacked


def take_apart(article: str, headword: str, *, whole: bool = False) -> list[Sense]:
    """The senses of an article in HTML or plain text: the numbered ones, or, where none is, each paragraph."""
    examples: list[str] = []

    def note(found: re.Match[str]) -> str:
        examples.append(markup_to_text(found[2], lines_matter=False))
        return f"\ue000{len(examples) - 1}\ue001"

    if not has_markup(article):
        return list(parse_article(markup_to_text(article), headword, whole=whole).senses)
    marked = _PART.sub(r" &lt;\1&gt; ", _TITLE.sub("", _EXAMPLE.sub(note, article)))
    text = markup_to_text(marked, lines_matter=False)
    text = _MARK_ALONE.sub(" ", text)
    senses = list(parse_article(text, headword, whole=whole).senses)
    if len(senses) == 1 and not whole:
        paragraphs = text.split("\n\n")
        ends = (n for n, p in enumerate(paragraphs, 1) if " ".join(p.split()).endswith(senses[0].text))
        for paragraph in paragraphs[next(ends, len(paragraphs)) :]:
            senses.extend(parse_article(paragraph, "").senses)
    return [sense for sense in (_with_examples(sense, examples, senses[0]) for sense in senses) if sense.text]


def _with_examples(sense: Sense, examples: list[str], first: Sense) -> Sense:
    shown = [examples[int(number)].partition(" — ") for number in _MARK.findall(sense.text)]
    return Sense(
        text=" ".join(_MARK.sub(" ", sense.text).split()),
        part_of_speech=sense.part_of_speech or first.part_of_speech,
        examples=sense.examples + tuple(Example(text, translation) for text, _, translation in shown if text),
        labels=sense.labels,
    )


def _convert(path: Path, folder: Path, name: str) -> tuple[Path, list[str]]:
    """The file of pyglossary's lines, and what it complains of without giving up."""
    found = foreign_format(path)
    title = found.title if found else "this format"
    name = name or (found.name if found else "")
    program = shutil.which(PROGRAM, path=sysconfig.get_path("scripts")) or shutil.which(PROGRAM)
    if program is None:
        raise SourceError(f"{title} needs the program pyglossary", where=str(path), hint=_HINT)
    if not name:
        hint = f"give --format, such as {', '.join(known.name for known in FORMATS[:4])}"
        raise SourceError("nothing tells which format it is", where=str(path), hint=hint)
    out = folder / "entries.txt"
    command = [program, str(path.resolve()), str(out), f"--read-format={name}", "--write-format=Tabfile", "--ui=none"]
    command += ["--write-options=resources=False", "--direct", "--no-progress-bar", "--no-color", "-v1"]
    home = {"HOME": str(folder), "PATH": defpath, "PYTHONUTF8": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        command, env=home, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    said = done.stderr + done.stdout
    if done.returncode or not out.is_file():
        raise _explained(said, title, path)
    errors = list(dict.fromkeys(_ERRORS.findall(said)))
    if damage := next((error for error in errors if _DAMAGE.search(error)), ""):
        raise SourceError(f"truncated or damaged: {damage[:200]}", where=str(path), hint="get the file again")
    return out, [f"pyglossary says: {error[:200]}" for error in errors[:_SHOWN]]


def _explained(said: str, title: str, path: Path) -> SourceError:
    if wanted := _WANTS.search(said):
        package = wanted["package"]
        hint = f"pip install {package}"
        return SourceError(f"to read {title}, pyglossary needs the package {package}", where=str(path), hint=hint)
    lines = [found["what"] for found in _FAULT.finditer(said)]
    what = lines[-1][:200] if lines else "no reason given"
    return SourceError(f"pyglossary cannot read it as {title}: {what}", where=str(path), hint="get the file again")


def _head(lines: Path) -> dict[str, str]:
    """The `##key TAB value` lines at the beginning."""
    told: dict[str, str] = {}
    with lines.open(encoding="utf-8", errors="replace") as file:
        while (line := file.readline(1 << 16)).startswith("##"):
            key, _, value = line[2:].rstrip("\n").partition("\t")
            told[key] = _unescaped(value).strip()
    return told


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), text)


def _tag(language: str) -> str:
    """The tag of a language that pyglossary names in English, or that the file names by code."""
    return tag_of_name(language) or tag_of_code(language)
