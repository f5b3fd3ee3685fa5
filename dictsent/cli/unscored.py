"""`eval glosses`, `eval language`: figures for languages that have no similarity set.

Before: dictsent.tasks.glosses, unscored. After: a table or JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dictsent.cli.compared import each_model, resolve
from dictsent.cli.evaluation import (
    MODELS_HELP,
    as_record,
    check,
    eval_command,
    expect_option,
    figure,
    lang_option,
    models_argument,
    ranked,
)
from dictsent.cli.options import json_option, runs_option, store_option
from dictsent.cli.show import emit, note, table, working

if TYPE_CHECKING:
    from dictsent.store import Store
    from dictsent.tasks.embedding import TextEncoder
    from dictsent.tasks.glosses import GlossPairs
    from dictsent.tasks.neighbours import Ids
    from dictsent.tasks.scores import Score
    from dictsent.tasks.unscored import Material

with_option = click.option(
    "--with", "others", multiple=True, metavar="LANG", help="Only with this other language; may be repeated."
)
concepts_option = click.option(
    "--concepts",
    type=click.IntRange(min=20),
    default=2000,
    show_default=True,
    help="At most so many concepts of a pair of languages: with equal numbers, figures compare.",
)


@eval_command.command(
    "glosses",
    help="Find the definition of the same concept in another language (interlingual ids).\n\n" + MODELS_HELP,
)
@models_argument
@store_option
@lang_option
@with_option
@concepts_option
@expect_option
@runs_option
@json_option
def glosses_command(
    models: tuple[str, ...],
    store: Path,
    language: str,
    others: tuple[str, ...],
    concepts: int,
    expect: Path | None,
    runs: Path,
    as_json: bool,
) -> None:
    """Retrieve definitions across languages."""
    from dictsent.store import Store
    from dictsent.tasks.glosses import gloss_scores

    chosen, tag = resolve(models, runs, language)
    with Store(store) as opened:
        pairs = shared_glosses(opened, tag, others, concepts)

    def work(system: TextEncoder, progress: Callable[[int, int], None]) -> list[Score]:
        return [score for one in pairs for score in gloss_scores(system, one, progress=progress)]

    scores = each_model(chosen, tag, work)
    if as_json:
        emit(as_record(scores))
    else:
        show_glosses(scores)
    check(scores, expect)


def shared_glosses(store: Store, language: str, others: Sequence[str], most: int) -> list[GlossPairs]:
    """The language's definitions beside those of every other, or each named, language. Raises TaskError for none."""
    from dictsent.errors import TaskError
    from dictsent.languages import find_language
    from dictsent.tasks.glosses import first_glosses, pair_glosses

    held = store.concepts()
    wanted = [find_language(name) for name in others] or [tag for tag in held if tag != language]
    own = first_glosses(store.glosses(language))
    found = []
    for other in wanted:
        try:
            theirs = first_glosses(store.glosses(other))
            found.append(pair_glosses(own, theirs, languages=(language, other), most=most))
        except TaskError as error:
            if others:
                raise
            note(f"left out: {other}: {error.what}")
    if not found:
        said = ", ".join(f"{tag} ({n:,} concepts)" for tag, n in held.items()) or "none"
        raise TaskError(
            f"no other language shares interlingual ids with {language}",
            where=str(store.path),
            hint=f"languages with such ids: {said}; ingest wordnets (omw, WN-LMF, Princeton's files)",
        )
    return found


def show_glosses(scores: dict[str, list[Score]]) -> None:
    """A row a model and direction."""
    rows = []
    for name, found in scores.items():
        for language in dict.fromkeys(score.language for score in found):
            mine = {score.metric: score for score in found if score.language == language}
            low = mine["mrr"].chance
            rows.append([name, language, f"{mine['mrr'].n:,}", *map(figure, mine.values()), f"{low:.4f}"])
    columns = ["model", "from-to", "n", "mrr", "top1", "top10", "mrr by chance"]
    table(columns, rows, title="Gloss retrieval: the definition of the same concept among n", left=2)
    for message in dict.fromkeys(score.note for found in scores.values() for score in found):
        note(message)
    note("definitions that a model was trained on count too")


