"""`export`: the store in other forms.

Before: dictsent.store. After: other programs, other stores.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from dictsent.cli.options import json_option, store_option
from dictsent.cli.show import emit, note
from dictsent.errors import DictsentError
from dictsent.languages import find_language
from dictsent.store import Store

_FORMS = ("tsv", "jsonl", "parquet", "hf", "defsent", "defsent-plus", "wn-lmf")


@click.command(
    "export",
    epilog="Examples: dictsent export --to jsonl · dictsent export --to tsv --lang ja --out - · "
    "dictsent export --to defsent --lang en --out words. jsonl and parquet keep everything: ingested again they "
    "give an equal store.",
)
@click.option("--to", "form", type=click.Choice(_FORMS), required=True, help="The form.")
@click.option("--lang", "language", default="", help="Only words of this language (tag or name).")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File or folder; - for standard output. [default: by form and language]",
)
@click.option(
    "--near",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="0.9",
    help="Of an entry's definitions that are as similar as this, only the best. [default: all]",
)
@click.option(
    "--prefer", multiple=True, metavar="SOURCE", help="With --near: the source whose wording wins; the first, the best."
)
@store_option
@json_option
def export_command(
    form: str,
    language: str,
    out: Path | None,
    near: float,
    prefer: tuple[str, ...],
    store: Path,
    as_json: bool,
) -> None:
    """Write the store's dictionaries in another form."""
    from dictsent.export import FORMS, export, standard_name

    tag = find_language(language) if language else ""
    if str(out) == "-" and (as_json or not FORMS[form].is_text):
        raise DictsentError(
            "only text forms go to standard output, without --json", where="--out -", hint="name a file"
        )
    how: dict[str, Any] = {"form": form, "language": tag, "near": near, "prefer": prefer}
    with Store(store) as opened:
        if str(out) == "-":
            with TemporaryDirectory() as folder:
                file = Path(folder) / "export"
                done = export(opened, file, **how)
                with file.open("rb") as stream:
                    shutil.copyfileobj(stream, sys.stdout.buffer)
        else:
            done = export(opened, out or standard_name(form, tag), **how)
    for remark in done.notes:
        note(f"note: {remark}")
    if str(out) == "-":
        return
    if as_json:
        emit({"path": str(done.path), "form": form, "definitions": done.definitions, "notes": list(done.notes)})
    else:
        note(f"{done.definitions:,} definitions in {done.path}")
