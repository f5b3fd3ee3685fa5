"""`compare` and `report`: systems against each other, runs on one page.

Before: dictsent.tasks.comparison, neighbours; dictsent.report. After: a table, JSON, a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dictsent.cli.compared import folders, read_corpus, resolve, say_left_out
from dictsent.cli.evaluation import lang_option
from dictsent.cli.options import data_option, json_option, store_option
from dictsent.cli.show import emit, note, table, working

if TYPE_CHECKING:
    from dictsent.tasks.embedding import TextEncoder
    from dictsent.tasks.overlap import Study


@click.command("compare")
@click.argument("models", metavar="MODEL MODEL...", nargs=-1, required=True)
@data_option
@lang_option
@click.option("--set", "names", multiple=True, metavar="NAME", help="Only this set; may be repeated.")
@click.option("--text", "variant", default="", help="Only this kind of text: raw, senteval, aws, deepl.")
@click.option("--resamples", type=click.IntRange(min=100), default=1000, show_default=True, help="Bootstrap resamples.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--overlap", is_flag=True, help="Nearest neighbour overlap on a corpus instead of scores.")
@click.option("--corpus", default="store", show_default=True, help="For --overlap: a file with a sentence a line.")
@click.option("--limit", type=click.IntRange(min=10), help="For --overlap: at most so many sentences.")
@click.option("--queries", type=click.IntRange(min=1), default=100, show_default=True, help="Sentences asked about.")
@click.option("--samples", type=click.IntRange(min=1), default=5, show_default=True, help="Samples of queries.")
@click.option(
    "-k", "ks", type=click.IntRange(min=1), multiple=True, default=(50,), show_default=True, help="Neighbours compared."
)
@click.option(
    "--index",
    type=click.Choice(["exact", "projected"]),
    default="exact",
    show_default=True,
    help="For --overlap on millions: projected searches 96 principal axes, ranks what it finds, states its recall.",
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Also write a page with plots (HTML).")
@store_option
@json_option
def compare_command(models: tuple[str, ...], as_json: bool, overlap: bool, **options: Any) -> None:
    """Say how far MODELs differ.

    Without --overlap: is the first better than each other one on sentence similarity? Difference, 95 % interval, p
    (paired bootstrap). With it: what part of their nearest neighbours do they share (N2O)?
    """
    from dictsent.errors import TaskError
    from dictsent.tasks.systems import check_name

    if len(models) < 2:
        raise click.UsageError("compare needs two models or more")
    for name in models:
        if models.count(name) > 1:
            raise TaskError(f"model {name!r} is named twice", where="compare")
        check_name(name)
    (compare_neighbours if overlap else compare_scores)(models, as_json=as_json, **options)


def compare_scores(models: Sequence[str], *, as_json: bool, language: str, **options: Any) -> None:
    """Paired bootstrap of the first model against each other one."""
    from dictsent.evaluate import available, similarities
    from dictsent.tasks.comparison import Judged, compare
    from dictsent.tasks.data import Choice
    from dictsent.tasks.systems import load_system

    chosen, tag = resolve(models, Path("runs"), language)
    names, resamples, seed = options["names"], options["resamples"], options["seed"]
    choice = Choice(languages=() if names else (tag,), names=names, variant=options["variant"])
    sets, left_out = available(choice, folders(options["data"]))
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


def compare_neighbours(models: Sequence[str], *, as_json: bool, language: str, **options: Any) -> None:
    """N2O of every two models on one corpus."""
    from dictsent.errors import TaskError
    from dictsent.tasks.neighbours import draw_queries
    from dictsent.tasks.overlap import study
    from dictsent.tasks.paraphrases import news_paraphrases

    chosen, tag = resolve(models, Path("runs"), language)
    source = None if options["corpus"] == "store" else Path(options["corpus"])
    if source and not source.is_file():
        raise TaskError("no such file", where=str(source), hint="--corpus names a file with a sentence a line")
    corpus = read_corpus(source, options["store"], tag, limit=options["limit"])
    ks = tuple(sorted(set(options["ks"])))
    queries = draw_queries(len(corpus), queries=options["queries"], samples=options["samples"], seed=options["seed"])
    try:
        paraphrases = news_paraphrases(folders(options["data"])) if tag == "en" else []
    except TaskError as error:
        paraphrases = []
        note(f"no paraphrase test: {error}")
    approximate = options["index"] == "projected"
    result = study(_systems(chosen, tag), corpus, queries, ks=ks, paraphrases=paraphrases, approximate=approximate)
    for name in result.overlap.names if approximate else ():
        found = result.recall.get(name)
        note(
            f"{name}: " + (f"recall of the approximate search {found:.3f}" if found is not None else "searched exactly")
        )
    if as_json:
        emit(result.to_json())
    else:
        show_overlap(result)
    if options["out"]:
        from dictsent.report import write_overlap

        write_overlap(result, options["out"])
        note(f"wrote {options['out']}")


def _systems(names: Sequence[str], language: str) -> Iterator[tuple[str, TextEncoder, Callable[[int, int], None]]]:
    from dictsent.tasks.systems import load_system, short_names

    for name, short in zip(names, short_names(names), strict=True):
        with working(f"embedding with {short}") as bar:
            yield short, load_system(name, language=language), bar.update


def show_overlap(result: Study) -> None:
    """The heat map as a table, then what each system's neighbours look like."""
    k = result.overlap.ks[-1]
    mean, spread = result.overlap.mean(k), result.overlap.deviation(k)
    names = result.overlap.names
    rows = [
        [name, *(f"{mean[i, j]:.3f} ±{spread[i, j]:.3f}" if i != j else "1" for j in range(len(names)))]
        for i, name in enumerate(names)
    ]
    samples, queries = result.queries.shape
    title = f"N2O, k = {k}, {samples} x {queries} queries on {len(result.corpus):,} sentences"
    table(["", *names], rows, title=title)
    rows = [[n, f"{t.mean:.3f} [{t.low:.3f}, {t.high:.3f}]", *_paraphrase_cells(result, n)]
            for n, t in result.tokens.items()]  # fmt: skip
    table(["", "words shared with neighbours", "paraphrases: MRR", "at 1", "within 5"], rows)
    for kind, found in result.overlap.stability(k).items():
        if found:
            note(f"rank stability across {kind}: Spearman {found[0]:.3f} on average, {found[1]:.3f} at least")


def _paraphrase_cells(result: Study, name: str) -> list[str]:
    found = result.paraphrases.get(name)
    return [f"{found.mrr:.3f}", f"{found.top}/{found.n}", f"{found.top5}/{found.n}"] if found else ["-", "-", "-"]


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
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="The page.",
)
def report_command(runs: tuple[Path, ...], out: Path) -> None:
    """Write one self-contained page about RUNs: tables, plots, examples, the record."""
    from dictsent.report import write_report

    write_report(runs, out)
    note(f"wrote {out}")
