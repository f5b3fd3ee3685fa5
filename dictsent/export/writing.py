"""Choosing a form and writing it whole or not at all.

Before: the command line. After: lines.py, columns.py or lmf.py writes the form into a place beside the target.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dictsent.errors import PairsError, StoreError
from dictsent.export import columns, lines, lmf
from dictsent.export.choice import Choice, Senses
from dictsent.store import Store

Written = tuple[int, tuple[str, ...]]
"""The number of definitions, and remarks for the user."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a form is written: a file of that ending, "" for a folder; text or not.

    A form holds each definition once (`write_senses`), or each source with all it says (`write_sources`).
    """

    ending: str
    is_text: bool = False
    write_senses: Callable[[Senses, Path, str], Written] | None = None
    write_sources: Callable[[Store, Path, str], Written] | None = None


FORMS: Mapping[str, Form] = {
    "tsv": Form(".tsv", is_text=True, write_senses=lines.write_tsv),
    "jsonl": Form(".jsonl", is_text=True, write_sources=lines.write_jsonl),
    "parquet": Form(".parquet", write_sources=columns.write_parquet),
    "hf": Form("", write_sources=columns.write_dataset),
    "defsent": Form("", write_senses=lines.write_defsent),
    "defsent-plus": Form(".txt", write_senses=lines.write_defsent_plus),
    "wn-lmf": Form(".xml", write_senses=lmf.write_lmf),
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


def export(
    store: Store, out: Path, *, form: str, language: str = "", near: float = 0.0, prefer: Sequence[str] = ()
) -> Exported:
    """Write the store, or the entries of one language, in one of FORMS; `near` and `prefer` as in Choice.

    Raises:
        StoreError: the place is in use or cannot be written. EmptyStoreError, LanguageError: nothing to write.
        PairsError: near-duplicates are to be left out of a form that keeps everything.
    """
    store.require(language or next(iter(store.languages()), "und"))
    choice, kind = Choice(store, near, tuple(prefer)), FORMS[form]
    if (near or prefer) and kind.write_senses is None:
        what = f"{form} keeps all that every source says"
        raise PairsError(
            what, where="--near", hint=f"use it with {', '.join(n for n in FORMS if FORMS[n].write_senses)}"
        )
    with _appearing(out, folder=not kind.ending) as partial:
        if kind.write_senses is not None:
            count, notes = kind.write_senses(choice, partial, language)
        else:
            assert kind.write_sources is not None
            count, notes = kind.write_sources(store, partial, language)
    if left_out := sum(choice.left_out.values()):
        notes = (*notes, f"{left_out:,} definitions left out as nearly the same as another of their headword")
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
