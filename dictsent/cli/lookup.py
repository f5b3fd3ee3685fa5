"""`dictsent lookup`: from a description to words.

Before: a trained model folder. After: ranked headwords with their definitions.
"""

from __future__ import annotations

from pathlib import Path

import click

from dictsent.cli.options import json_option, runs_option
from dictsent.cli.show import emit, note


@click.command("lookup", epilog='Example: dictsent lookup "a long-necked African animal"')
@click.argument("text")
@click.option("--model", type=click.Path(path_type=Path), help="A model folder. [default: the newest run]")
@click.option("-k", "--top", type=click.IntRange(min=1), default=10, show_default=True, help="How many words.")
@click.option("--lang", "language", default="", help="Answer in this language, where the model has several.")
@runs_option
@json_option
def lookup_command(text: str, model: Path | None, top: int, language: str, runs: Path, as_json: bool) -> None:
    """Find the words that a description means, of every language the model was trained on."""
    from dictsent import load
    from dictsent.languages import find_language
    from dictsent.runs import newest

    folder = model or newest(runs)
    note(f"model: {folder}")
    (hits,) = load(folder).lookup([text], top, language=find_language(language) if language else "")
    if as_json:
        rows = [
            {"headwords": h.headwords, "language": h.language, "score": h.score, "definitions": h.definitions}
            for h in hits
        ]
        emit({"model": str(folder), "text": text, "hits": rows})
        return
    for number, hit in enumerate(hits, 1):
        first = f": {hit.definitions[0]}" if hit.definitions else ""
        tag = f" ({hit.language})" if hit.language else ""
        click.echo(f"{number:3}. {', '.join(hit.headwords)}{tag}{first}")
