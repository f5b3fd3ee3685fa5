"""The store: one SQLite file of entries, definitions and where each was seen.

Before: adapters yield records. After: dictsent.pairs chooses what to train on. Only this package knows SQL.
"""

from dictsent.store.ingest import Ingested, Origin
from dictsent.store.read import DefinitionRow, EntryView, SourceRow
from dictsent.store.store import Store

__all__ = ["DefinitionRow", "EntryView", "Ingested", "Origin", "SourceRow", "Store"]
