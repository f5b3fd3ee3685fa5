"""Comma-separated values and their relatives: quoted cells, any delimiter, headers found or given.

Before: streams.py reads the lines. After: table.py makes entries of the rows. Format: RFC 4180, with the delimiters
that spreadsheets write in other languages.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dictsent.adapter import Adapter, option
from dictsent.errors import SourceError
from dictsent.records import Dictionary, Entry, Rejected
from dictsent_adapters.streams import Line, legacy_lines, read_lines, sample_lines, text_encoding
from dictsent_adapters.table import Row, TableOptions, describe_table, has_header, read_table
from dictsent_adapters.tsv import Tsv

_DELIMITERS = ",;|\t"
_SAMPLE = 200


@dataclass(frozen=True, kw_only=True)
class CsvOptions(TableOptions):
    """A table's options, the delimiter and the quotes."""

    delimiter: str = option('what separates cells; found out if not given ("tab" for a tab)', default="")
    quote: str = option('the quote around cells, or "none"', default='"')


class Csv(Adapter):
    """Reads quoted tables."""

    name = "csv"
    summary = "comma-, semicolon- or otherwise separated tables with quoted cells; options as for tsv"
    generic = True
    Options = CsvOptions

    def matches(self, path: Path) -> bool:
        """Whether its rows have equally many cells by one delimiter, in a .csv or under a header that names them."""
        lines = (sample_lines(path) or legacy_lines(path))[:_SAMPLE]
        delimiter = _find_delimiter(lines)
        if not delimiter or not path.suffix or Tsv().matches(path):
            return False
        return ".csv" in path.suffixes[-2:] or has_header(next(csv.reader(lines[:1], delimiter=delimiter), []))

    def describe(self, source: str) -> Dictionary:
        """Its name is the file's."""
        return describe_table(source, self.options)

    def read(self, source: str) -> Iterator[Entry | Rejected]:
        """One entry a row. Raises SourceError for a quote that is never closed and where most rows cannot be used."""
        return read_table(self._rows(Path(source)), self.options, source)

    def _rows(self, path: Path) -> Iterator[Row]:
        encoding = text_encoding(path, self.options.encoding)
        delimiter = "\t" if self.options.delimiter == "tab" else self.options.delimiter
        delimiter = delimiter or _find_delimiter(sample_lines(path, self.options.encoding)[:_SAMPLE])
        if len(delimiter) != 1:
            raise SourceError("no delimiter found", where=str(path), hint="give --delimiter")
        quoting: Literal[0, 3] = csv.QUOTE_NONE if self.options.quote == "none" else csv.QUOTE_MINIMAL
        quote = None if self.options.quote == "none" else self.options.quote
        feed = _Feed(read_lines(path, encoding, self.reading))
        reader = csv.reader(feed, delimiter=delimiter, quotechar=quote, quoting=quoting, strict=True)
        while True:
            start = feed.number + 1
            try:
                cells = next(reader)
            except StopIteration:
                break
            except csv.Error as error:
                if feed.number > start or "end of data" in str(error) or "limit" in str(error):
                    hint = "close it, or read without quotes: --quote none"
                    raise SourceError("a quote is never closed", where=f"{path}, line {start}", hint=hint) from error
                yield Row((), f"{path.name}, line {feed.number}", feed.text, "bad quoting")
                continue
            yield from (Row((), f"{path.name}, line {n}", "", fault) for n, fault in feed.take_faults())
            if any(cell.strip() for cell in cells):
                yield Row(cells, f"{path.name}, line {start}", delimiter.join(cells))
            else:
                self.reading.counts["blank lines"] += 1
        yield from (Row((), f"{path.name}, line {n}", "", fault) for n, fault in feed.take_faults())


class _Feed:
    """The lines for csv.reader; those that cannot be used are kept aside."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self.lines, self.number, self.text = lines, 0, ""
        self.faults: list[tuple[int, str]] = []

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> str:
        for line in self.lines:
            self.number = line.number
            if not line.fault:
                self.text = line.text
                return line.text + "\n"
            self.faults.append((line.number, line.fault))
        raise StopIteration

    def take_faults(self) -> list[tuple[int, str]]:
        """The faulty lines met since the last call."""
        taken, self.faults = self.faults, []
        return taken


def _find_delimiter(lines: Sequence[str]) -> str:
    """The delimiter that gives most rows the same number of cells, at least two; "" for none."""
    best, best_share = "", 0.8
    for delimiter in _DELIMITERS:
        try:
            rows = [row for row in csv.reader((line + "\n" for line in lines), delimiter=delimiter) if row]
        except csv.Error:
            continue
        widths = Counter(len(row) for row in rows)
        width, count = widths.most_common(1)[0] if widths else (0, 0)
        if width > 1 and count / len(rows) > best_share:
            best, best_share = delimiter, count / len(rows)
    return best