@eval_command.command(
    "language", help="What can be said of an encoder in a language without similarity sets.\n\n" + MODELS_HELP
)
@models_argument
@store_option
@lang_option
@click.option(
    "--reference",
    "references",
    multiple=True,
    metavar="MODEL",
    help="Whose neighbours to compare with, best a multilingual encoder; may be repeated.  [default: tfidf]",
)
@with_option
@concepts_option
@click.option("--limit", type=click.IntRange(min=1), help="At most this many definitions of the store, whole entries.")
@expect_option
@runs_option
@json_option
def language_command(models: tuple[str, ...], runs: Path, language: str, as_json: bool, **options: Any) -> None:
    """Measure without people's scores."""
    from dictsent.tasks.systems import check_name, load_system
    from dictsent.tasks.unscored import reference_neighbours, unscored

    chosen, tag = resolve(models, runs, language)
    references = options["references"] or ("tfidf",)
    for name in references:
        check_name(name)
    material = gather(options["store"], tag, options["others"], concepts=options["concepts"], limit=options["limit"])
    found: dict[str, Ids] = {}
    for name in references:
        with working(f"embedding with {name}") as bar:
            found[name] = reference_neighbours(load_system(name, language=tag), material, bar.update)

    def work(system: TextEncoder, progress: Callable[[int, int], None]) -> list[Score]:
        return unscored(system, material, found, progress=progress)

    scores = each_model(chosen, tag, work)
    if as_json:
        emit(as_record(scores) | {"figures": explained(scores)})
    else:
        show_language(scores, tag)
    check(scores, options["expect"])


def gather(store: Path, language: str, others: Sequence[str], *, concepts: int, limit: int | None) -> Material:
    """Everything that the language's part of the store has to offer; what it lacks is said."""
    from dictsent.errors import TaskError
    from dictsent.pairs import PairSettings, select
    from dictsent.store import Store
    from dictsent.tasks.unscored import Material, corpus_queries

    with Store(store) as opened:
        pairs = select(opened, PairSettings(language=language, limit=limit))
        try:
            glosses = shared_glosses(opened, language, others, concepts)
        except TaskError as error:
            if others:
                raise
            glosses = []
            note(f"no gloss retrieval: {error}")
    corpus = list(dict.fromkeys(pair.definition for pair in pairs.all()))
    queried, k = corpus_queries(len(corpus), k=50)
    return Material(
        language=language,
        split="test",
        queries=pairs.test,
        entries=pairs.all(),
        glosses=glosses,
        corpus=corpus,
        queried=queried,
        k=k,
        ranked=ranked("entries", limit),
    )


def explained(scores: dict[str, list[Score]]) -> list[dict[str, Any]]:
    """The table as records: measure, language, what each model got (None where it has none), chance and meaning."""
    from dictsent.tasks.unscored import SHOWN, meaning

    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for kind in SHOWN:
        for name, found in scores.items():
            for score in found:
                if (score.task, score.metric) == kind:
                    key = (score.task, score.metric, score.language, score.variant)
                    row = dict(zip(("task", "metric", "language", "variant"), key, strict=True))
                    more = {"n": score.n, "chance": score.chance, "meaning": meaning(*kind)}
                    rows.setdefault(key, row | more | {"values": dict.fromkeys(scores)})["values"][name] = score.value
    return list(rows.values())


def show_language(scores: dict[str, list[Score]], language: str) -> None:
    """A row a figure, then what each kind of figure means."""
    from dictsent.languages import display_name

    found = explained(scores)
    rows = []
    for row in found:
        facts = [row[key] for key in ("task", "metric", "language", "variant")]
        rows.append([*facts, f"{row['n']:,}", *map(_four, row["values"].values()), _four(row["chance"], blank="")])
    columns = ["measure", "metric", "language", "of", "n", *scores, "by chance"]
    table(columns, rows, title=f"{display_name(language)}: figures that need no annotated data", left=4)
    for message in dict.fromkeys(f"{row['task']} {row['metric']}: {row['meaning']}" for row in found):
        note(message)
    for message in dict.fromkeys(f"{s.task}: {s.note}" for rows in scores.values() for s in rows if s.note):
        note(message)


def _four(value: float | None, blank: str = "-") -> str:
    return blank if value is None else f"{value:.4f}"
