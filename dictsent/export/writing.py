"""Choosing a form and writing it whole or not at all.

Before: the command line. After: lines.py, columns.py or lmf.py writes the form into a place beside the target.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dictsent.errors import StoreError
from dictsent.export import columns, lines, lmf
from dictsent.store import Store

Write = Callable[[Store, Path, str], tuple[int, tuple[str, ...]]]
"""Store, where to write, language or ""; gives the number of definitions and remarks for the user."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a form is written: a file of that ending, "" for a folder; sources kept apart or not; text or not."""

    write: Write
    ending: str
    keeps_sources: bool = False
    is_text: bool = False


FORMS: Mapping[str, Form] = {
    "tsv": Form(lines.write_tsv, ".tsv", is_text=True),
    "jsonl": Form(lines.write_jsonl, ".jsonl", keeps_sources=True, is_text=True),
    "parquet": Form(columns.write_parquet, ".parquet", keeps_sources=True),
    "hf": Form(columns.write_dataset, "", keeps_sources=True),
    "defsent": Form(lines.write_defsent, ""),
    "defsent-plus": Form(lines.write_defsent_plus, ".txt"),
    "wn-lmf": Form(lmf.write_lmf, ".xml"),
}


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written.

    Attributes:
        definitions: rows; where sources are kept apart, each place a definition was seen at is one.
        notes: what the form cannot hold.
    """

    path: Path
    form: str
    definitions: int
    notes: tuple[str, ...] = field(default=())


def standard_name(form: str, language: str) -> Path:
    """Where a form goes that was told no path: dictsent.jsonl, ja.tsv, dictsent-defsent."""
    ending = FORMS[form].ending
    return Path(f"{language or 'dictsent'}{ending or '-' + form}")


def export(store: Store, out: Path, *, form: str, language: str = "") -> Exported:
    """Write the store, or the entries of one language, in one of FORMS.

    Raises:
        StoreError: the place is in use or cannot be written. EmptyStoreError, LanguageError: nothing to write.
    """
    store.require(language or next(iter(store.languages()), "und"))
    kind = FORMS[form]
    with _appearing(out, folder=not kind.ending) as partial:
        count, notes = kind.write(store, partial, language)
    return Exported(out, form, count, notes)


@contextmanager
def _appearing(out: Path, *, folder: bool) -> Iterator[Path]:
    """A place beside `out` that becomes `out` when all is written and goes away when not."""
    if out.is_dir() and (not folder or any(out.iterdir())):
        what = "a folder with something in it is there" if folder else "there is a folder here"
        raise StoreError(what, where=str(out), hint="name another with --out")
    partial = out.with_name(f"{out.name}.partial")
    try:
        if folder:
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
        yield partial
        if folder and out.is_dir():
            out.rmdir()
        partial.replace(out)
    except OSError as error:
        reason = "the disk is full" if error.errno == 28 else error.strerror or str(error)
        raise StoreError(f"cannot be written: {reason}", where=str(out), hint="name another with --out") from error
    finally:
        if partial.is_dir():
            shutil.rmtree(partial, ignore_errors=True)
        else:
            partial.unlink(missing_ok=True)
