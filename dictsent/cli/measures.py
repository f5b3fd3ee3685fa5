"""`eval senteval`, `eval isotropy`, `eval exposure`: measures beside similarity and word prediction.

Before: dictsent.tasks. After: a table or JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dictsent.cli.compared import cache_folder, each_model, folders, read_corpus, resolve, say_left_out
from dictsent.cli.evaluation import (
    MODELS_HELP,
    as_record,
    check,
    eval_command,
    expect_option,
    figure,
    lang_option,
    models_argument,
)
from dictsent.cli.options import data_option, json_option, runs_option, store_option
from dictsent.cli.show import emit, note, table
from dictsent.cli.unscored import glosses_command, language_command

__all__ = ["eval_command", "glosses_command", "language_command"]

if TYPE_CHECKING:
    from dictsent.tasks.embedding import TextEncoder
    from dictsent.tasks.scores import Score


@eval_command.command("senteval", help="Score SentEval's seven transfer tasks (accuracy).\n\n" + MODELS_HELP)
@models_argument
@data_option
@click.option("--task", "names", multiple=True, metavar="NAME", help="MR, CR, SUBJ, MPQA, SST-2, TREC or MRPC.")
@click.option(
    "--classifier",
    type=click.Choice(["adam", "lbfgs"]),
    default="adam",
    show_default=True,
    help="SentEval's own, as in the papers, or scikit-learn's: quicker, its figures differ.",
)
@click.option("--fast", is_flag=True, help="lbfgs, 5 folds, no nested choice of the regularisation: not the papers'.")
@expect_option
@runs_option
@json_option
def senteval_command(
    models: tuple[str, ...],
    data: Path | None,
    names: tuple[str, ...],
    classifier: str,
    fast: bool,
    expect: Path | None,
    runs: Path,
    as_json: bool,
) -> None:
    """Score the transfer tasks."""
    from dictsent.errors import TaskError
    from dictsent.tasks.senteval import FAST, TransferSettings, find_transfer, score_transfer

    chosen, tag = resolve(models, runs, "")
    tasks, left_out = find_transfer(folders(data), names)
    for name, reason in left_out.items():
        note(f"left out: {name}: {reason}")
    if not tasks:
        raise TaskError("no transfer task found", hint="--data names a folder in SentEval's layout")
    settings = FAST if fast else TransferSettings(classifier=classifier)

    def work(system: TextEncoder, progress: Callable[[int, int], None]) -> list[Score]:
        return score_transfer(system, tasks, settings, progress=progress, on_task=lambda name: note(f"fitting {name}"))

    scores = each_model(chosen, tag, work)
    if as_json:
        emit(as_record(scores))
    else:
        some = next(iter(scores.values()))
        rows = [[name, found[0].protocol, *map(figure, found)] for name, found in scores.items()]
        table(["model", "protocol", *(s.task for s in some)], rows, title="Accuracy x100", left=2)
    check(scores, expect)


@eval_command.command("isotropy", help="Measure how evenly sentence vectors fill their space.\n\n" + MODELS_HELP)
@models_argument
@store_option
@lang_option
@click.option(
    "--corpus",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file with a sentence a line; by default the store's definitions.",
)
@click.option("--limit", type=click.IntRange(min=2), default=20_000, show_default=True, help="At most so many texts.")
@expect_option
@runs_option
@json_option
def isotropy_command(
    models: tuple[str, ...],
    store: Path,
    language: str,
    corpus: Path | None,
    limit: int,
    expect: Path | None,
    runs: Path,
    as_json: bool,
) -> None:
    """Measure isotropy."""
    from dictsent.errors import TaskError
    from dictsent.tasks.embedding import embed
    from dictsent.tasks.isotropy import isotropy, isotropy_scores

    chosen, tag = resolve(models, runs, language)
    texts = read_corpus(corpus, store, tag, limit=limit)

    def work(system: TextEncoder, progress: Callable[[int, int], None]) -> list[Score]:
        vectors = embed(system, texts, progress).vectors
        if hasattr(vectors, "tocsr"):
            raise TaskError("isotropy needs dense vectors, tf-idf's are sparse", hint="compare systems with --overlap")
        return isotropy_scores(isotropy(vectors), language=tag, n=len(vectors), variant="sentences")

    scores = each_model(chosen, tag, work)
    if as_json:
        emit(as_record(scores))
    else:
        some = next(iter(scores.values()))
        rows = [[name, *(f"{s.value:.4f}" for s in found)] for name, found in scores.items()]
        table(["model", *(s.metric for s in some)], rows, title=f"Isotropy of {some[0].n:,} vectors")
        note("average cosine: 0 is isotropic; IsoScore: 1 is; effective rank: directions in use")
    check(scores, expect)


@eval_command.command("exposure")
@data_option
@store_option
@lang_option
@click.option("--set", "names", multiple=True, metavar="NAME", help="Only this set; may be repeated.")
@click.option("--exact", is_flag=True, help="Do not look for near matches.")
@json_option
def exposure_command(
    data: Path | None, store: Path, language: str, names: tuple[str, ...], exact: bool, as_json: bool
) -> None:
    """Count the test sentences that stand in the store as definitions."""
    from dictsent.evaluate import available
    from dictsent.languages import find_language
    from dictsent.store import Store
    from dictsent.tasks.data import Choice
    from dictsent.tasks.exposure import NEAR, NORMALISATION, audit

    tag = find_language(language) if language else "en"
    sets, left_out = available(Choice(languages=() if names else (tag,), names=names), folders(data))
    say_left_out(left_out)
    with Store(store) as opened:
        opened.require(tag)
        found = audit(sets, (row.text for row in opened.definitions(tag)), near=not exact)
    total = sum(row.exact for row in found)
    if as_json:
        emit({"normalisation": NORMALISATION, "near": NEAR, "exact": total, "sets": [row.to_json() for row in found]})
        return
    rows = [(r.task, r.language, f"{r.pairs:,}", f"{r.exact:,}", r.near, r.examples[0] if r.examples else "")
            for r in found if r.exact or r.near]  # fmt: skip
    table(["set", "language", "pairs", "exposed", "nearly", "for example"], rows, left=2)
    note(f"{total:,} of {sum(r.pairs for r in found):,} pairs hold a sentence that is a definition of the store")
    note(f"({NORMALISATION}; nearly: {NEAR:.0%} of the words in common)")


@eval_command.command("fetch")
@lang_option
@click.option("--set", "names", multiple=True, metavar="NAME", help="Only this set; may be repeated.")
@click.option(
    "--protocol", type=click.Choice(["paper", "mteb"]), default="mteb", show_default=True, help="Whose choice of sets."
)
@click.option("--revision", default="", help="On the hub, with one --set; by default what mteb scores.")
def fetch_command(language: str, names: tuple[str, ...], protocol: str, revision: str) -> None:
    """Fetch similarity sets from the hub into the cache, where `eval sts` finds them."""
    from dictsent.errors import TaskError
    from dictsent.languages import find_language
    from dictsent.tasks.data import Choice, choose
    from dictsent.tasks.hub import fetch

    tags = (find_language(language),) if language else () if names else ("en",)
    rows = [row for row in choose(Choice(protocol=protocol, languages=tags, names=names)) if row.hub]
    failed = []
    for row in rows:
        try:
            files = fetch(row, cache_folder(), revision=revision)
            note(f"{row.label}: {', '.join(str(path) for path in files)}; licence: {row.licence}")
        except TaskError as error:
            failed.append(row.label)
            note(f"{row.label}: {error}")
    if failed or not rows:
        raise TaskError(
            f"{len(failed)} of {len(rows)} sets could not be fetched" if rows else "the hub holds no such set",
            hint="what was fetched is kept" if len(failed) < len(rows) else "--data names a folder of sets",
        )
