"""`dictsent run`: a recipe, from its dictionaries to its table.

Before: a TOML file. After: a table on stdout, models among the runs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dictsent.cli.options import data_option, json_option, runs_option, store_option
from dictsent.cli.show import emit, note, table, working

if TYPE_CHECKING:
    from dictsent.recipe.scoring import Row


@click.command("run", epilog="Examples: dictsent run quickstart · dictsent run my.toml --check")
@click.argument("recipe", metavar="RECIPE", default="")
@click.option("--list", "listed", is_flag=True, help="List the package's own recipes and stop.")
@click.option("--dry-run", is_flag=True, help="Check the recipe's form and stop.")
@click.option("--check", is_flag=True, help="Exit 1 where a score is outside the recipe's [expect].")
@runs_option
@store_option
@data_option
@json_option
def run_command(
    recipe: str, listed: bool, dry_run: bool, check: bool, runs: Path, store: Path, data: Path | None, as_json: bool
) -> None:
    """Run a recipe: a TOML file, or one of the package's own by its name."""
    from dictsent.recipe.settings import load_recipe

    if listed:
        _list(as_json)
        return
    if not recipe:
        raise click.UsageError("name a RECIPE; --list names the package's own")

    loaded = load_recipe(recipe)
    if dry_run:
        note(f"{recipe}: the form is right: {loaded.title}")
        if as_json:
            emit({"recipe": recipe, "title": loaded.title, "systems": [s.name for s in loaded.system]})
        return
    from dictsent.cli.compared import cache_folder, folders
    from dictsent.recipe.execution import Place, execute
    from dictsent.recipe.scoring import check_expectations
    from dictsent.recipe.training import Watch
    from dictsent.recipe.wordnet import Places

    started = time.monotonic()
    places = Places(os.environ.get("DICTSENT_WORDNET", ""), cache_folder().parent)
    place = Place(store=store, runs=runs, data=tuple(folders(data)), wordnet=places)
    note(f"{loaded.title} ({_seeds(loaded.seeds)})")
    with working(loaded.title) as bar:
        rows = execute(loaded, place, Watch(note, bar.update))
    if as_json:
        emit({"recipe": recipe, "seconds": round(time.monotonic() - started, 1), "rows": [_record(r) for r in rows]})
    else:
        show_rows(rows, limit=loaded.limit)
        note(f"{(time.monotonic() - started) / 60:.1f} minutes in all")
    if check:
        check_expectations(loaded, rows)


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


def _list(as_json: bool) -> None:
    """The package's own recipes: what each does, and what it needs that is not public."""
    from dictsent.recipe.settings import asked_for, load_recipe, own_recipes

    rows = []
    for name in own_recipes():
        recipe = load_recipe(name)
        needs = list(asked_for(recipe))
        rows.append({"recipe": name, "title": recipe.title, "paper": recipe.paper, "needs": needs})
    if as_json:
        emit({"recipes": rows})
    else:
        table(["recipe", "title", "needs"], [(r["recipe"], r["title"], ", ".join(r["needs"])) for r in rows], left=3)


def _record(row: Row) -> dict[str, Any]:
    scores = [score.to_json() for score in row.scores]
    values = {"system": row.name, "step": row.step, "definitions": row.definitions, "seconds": row.seconds}
    return {**values, "folders": list(row.folders), "scores": scores, "deviations": row.deviations}


def show_rows(rows: Sequence[Row], *, limit: int | None) -> None:
    """Two or three tables, a line a system and step: similarity, word prediction, and sets beside the papers' seven."""
    from dictsent.recipe.checks import RANKED
    from dictsent.recipe.scoring import columns
    from dictsent.tasks.data import SEVEN

    figures = [columns(row) for row in rows]
    found = list(dict.fromkeys(name for row in figures for name in row))
    words = [name for name in found if name.split()[0] in RANKED]
    papers = [name for name in (*SEVEN, "Avg", "Avg unexposed", "mini-sts") if name in found]
    others = [name for name in found if name not in (*words, *papers) and not name.endswith(" unexposed")]
    _figures("Sentence similarity: Spearman x100 of the cosine", rows, figures, papers)
    if "Avg unexposed" in papers:
        click.echo("Unexposed: without the OnWN and FNWN files, whose sentences are WordNet's own glosses.")
    click.echo("mini-sts is a smoke set of 40 pairs, in no average.\n")
    _figures("Word prediction: held-out headwords, x100", rows, figures, words)
    if words:
        click.echo(
            "MRR, Top1, Top3, Top10: found among all entries, by cosine with the mean of their definitions. “own”:"
        )
        click.echo(
            "the way the model was trained to, DefSent over its vocabulary, DefSent+ by pooler and entry matrix.\n"
        )
    _figures("Other sets", rows, figures, others)
    if limit:
        click.echo(f"The trained systems saw at most {limit:,} definitions, dev and test included.")


def _figures(title: str, rows: Sequence[Row], figures: Sequence[dict[str, float | None]], names: Sequence[str]) -> None:
    if not names:
        return
    shown = [name.replace("Avg unexposed", "unexposed") for name in names]
    body = [
        [
            row.name,
            row.step or "",
            f"{row.definitions:,}" if row.definitions else "",
            *(_cell(f.get(n), row.deviations.get(n)) for n in names),
        ]
        for row, f in zip(rows, figures, strict=True)
    ]
    table(["system", "step", "trained on", *shown], body, title=title)


def _cell(value: float | None, deviation: float | None) -> str:
    """As the papers print it: 71.08±0.31 over seeds."""
    if value is None:
        return ""
    return f"{value:.2f}" if deviation is None else f"{value:.2f}±{deviation:.2f}"
