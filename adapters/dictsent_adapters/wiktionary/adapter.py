"""The Wiktionary adapter: an XML dump of any edition, of any size, to entries.

Before: the command line gives a path. After: entries go to the store.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dictsent.adapter import Adapter, Options, Reading, option
from dictsent.errors import SourceError
from dictsent.languages import SEVERAL, display_name, key_language
from dictsent.records import Dictionary, Entry, Rejected
from dictsent_adapters.wiktionary.collect import Collected, collect, first_share
from dictsent_adapters.wiktionary.dump import Head, blocks, looks_like_dump, read_head
from dictsent_adapters.wiktionary.layout import Layout, load
from dictsent_adapters.wiktionary.pages import Task, entry_tag, tag_key
from dictsent_adapters.wiktionary.workers import read_blocks

FEWEST_USABLE = 0.01
MOST_UNKNOWN = 4_000
"""Distinct headings remembered that name no known language."""
LICENCE = "CC BY-SA 4.0"
_DATE = re.compile(r"(?<!\d)(20\d{6})(?!\d)")


@dataclass(frozen=True, kw_only=True)
class WiktionaryOptions(Options):
    """What the adapter can be told."""

    edition: str = option("code of the edition (en, ja) where the dump does not tell it", default="")
    all_languages: bool = option("take words of every language, not only the edition's own", default=False)
    jobs: int = option("worker processes", default=1)
    keep_going: bool = option("keep what was read before a damaged place", default=False)


class Wiktionary(Adapter):
    """Reads the pages-articles dump of a Wiktionary edition."""

    name = "wiktionary"
    summary = "Wiktionary XML dump of any edition (pages-articles, .xml, .bz2, .gz)"
    Options = WiktionaryOptions

    def __init__(self, options: WiktionaryOptions | None = None) -> None:
        super().__init__(options)
        self._languages: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()

    def matches(self, path: Path) -> bool:
        """A file whose root element is <mediawiki>, whatever its name."""
        return path.is_file() and looks_like_dump(path)

    def describe(self, source: str) -> Dictionary:
        """The edition, from the dump's own siteinfo."""
        head, layout = self._head(Path(source))
        date = _DATE.search(Path(source).name)
        host = str(layout.option("host", layout.code))
        return Dictionary(
            name=head.dbname or f"{layout.code.replace('-', '_')}wiktionary",
            language=self._language(layout) or SEVERAL,
            title=str(layout.option("title", "Wiktionary")),
            version=date[1] if date else "",
            licence=LICENCE,
            attribution=f"contributors to the Wiktionary in {_name(layout)}",
            address=f"https://{host}.wiktionary.org/",
        )

    def read(self, source: str) -> Iterator[Entry | Rejected]:
        """The pages' entries in the order of the dump; template pages, where there are any, are read first."""
        path = Path(source)
        head, layout = self._head(path)
        if layout.guessed:
            self.reading.notes.append(
                f"no layout is known for the {layout.code} edition: languages taken from the second heading level, "
                "parts of speech from the third, definitions from # lists"
            )
        elif not layout.first_class:
            right, senses = layout.measured
            share = f"{right} of {senses} measured definitions come out as expected" if senses else "not measured"
            self.reading.notes.append(f"the {layout.code} edition is read with best effort: {share}")
        self.reading.total = path.stat().st_size
        with tempfile.TemporaryDirectory(prefix="dictsent-") as folder:
            collected = self._collect(path, head, Path(folder))
            task = Task(layout.code, self._language(layout), head.namespaces, collected.templates)
            yield from self._read(collected.text, task)
        if self._unknown and (self.options.all_languages or self.options.language):
            self.reading.notes.append(
                f"headings that name no language known here, their words left out: {self._names()}"
            )
        self._judge(path, layout)

    def _collect(self, path: Path, head: Head, folder: Path) -> Collected:
        """The first reading; a damaged file is an error here already, before anything has been handed on."""
        share = first_share(path)

        def progress(done: int) -> None:
            self.reading.done = int(share * done)

        try:
            return collect(path, head, folder, jobs=max(1, self.options.jobs), progress=progress)
        except SourceError:
            if not self.options.keep_going:
                raise
            (folder / "dump.xml").unlink(missing_ok=True)
            return Collected(str(folder / "templates.db"), path)

    def _read(self, path: Path, task: Task) -> Iterator[Entry | Rejected]:
        jobs, keep_going = self.options.jobs, self.options.keep_going
        counts, before = self.reading.counts, self.reading.done
        rest = self.reading.total - before
        file = Reading()
        found = blocks(path, file, packed=jobs > 1, keep_going=keep_going)
        for outcome in read_blocks(found, task, path, jobs=jobs):
            self.reading.done = before + rest * outcome.done // max(1, file.total)
            if outcome.damage:
                self.reading.notes.append(f"damaged before byte {outcome.done:,}: what follows was not read")
                break
            counts.update({name: count for name, count in outcome.counts.items() if count})
            self._languages.update(outcome.languages)
            self._unknown.update(outcome.unknown)
            if len(self._unknown) > MOST_UNKNOWN:
                self._unknown = Counter(dict(self._unknown.most_common(MOST_UNKNOWN // 2)))
            yield from outcome.records
        self.reading.notes += file.notes

    def _head(self, path: Path) -> tuple[Head, Layout]:
        head = read_head(path)
        edition = self.options.edition.strip().lower().removesuffix("wiktionary") or head.edition
        if not edition:
            raise SourceError("the dump does not tell its edition", where=str(path), hint="give --edition, such as ja")
        if not re.fullmatch(r"[a-z]{2,12}(?:-[a-z]{2,12}){0,2}", edition):
            raise SourceError(f"{edition!r} is no edition", where="--edition", hint="give its code, such as en or ja")
        return head, load(edition)

    def _language(self, layout: Layout) -> str:
        """The key tag of the headwords wanted, "" for all."""
        if self.options.all_languages:
            return ""
        if self.options.language:
            return key_language(self.options.language)
        return tag_key(str(layout.option("own_language", layout.code)))

    def _names(self) -> str:
        """The commonest headings that name no known language."""
        more = ", ..." if len(self._unknown) > 8 else ""
        return ", ".join(f"{name!r} {count:,}" for name, count in self._unknown.most_common(8)) + more

    def _judge(self, path: Path, layout: Layout) -> None:
        """Raise where next to nothing could be used, and say what was met instead."""
        counts = self.reading.counts
        content = counts["content pages"]
        known = max(counts["pages with entries"], counts["pages of other languages"])
        if counts["pages with entries"] and known >= FEWEST_USABLE * content:
            return
        seen = ", ".join(
            f"{counts[name]:,} {name}"
            for name in ("redirects", "pages of other namespaces", "subpages", "pages that are no wikitext")
            if counts[name]
        )
        wanted = self._language(layout)
        what = f"no entries in {display_name(wanted)}" if wanted else "no entries"
        if counts["pages with entries"]:
            what = f"only {counts['pages with entries']:,} pages hold entries"
        found = ", ".join(f"{_name_of(code)} {n:,}" for code, n in self._languages.most_common(5) if code != "und")
        parts = [f"{content:,} dictionary pages read as the {layout.code} edition", seen]
        parts.append(f"sections of other languages: {found}" if found else "no language section was recognised")
        parts.append(f"unknown: {self._names()}" if self._unknown else "")
        raise SourceError(
            f"{what}: {'; '.join(part for part in parts if part)}",
            where=str(path),
            hint="--edition names the edition, --lang or --all-languages takes other words",
        )


def _name(layout: Layout) -> str:
    return display_name(entry_tag(str(layout.option("own_language", layout.code))))


def _name_of(code: str) -> str:
    tag = entry_tag(code)
    return display_name(tag) if tag != "und" else "unknown"
