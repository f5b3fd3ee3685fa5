"""Tab-separated text, the door for everybody's own file: a headword, a tab, a definition.

Before: dictsent.adapter. After: table.py makes entries of the rows. There is no quoting: a tab always separates.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dictsent.adapter import Adapter
from dictsent.records import Dictionary, Entry, Rejected
from dictsent_adapters.streams import legacy_lines, read_lines, sample_lines, text_encoding
from dictsent_adapters.table import Row, TableOptions, describe_table, read_table


class Tsv(Adapter):
    """Reads one row a line, its columns chosen by number or by the header's names."""

    name = "tsv"
    summary = "tab-separated text: headword, tab, definition; options for the columns, header, language, encoding"
    generic = True
    Options = TableOptions

    def matches(self, path: Path) -> bool:
        """Whether most of its first lines have several cells with something in them."""
        if not path.suffix:  # README, LICENSE and their like
            return False
        lines = [line for line in sample_lines(path) or legacy_lines(path) if line.strip()]
        rows = [line.split("\t") for line in lines]
        good = [cells for cells in rows if sum(bool(cell.strip()) for cell in cells) > 1]
        return bool(good) and 5 * len(good) >= 3 * len(lines) and not lines[0].startswith(("<", "{", "["))

    def describe(self, source: str) -> Dictionary:
        """Its name is the file's."""
        return describe_table(source, self.options)

    def read(self, source: str) -> Iterator[Entry | Rejected]:
        """One entry a line. Raises SourceError where most lines have no tab or the encoding is another."""
        return read_table(self._rows(Path(source)), self.options, source)

    def _rows(self, path: Path) -> Iterator[Row]:
        for line in read_lines(path, text_encoding(path, self.options.encoding), self.reading):
            if not line.text.strip() and not line.fault:
                self.reading.counts["blank lines"] += 1
                continue
            fault = line.fault or ("" if "\t" in line.text else "no tab")
            text = line.text if not line.fault else line.text[:200].encode("utf-8", "replace").decode()
            yield Row(text.split("\t"), f"{path.name}, line {line.number}", text, fault)
