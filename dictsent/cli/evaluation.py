"""`eval`, `compare`, `report`: how good an encoder is, and against what.

Before: dictsent.evaluate, dictsent.tasks. After: a table, JSON or a report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dictsent.cli.compared import each_model, folders, read_corpus, resolve, say_left_out
from dictsent.cli.options import data_option, json_option, runs_option, store_option
from dictsent.cli.show import emit, note, table

if TYPE_CHECKING:
    from dictsent.evaluate import Seeded
    from dictsent.tasks.data import Choice
    from dictsent.tasks.embedding import TextEncoder
    from dictsent.tasks.readers import SentencePairs
    from dictsent.tasks.scores import Score

MODELS_HELP = """MODEL is a model folder, a sentence-transformers hub name, tfidf, avg-embeddings:FOLDER, cls:FOLDER,
mean:FOLDER, last:FOLDER, a file of word vectors, a .npy matrix beside its .txt, or python:module.function; several
stand in one table. Without one, the newest finished run is scored."""

models_argument = click.argument("models", metavar="[MODEL]...", nargs=-1)
lang_option = click.option("--lang", "language", default="", help="Language of the texts (tag or name).")
expect_option = click.option(
    "--expect",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help='Exit 1 where a score falls below its bound: TOML lines such as "STS-B" = 70.0 or "words mrr" = [0.05, 1.0].',
)


@click.group("eval", invoke_without_command=True)
@click.pass_context
def eval_command(ctx: click.Context) -> None:
    """Score an encoder: sentence similarity (also without a word), word prediction, transfer, isotropy."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(sts_command)


@eval_command.command("sts", help="Score sentence similarity (Spearman x100 of the cosine).\n\n" + MODELS_HELP)
@models_argument
@data_option
@lang_option
@click.option(
    "--protocol",
    type=click.Choice(["paper", "mteb"]),
    default="paper",
    show_default=True,
    help="SICK-R: 4,927 pairs of the test file (paper) or all 9,927 (mteb).",
)
@click.option("--text", "variant", default="", help="Only this kind of text: raw, senteval, aws, deepl.")
@click.option("--set", "names", multiple=True, metavar="NAME", help="Only this set; may be repeated.")
@click.option("--split", default="", help="train, dev or test; by default what each set is reported on.")
@click.option(
    "--pairs",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file of your own: score, sentence 1, sentence 2; may be repeated.",
)
@click.option("--detail", is_flag=True, help="Also subsets, their mean and weighted mean, and Pearson.")
@click.option("--intervals", is_flag=True, help="95 % bootstrap intervals (1,000 resamples).")
@click.option("--seeds", is_flag=True, help="The MODELs are seeds of one system: also mean and standard deviation.")
@click.option(
    "--without-exposed",
    "store",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="STORE",
    help="Also scores without the pairs that stand in this store as definitions.",
)
@expect_option
@runs_option
@json_option
def sts_command(
    models: tuple[str, ...],
    data: Path | None,
    language: str,
    protocol: str,
    variant: str,
    names: tuple[str, ...],
    split: str,
    files: tuple[Path, ...],
    detail: bool,
    intervals: bool,
    seeds: bool,
    store: Path | None,
    expect: Path | None,
    runs: Path,
    as_json: bool,
) -> None:
    """Score sentence similarity."""
    from dictsent.evaluate import evaluate, evaluate_unexposed, over_seeds
    from dictsent.tasks.data import Choice
    from dictsent.tasks.sts import Scoring

    chosen, tag = resolve(models, runs, language)
    languages = (tag,) if tag and not names else ()
    choice = Choice(protocol=protocol, languages=languages, names=names, variant=variant, split=split)
    sets = sets_to_score(choice, data, files, tag)
    scoring = Scoring(protocol=protocol, detail=detail, resamples=1000 if intervals else 0)
    texts = frozenset(read_corpus(None, store, tag)) if store else frozenset()

    def work(system: TextEncoder, progress: Callable[[int, int], None]) -> list[Score]:
        if texts:
            return evaluate_unexposed(system, sets, texts, scoring=scoring, progress=progress)
        return evaluate(system, sets, scoring=scoring, progress=progress)

    scores = each_model(chosen, tag, work)
    seeded = over_seeds(list(scores.values())) if seeds else []
    if as_json:
        emit(as_record(scores) | ({"seeds": [row.to_json() for row in seeded]} if seeds else {}))
    else:
        show_sts(scores)
        if seeds:
            show_seeds(seeded)
    check(scores, expect)


