"""`search`, `licences`, `diff`, `merge`: finding things in stores, comparing them, putting them together.

Before: dictsent.store. After: a terminal.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from dictsent.cli.options import json_option, store_option
from dictsent.cli.show import emit, note
from dictsent.languages import find_language
from dictsent.store import Store


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
