"""Choosing what to train on: definitions cleaned, once, split by headword, free of leaks.

Before: dictsent.store streams definitions. After: dictsent.entryspace builds entries, dictsent.train trains.
"""

from dictsent.pairs.columns import Rows
from dictsent.pairs.duplicates import letters
from dictsent.pairs.selection import MINIMUM, Pairs, PairSettings, glosses, select, split_of

__all__ = ["MINIMUM", "PairSettings", "Pairs", "Rows", "glosses", "letters", "select", "split_of"]