def sets_to_score(choice: Choice, data: Path | None, files: Sequence[Path], language: str) -> list[SentencePairs]:
    """The user's own files and the chosen sets that are there. Raises TaskError where there is none at all."""
    from dictsent.errors import TaskError
    from dictsent.evaluate import available
    from dictsent.languages import display_name
    from dictsent.tasks.data import speaks
    from dictsent.tasks.own import own_pairs

    sets = [own_pairs(path, language=language or "und") for path in files]
    if choice.names or not files:
        found, left_out = available(choice, folders(data))
        sets += found
        for row in (pairs.copy.set for pairs in found if language and not speaks(pairs.copy.set, (language,))):
            tongues = " and ".join(display_name(tag) for tag in (row.language, row.second_language) if tag)
            note(f"{row.label} is in {tongues}, the model or --lang says {display_name(language)}")
        say_left_out(left_out)
    if not sets:
        raise TaskError(
            f"there is no similarity set for {display_name(language)} here",
            hint="`dictsent eval language` says what can be said without one: word prediction, gloss retrieval, "
            "neighbours shared with a reference (also eval words, eval glosses, compare --overlap); or --pairs FILE",
        )
    return sets


def show_seeds(seeded: Sequence[Seeded]) -> None:
    """Mean and standard deviation a set, as the papers print them."""
    rows = [
        (row.score.task, row.score.language, row.score.variant, row.score.metric, row.runs, row.printed)
        for row in seeded
    ]
    columns = ["set", "language", "text", "metric", "seeds", "mean ± deviation"]
    table(columns, rows, left=4, title="The models taken as seeds of one system")


def as_record(scores: dict[str, list[Score]]) -> dict[str, Any]:
    """The JSON object: `model` and `scores` of the first, `models` for all where there are several."""
    models = [{"model": name, "scores": [score.to_json() for score in rows]} for name, rows in scores.items()]
    notes = list(dict.fromkeys(f"{s.task}: {s.note}" for rows in scores.values() for s in rows if s.note))
    record: dict[str, Any] = {**models[0], "notes": notes}
    return record | {"models": models} if len(models) > 1 else record


def show_sts(scores: dict[str, list[Score]]) -> None:
    """The papers' table where there is one of the seven sets, then the others, a row a set."""
    from dictsent.evaluate import main_scores, paper_row
    from dictsent.tasks.data import SEVEN
    from dictsent.tasks.sts import AVERAGE, UNEXPOSED

    some = next(iter(scores.values()))
    english = [score for score in main_scores(some) if score.task in (*SEVEN, AVERAGE) and score.language == "en"]
    if english:
        kinds = "; ".join(dict.fromkeys(f"{s.variant} text" for s in english if s.task != "SICK-R" and s.variant))
        columns = [name for name in paper_row(some) if any(score.task == name for score in english)]
        rows = [row for name, found in scores.items() for row in paper_rows(name, found, columns)]
        title = f"Spearman x100, all pairs of a set together ({english[0].protocol} protocol, {kinds or 'raw text'})"
        table(["model", *columns], rows, title=title)
    show_rows(scores, skip={id(s) for s in some if s in english or s.variant.endswith(UNEXPOSED)})
    for message in dict.fromkeys(f"{s.task}: {s.note}" for rows in scores.values() for s in rows if s.note):
        note(message)


def paper_rows(name: str, scores: Sequence[Score], columns: Sequence[str]) -> list[list[str]]:
    """A model's row, and a second one without the pairs that hold WordNet glosses where it has such."""
    from dictsent.evaluate import main_scores
    from dictsent.tasks.sts import UNEXPOSED

    whole = {score.task: score for score in main_scores(scores) if score.language == "en"}
    unexposed = {s.task: s for s in scores if s.variant.endswith(UNEXPOSED) and "/" not in s.task}
    rows = [[name, *(figure(whole.get(column)) for column in columns)]]
    if any(score.value is not None for score in unexposed.values()):
        rows.append(["  without exposed pairs", *(figure(unexposed.get(column), blank="") for column in columns)])
    return rows


def show_rows(scores: dict[str, list[Score]], skip: set[int]) -> None:
    """Every figure that the papers' table does not show, a row each, models side by side."""
    some = next(iter(scores.values()))
    rows = []
    for number, score in enumerate(some):
        if id(score) in skip:
            continue
        name = f"{score.task} (smoke set)" if score.protocol == "smoke" else score.task
        facts = [name, score.language, score.split, score.variant, score.metric, f"{score.n:,}"]
        rows.append([*facts, *(figure(found[number]) for found in scores.values())])
    if rows:
        table(["set", "language", "split", "text", "metric", "n", *scores], rows, left=5)


def figure(score: Score | None, blank: str = "-") -> str:
    """Two decimals for correlations, four for proportions, with the interval where there is one."""
    if score is None or score.value is None:
        return blank
    digits = 4 if score.metric.startswith(("mrr", "top")) else 2
    text = f"{score.value:.{digits}f}"
    return f"{text} [{score.interval[0]:.{digits}f}, {score.interval[1]:.{digits}f}]" if score.interval else text


