"""`compare` and `report`: systems against each other, runs on one page.

Before: dictsent.tasks.comparison, neighbours; dictsent.report. After: a table, JSON, a file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dictsent.cli.options import data_option, json_option
from dictsent.cli.show import emit, note, table, working


@click.command("compare")
@click.argument("models", metavar="MODEL MODEL...", nargs=-1, required=True)
@data_option
@click.option("--lang", "language", default="", help="Language of the texts (tag or name).")
@click.option("--set", "names", multiple=True, metavar="NAME", help="Only this set; may be repeated.")
@click.option("--text", "variant", default="", help="Only this kind of text: raw, senteval, aws, deepl.")
@click.option("--resamples", type=click.IntRange(min=100), default=1000, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@json_option
def compare_command(
    models: tuple[str, ...],
    data: Path | None,
    language: str,
    names: tuple[str, ...],
    variant: str,
    resamples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Say whether the first MODEL is better than each other one: difference, 95 % interval, p (paired bootstrap)."""
    from dictsent.cli.evaluation import folders, resolve, say_left_out
    from dictsent.evaluate import available, similarities
    from dictsent.tasks.comparison import Judged, compare
    from dictsent.tasks.data import Choice
    from dictsent.tasks.systems import load_system

    if len(models) < 2:
        raise click.UsageError("compare needs two models or more")
    chosen, tag = resolve(models, Path("runs"), language)
    sets, left_out = available(Choice(languages=() if names else (tag,), names=names, variant=variant), folders(data))
    say_left_out(left_out)
    found = []
    for name in chosen:
        with working(f"embedding with {name}") as bar:
            system = load_system(name, language=tag)
            found.append([values for _, values in similarities(system, sets, progress=bar.update)])
    results: list[dict[str, Any]] = []
    for name, values in zip(chosen[1:], found[1:], strict=True):
        judged = [Judged(*row) for row in zip(sets, found[0], values, strict=True)]
        rows = compare(judged, resamples=resamples, seed=seed)
        results.append({"first": chosen[0], "second": name, "sets": [row.to_json() for row in rows]})
    if as_json:
        emit({"comparisons": results})
        return
    for result in results:
        show_comparison(result)
    note(f"Spearman x100; paired bootstrap over the pairs, {resamples:,} resamples, seed {seed}")


def show_comparison(result: dict[str, Any]) -> None:
    """One row a set."""
    rows = []
    for row in result["sets"]:
        shown = [f"{row[key]:.2f}" if row[key] is not None else "-" for key in ("first", "second", "difference")]
        interval = f"[{row['interval'][0]:.2f}, {row['interval'][1]:.2f}]" if row["interval"] else "-"
        p = f"{row['p']:.3f}" if row["p"] is not None else "-"
        rows.append([row["task"], row["language"], row["variant"], f"{row['n']:,}", *shown, interval, p])
    columns = ["set", "language", "text", "n", "first", "second", "difference", "95 % interval", "p"]
    table(columns, rows, title=f"first: {result['first']}, second: {result['second']}", left=3)


@click.command("report")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=Path("report.html"), show_default=True)
def report_command(runs: tuple[Path, ...], out: Path) -> None:
    """Write one self-contained page about RUNs: tables, plots, examples, the record."""
    from dictsent.report import write_report

    write_report(runs, out)
    note(f"wrote {out}")
