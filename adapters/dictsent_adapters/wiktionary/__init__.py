"""Any edition of Wiktionary: `extract` for the text of one page, the adapter for a whole dump.

Before: dictsent.adapter and records give the contract. After: the command line reads dumps through `Wiktionary`.
"""

from dictsent_adapters.wiktionary.adapter import Wiktionary
from dictsent_adapters.wiktionary.extract import extract
from dictsent_adapters.wiktionary.senses import Sense

__all__ = ["Sense", "Wiktionary", "extract"]