def check(scores: dict[str, list[Score]], expect: Path | None) -> None:
    """Raise ExpectationError where a model's score is outside what a file expects."""
    if expect is None:
        return
    from dictsent.evaluate import check_expected, read_expected

    expected = read_expected(expect)
    for name, rows in scores.items():
        check_expected(rows, expected, where=name)
    note(f"all {len(expected)} expected scores are met")


@eval_command.command("words", help="Predict headwords from held-out definitions.\n\n" + MODELS_HELP)
@models_argument
@store_option
@lang_option
@click.option(
    "--split", type=click.Choice(["dev", "test"]), default="test", show_default=True, help="Whose words are asked for."
)
@click.option("--limit", type=click.IntRange(min=1), help="At most this many definitions of the store, whole entries.")
@click.option("--filtered", is_flag=True, help="Synonyms with the same definition count as right answers.")
@expect_option
@runs_option
@json_option
def words_command(
    models: tuple[str, ...],
    store: Path,
    language: str,
    split: str,
    limit: int | None,
    filtered: bool,
    expect: Path | None,
    runs: Path,
    as_json: bool,
) -> None:
    """Predict headwords."""
    from dictsent.model import Model
    from dictsent.pairs import PairSettings, select
    from dictsent.store import Store
    from dictsent.tasks.prediction import own_ranking
    from dictsent.tasks.words import entry_scores, word_scores

    chosen, tag = resolve(models, runs, language)
    with Store(store) as opened:
        pairs = select(opened, PairSettings(language=tag, limit=limit))
    queries = pairs.test if split == "test" else pairs.dev
    variant = ranked("entries-filtered" if filtered else "entries", limit)

    def work(system: TextEncoder, progress: Callable[[int, int], None]) -> list[Score]:
        ranking = entry_scores(system, queries, pairs.all(), filtered=filtered, progress=progress)
        found = word_scores(ranking, language=tag, split=split, variant=variant)
        if isinstance(system, Model) and system.method:
            own, path = own_ranking(system, queries, split)
            found += word_scores(own, language=tag, split=split, variant=path)
        return found

    scores = each_model(chosen, tag, work)
    if as_json:
        emit(as_record(scores))
    else:
        show_words(scores)
    check(scores, expect)


def ranked(candidates: str, limit: int | None) -> str:
    """The variant of word prediction: a limited store has fewer candidates, so its figures are others."""
    return f"{candidates}, limit {limit}" if limit else candidates


def show_words(scores: dict[str, list[Score]]) -> None:
    """The DefSent paper's Table 2: a row a model."""
    from dictsent.tasks.words import METRICS

    some = next(iter(scores.values()))
    rows: list[list[str]] = []
    notes: dict[str, None] = {}
    for name, found in scores.items():
        for path in dict.fromkeys(score.variant for score in found):
            row = [score for score in found if score.variant == path]
            rows.append([name, path, f"{row[0].n:,}", *map(figure, row)])
            notes[f"{path}: {row[0].note}"] = None
    table(
        ["model", "ranked", "n", *METRICS],
        rows,
        title=f"Word prediction, {some[0].language}, {some[0].split} split",
        left=2,
    )
    for message in notes:
        note(message)
    note("entries: by cosine with mean definition vectors; pooler, vocabulary: as the model was trained to predict")


@eval_command.command("list")
@data_option
@lang_option
@click.option(
    "--protocol", type=click.Choice(["paper", "mteb"]), default="paper", show_default=True, help="Whose choice of sets."
)
@json_option
def list_command(data: Path | None, language: str, protocol: str, as_json: bool) -> None:
    """List the sentence similarity sets, and which are there."""
    from dictsent.languages import find_language
    from dictsent.tasks.data import Choice, choose, find

    choice = Choice(protocol=protocol, languages=(find_language(language),) if language else ())
    copies, left_out = find(choice, folders(data))
    there = {(c.set.name, c.set.language): c for c in copies}
    reasons = {(row.set.name, row.set.language): row.reason for row in left_out}
    rows = []
    for row in choose(choice):
        key = (row.name, row.language)
        copy = there.get(key)
        state = (f"found {copy.variant}".strip() if copy else reasons.get(key, "")) + (
            f", lacks {', '.join(copy.missing)}" if copy and copy.missing else ""
        )
        pairs = "/".join(f"{split} {n:,}" for split, n in row.pairs.items())
        rows.append((row.name, row.language, pairs, row.origin, row.licence, state))
    columns = ["set", "language", "pairs", "origin", "licence", "state"]
    if not rows:
        note("there is no similarity set for this language: see `dictsent eval language`")
    if as_json:
        emit({"sets": [dict(zip(columns, row, strict=True)) for row in rows]})
    elif rows:
        table(columns, rows, left=6)
