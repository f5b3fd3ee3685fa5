"""The store: one SQLite file of entries, definitions and where each was seen.

Before: adapters yield records. After: dictsent.pairs chooses what to train on. Only this package knows SQL.
"""

from dictsent.store.comparison import Difference
from dictsent.store.ingest import Ingested, Origin
from dictsent.store.read import DefinitionRow, EntryView, SourceRow
from dictsent.store.replay import SenseRow
from dictsent.store.search import Hit
from dictsent.store.statistics import Overlap
from dictsent.store.store import Store, dictionary_of

__all__ = [
    "DefinitionRow",
    "Difference",
    "EntryView",
    "Hit",
    "Ingested",
    "Origin",
    "Overlap",
    "SenseRow",
    "SourceRow",
    "Store",
    "dictionary_of",
]
