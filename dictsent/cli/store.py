"""`search`, `licences`, `diff`, `merge`: finding things in stores, comparing them, putting them together.

Before: dictsent.store. After: a terminal.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from dictsent.cli.options import json_option, store_option
from dictsent.cli.show import emit, note, table
from dictsent.languages import find_language
from dictsent.store import SourceRow, Store


@click.command(
    "search", epilog="Examples: dictsent search 動物 --lang ja · dictsent search 'small anim*' · dictsent search cafe"
)
@click.argument("text")
@click.option("--lang", "language", default="", help="Only words of this language (tag or name).")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Definitions at most.")
@store_option
@json_option
def search_command(text: str, language: str, limit: int, store: Path, as_json: bool) -> None:
    """Find definitions by the words of their headwords or text.

    All words must occur; case, accents and width do not matter; animal* finds animals too. Words written so come first.
    """
    with Store(store) as opened:
        hits = opened.search(text, language=find_language(language) if language else "", limit=limit)
    if as_json:
        emit({"hits": [asdict(hit) for hit in hits]})
    elif not hits:
        note(f"Nothing found for {text!r}.")
    for hit in hits if not as_json else []:
        other = f" [{hit.definition_language}]" if hit.definition_language != hit.language else ""
        click.echo(f"{hit.headword} [{hit.language}]  {hit.text}{other}  ({', '.join(hit.sources)})")
    if not hits:
        raise click.exceptions.Exit(1)


@click.command("licences")
@store_option
@json_option
def licences_command(store: Path, as_json: bool) -> None:
    """List the licences of the dictionaries in the store, and whom to name for them."""
    with Store(store) as opened:
        rows = opened.sources()
    by_licence: dict[str, list[SourceRow]] = {}
    for row in rows:
        by_licence.setdefault(row.licence, []).append(row)
    keys = ("name", "language", "version", "attribution", "address", "checksum", "definitions")
    if as_json:
        listed = [
            {"licence": licence, "sources": [{key: getattr(row, key) for key in keys} for row in held]}
            for licence, held in by_licence.items()
        ]
        emit({"licences": listed})
        return
    table(
        ["licence", "source", "version", "attribution", "address", "definitions"],
        [
            (licence or "none stated", row.name, row.version, row.attribution, row.address, f"{row.definitions:,}")
            for licence, held in by_licence.items()
            for row in held
        ],
        left=5,
    )


@click.command("diff")
@click.argument("one", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("other", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--limit", type=click.IntRange(min=0), default=3, show_default=True, help="Examples of each difference.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 where the stores differ.")
@json_option
def diff_command(one: Path, other: Path, limit: int, exit_code: bool, as_json: bool) -> None:
    """Compare two stores: what is only in ONE or only in OTHER. How a source was read does not matter."""
    with Store(one) as left, Store(other) as right:
        found = left.differences(right, sample=limit)
    equal = all(difference.left == difference.right == 0 for difference in found.values())
    if as_json:
        emit({"equal": equal, "differences": {kind: asdict(difference) for kind, difference in found.items()}})
    else:
        table(
            ["", "in both", f"only in {one}", f"only in {other}"],
            [(kind, f"{d.common:,}", f"{d.left:,}", f"{d.right:,}") for kind, d in found.items()],
        )
        for kind, difference in found.items():
            for mark, rows in (("-", difference.left_sample), ("+", difference.right_sample)):
                for row in rows:
                    click.echo(f"{mark} {kind}: {'  '.join(row)}")
    if exit_code and not equal:
        raise click.exceptions.Exit(1)


@click.command("merge")
@click.argument("other", type=click.Path(dir_okay=False, path_type=Path))
@store_option
@json_option
def merge_command(other: Path, store: Path, as_json: bool) -> None:
    """Take the dictionaries of another store into this one; ones that it holds already change nothing."""
    with Store(other) as theirs, Store(store, create=True) as ours:
        done = ours.merge(theirs)
    if as_json:
        emit({"sources": [asdict(row) for row in done]})
        return
    for row in done:
        what = f"{row.definitions:,} definitions, {row.duplicates:,} more were here already" if row.new else "unchanged"
        note(f"{row.source}: {what}")
