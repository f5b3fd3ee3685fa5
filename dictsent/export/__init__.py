"""The store in other forms: text tables, JSON lines, data sets, the papers' own forms, WN-LMF.

Before: dictsent.store. After: other programs, or `dictsent ingest` of jsonl and parquet, which gives an equal store.
"""

from dictsent.export.writing import FORMS, Exported, export, standard_name

__all__ = ["FORMS", "Exported", "export", "standard_name"]
