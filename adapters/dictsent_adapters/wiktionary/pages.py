"""The pages of one block to entries: the unit of work, in this process or in a worker.

Before: dump gives the blocks, collect the templates. After: workers hands the blocks out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from dictsent.languages import key_language
from dictsent.records import Definition, Entry, Rejected, fold_space
from dictsent_adapters.tags import tag_of_code
from dictsent_adapters.wiktionary.collect import StoredBodies
from dictsent_adapters.wiktionary.dump import Block, page_elements, unpack
from dictsent_adapters.wiktionary.extract import read_page
from dictsent_adapters.wiktionary.layout import Layout, load
from dictsent_adapters.wiktionary.senses import Sense, without_notes
from dictsent_adapters.wiktionary.templates import Bodies

_REDIRECT = re.compile(r"\s*[#＃][^\s\[:]+\s*:?\s*\[\[")
_SPECIAL_TAGS = {"conv": "mul", "inter": "mul", "int": "mul", "mult": "mul", "zh-kanji": "mul", "slovio": "art"}


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker has to know; it crosses the process border once.

    Attributes:
        edition: code of the layout.
        language: key tag of the wanted headwords, "" for all.
        namespaces: namespace names of the export, case-folded, to their numbers.
        templates: file of template bodies, "" where there is none.
    """

    edition: str
    language: str
    namespaces: dict[str, int]
    templates: str = ""


@dataclass(slots=True)
class Outcome:
    """What a block gave: records in order, counts, language sections left out and unknown, how far the file is read."""

    records: list[Entry | Rejected] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    done: int = 0
    damage: str = ""


class PageReader:
    """Reads blocks of pages for one task."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.layout: Layout = load(task.edition)
        self.bodies: Bodies = StoredBodies(task.templates) if task.templates else Bodies()
        self.own = tag_of_code(str(self.layout.option("own_language", self.layout.code))) or "und"
        self.wanted: Callable[[str], bool] | None = None
        if task.language:
            self.wanted = lambda code: tag_key(code) == task.language

    def read(self, block: Block) -> Outcome:
        """All pages of a block."""
        outcome = Outcome(done=block.done)
        try:
            data = unpack(block.data) if block.packed else block.data
        except (OSError, EOFError) as error:
            outcome.damage = str(error)
            return outcome
        for page in page_elements(data):
            if isinstance(page, bytes):
                outcome.counts["pages"] += 1
                outcome.records.append(Rejected("page is not valid XML", _place_of_bytes(page), ""))
            else:
                self._page(page, outcome)
        return outcome

    def _page(self, page: dict[str, Any], outcome: Outcome) -> None:
        counts = outcome.counts
        counts["pages"] += 1
        title, text = page["title"], page["text"]
        kind = self._left_out(page)
        if kind:
            counts[kind] += 1
            return
        counts["content pages"] += 1
        found = read_page(text, title=title, layout=self.layout, bodies=self.bodies, language=self.wanted)
        place = f"page {title!r}"
        if page["revision"]:
            place += f", revision {page['revision']}"
        if page["timestamp"]:
            place += f", {page['timestamp']}"
        entries = list(self._entries(title, found.senses, place, counts))
        outcome.records += entries
        counts["blank definition lines"] += found.blank
        counts["other languages"] += sum(found.skipped.values()) - found.skipped["und"]
        counts["unknown languages"] += sum(found.unknown.values())
        if found.unknown:
            outcome.unknown.update(found.unknown)
        counts["pages with entries"] += any(isinstance(entry, Entry) for entry in entries)
        if found.skipped:
            outcome.languages.update(found.skipped)
            counts["pages of other languages"] += any(code != "und" for code in found.skipped)

    def _left_out(self, page: dict[str, Any]) -> str:
        """Why a page is no dictionary page, "" if it is one."""
        title: str = page["title"]
        if page["ns"] not in ("", "0"):
            return "pages of other namespaces"
        if not page["ns"] and ":" in title and title.split(":", 1)[0].casefold() in self.task.namespaces:
            return "pages of other namespaces"
        if page["redirect"] or _REDIRECT.match(page["text"]):
            return "redirects"
        if page["model"] not in ("", "wikitext"):
            return "pages that are no wikitext"
        if self.layout.subpages is not None and self.layout.subpages.search(title):
            return "subpages"
        return "" if page["text"].strip() and title.strip() else "pages without text"

    def _entries(
        self, title: str, senses: list[Sense | Rejected], place: str, counts: Counter[str]
    ) -> Iterator[Entry | Rejected]:
        """One entry for each language of the page, the rejects after them."""
        by_language: dict[str, list[Sense]] = {}
        rejected = []
        for sense in senses:
            if isinstance(sense, Rejected):
                rejected.append(Rejected(sense.reason, place, sense.text))
            else:
                by_language.setdefault(sense.language, []).append(sense)
        for code, found in by_language.items():
            kept = [sense for sense in found if not _only_introduces(sense)]
            counts["introducing lines"] += len(found) - len(kept)
            definitions = tuple(filter(None, (self._definition(sense) for sense in kept)))
            spellings = tuple(dict.fromkeys(s for sense in found for s in sense.spellings))
            tag = entry_tag(code)
            if definitions and tag == "und":
                rejected.append(Rejected("language not known", place, definitions[0].text[:200]))
            elif definitions:
                yield Entry(
                    headword=fold_space(title), language=tag, definitions=definitions, spellings=spellings, place=place
                )
        yield from rejected

    def _definition(self, sense: Sense) -> Definition | None:
        text = fold_space(joined_glosses([*sense.glosses[:-1], without_notes(sense.glosses[-1], sense.notes)]))
        if not text:
            return None
        return Definition(
            text=text,
            language=self.own,
            part_of_speech=sense.part_of_speech or _own_word(self.layout.code, sense.heading),
            sense=sense.index,
            examples=tuple(replace(e, text=e.text.replace("\n", " ")) if "\n" in e.text else e for e in sense.examples),
            labels=sense.labels,
            form_of=sense.form_of,
            etymology=sense.etymology,
        )


@lru_cache(maxsize=4096)
def _own_word(edition: str, heading: str) -> str:
    """A heading that no list of the edition knows, as the part of speech; "" for headings such as "Definitions"."""
    return heading.lower() if load(edition).classify(3, heading).kind in ("unknown", "language") else ""


def _only_introduces(sense: Sense) -> bool:
    """A line such as "Something like this:" whose sub-definitions carry its text."""
    return sense.parent and sense.glosses[-1].endswith((":", "："))


def joined_glosses(glosses: list[str]) -> str:
    """Parent and child as one text, a colon between them where the parent ends without a mark of its own."""
    made = ""
    for gloss in glosses:
        wide = made[-1:] >= "\u2e80"
        if made and (made[-1].isalnum() or made[-1] in ")）"):
            made += "：" if wide else ": "
        elif made and not wide:
            made += " "
        made += gloss
    return made


def _place_of_bytes(page: bytes) -> str:
    title = re.search(rb"<title>([^<]{1,200})", page)
    return f"page {title[1].decode('utf-8', 'replace')!r}" if title else "a page without a readable title"


@lru_cache(maxsize=8192)
def entry_tag(code: str) -> str:
    """The BCP-47 tag of a language section, "und" for one that is no language."""
    return _SPECIAL_TAGS.get(code) or tag_of_code(code) or "und"


@lru_cache(maxsize=8192)
def tag_key(code: str) -> str:
    """The tag the store would keep a language section's words under."""
    tag = entry_tag(code)
    return key_language(tag) if tag != "und" else tag
