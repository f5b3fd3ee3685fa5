"""CC-CEDICT and its relatives (HanDeDict, CFDICT, CC-Canto): `繁體 简体 [pin1 yin1] /gloss/gloss/`.

Before: streams.py. After: entries under the simplified form with the traditional one as spelling; each gloss between
slashes is a sense. Format: https://cc-cedict.org/wiki/format:syntax. Pinyin has no place in a record and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from dictsent.adapter import Adapter
from dictsent.records import Definition, Dictionary, Entry, Rejected
from dictsent_adapters.streams import read_lines, sample_lines, text_encoding

_LINE = re.compile(r"(?P<traditional>\S+) (?P<simplified>\S+) \[[^\]]*\]\]?(?: \{[^}]*\})? /(?P<glosses>.+)/")
_HEADER = re.compile(r"#! ?(\w+)=(.*)")
_REFERENCE = re.compile(
    r"(?P<traditional>[^\s\[\]|,;()/]{1,40})\|(?P<simplified>[^\s\[\]|,;()/]{1,40})(?:\[\[?[^\]]*\]\]?)?"
)
_PINYIN = re.compile(r"(?<=[㐀-鿿々〇])\[\[?[a-zA-Z:0-9 ,·]+\]\]?")
_CLASSIFIER = "CL:"
_GLOSS_LANGUAGES = {"cedict": "en", "handedict": "de", "cfdict": "fr", "canto": "en"}


class Cedict(Adapter):
    """Reads Chinese dictionaries in CEDICT's form."""

    name = "cedict"
    summary = "CC-CEDICT and other Chinese dictionaries of its form (HanDeDict, CFDICT)"

    def matches(self, path: Path) -> bool:
        """Whether its lines are two forms, a reading in brackets and glosses between slashes."""
        lines = [line for line in sample_lines(path) if line.strip() and not line.startswith("#")]
        return bool(lines) and 3 * sum(bool(_LINE.fullmatch(line.strip())) for line in lines) >= 2 * len(lines)

    def describe(self, source: str) -> Dictionary:
        """Name, version and licence from the lines that begin with #!."""
        path = Path(source)
        lines = sample_lines(path)
        told = {m[1]: m[2].strip() for line in lines if (m := _HEADER.match(line))}
        title = next(
            (line[1:].strip() for line in lines if line.startswith("#") and not line.startswith("#!")), path.name
        )
        return Dictionary(
            name=path.name.split(".")[0].lower(),
            language=self.options.language or "zh",
            title=title,
            version=told.get("date", ""),
            licence=told.get("license", ""),
            attribution=told.get("publisher", title),
            address=told.get("license", "") and "https://cc-cedict.org/",
        )

    def read(self, source: str) -> Iterator[Entry | Rejected]:
        """One entry a line; classifiers are counted, not defined."""
        path = Path(source)
        language = self.options.language or "zh"
        glosses_in = next((tag for word, tag in _GLOSS_LANGUAGES.items() if word in path.name.lower()), "en")
        for line in read_lines(path, text_encoding(path), self.reading):
            if line.text.startswith("#") or not (line.text.strip() or line.fault):
                continue
            place = f"{path.name}, line {line.number}"
            found = None if line.fault else _LINE.fullmatch(line.text.strip())
            if not found:
                text = line.text[:200].encode("utf-8", "replace").decode()
                yield Rejected(line.fault or "not of CEDICT's form", place, text)
                continue
            glosses = [gloss.strip() for gloss in found["glosses"].split("/") if gloss.strip()]
            self.reading.counts["classifiers"] += sum(gloss.startswith(_CLASSIFIER) for gloss in glosses)
            senses = [text for gloss in glosses if not gloss.startswith(_CLASSIFIER) and (text := _plain(gloss))]
            if not senses:
                yield Rejected("no gloss", place, line.text[:200])
                continue
            simplified, traditional = found["simplified"], found["traditional"]
            yield Entry(
                headword=simplified,
                language=language,
                definitions=tuple(Definition(text=text, language=glosses_in, translation=True) for text in senses),
                spellings=(traditional,) if traditional != simplified else (),
                place=place,
            )


def _plain(gloss: str) -> str:
    """A gloss with its references to other words by their simplified form: `亭|亭[ting2]` -> `亭`."""
    return _PINYIN.sub("", _REFERENCE.sub(lambda m: m["simplified"], gloss)).strip()
