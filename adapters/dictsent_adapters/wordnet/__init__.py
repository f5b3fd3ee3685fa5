"""Wordnets: Princeton's database files, WN-LMF files, and the lexicons of the user's own wn database.

Before: dictsent.adapter. After: princeton.py, lmf.py and database.py each read one of the three forms.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from dictsent.adapter import Adapter
from dictsent.records import Dictionary, Entry, Rejected
from dictsent_adapters.wordnet import database, lmf, princeton


class WordNet(Adapter):
    """Reads wordnets: a folder of data.noun and so on, a WN-LMF file or package, or wn:ID:VERSION."""

    name = "wordnet"
    summary = "wordnets: Princeton database files, WN-LMF (.xml, .gz, .xz, .tar.*), wn:oewn:2025 of your wn database"
    prefix = database.PREFIX

    def matches(self, path: Path) -> bool:
        """Whether it is a WordNet database or its root element is a LexicalResource."""
        return princeton.is_database(path) or (path.is_file() and lmf.is_lmf(path))

    def describe(self, source: str) -> Dictionary:
        """Name, version, licence, citation and address as the wordnet itself tells them."""
        if self._in_wn(source):
            return database.describe_database_lexicon(source)
        path = Path(source)
        return princeton.describe_database(path) if princeton.data_files(path) else lmf.describe_file(path)

    def read(self, source: str) -> Iterator[Entry | Rejected]:
        """One entry a headword (Princeton) or lexical entry (WN-LMF), its senses in the wordnet's order."""
        path = Path(source)
        if self._in_wn(source):
            return database.read_database_lexicon(source, self.reading)
        if princeton.data_files(path):
            return princeton.read_database(path, self.reading)
        return lmf.read_file(path, self.options.language, self.reading)

    def files(self, path: Path) -> list[Path]:
        """The data and index files of a database, or the file itself."""
        data = princeton.data_files(path)
        return [file for d in data for file in (d, princeton.index_file(d)) if file.is_file()] or super().files(path)

    def checksum(self, source: str) -> str:
        """As of files; for a lexicon in wn's database, of its counts, version and whether it was changed."""
        if not self._in_wn(source):
            return super().checksum(source)
        lexicon = database.find_lexicon(source)
        return hashlib.sha256(f"{lexicon.describe()} {lexicon.modified()}".encode()).hexdigest()

    def _in_wn(self, source: str) -> bool:
        return source.startswith(self.prefix) and not Path(source).exists()
