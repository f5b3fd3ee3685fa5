"""`dictsent train`.

Before: a store. After: a model folder.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from dictsent.cli.events import events_option, events_to
from dictsent.cli.options import json_option, runs_option, sets_option, store_option
from dictsent.cli.processes import together
from dictsent.cli.show import emit, note, working
from dictsent.cli.stopping import stopping
from dictsent.cli.trained import show_points, show_steps
from dictsent.errors import LanguageError, TaskError, TrainingError
from dictsent.languages import find_language
from dictsent.settings import EntryKind, Isotropy, Method, OutOfVocabulary, PoolerKind, Pooling, Precision, words


def _numbers(_: click.Context, __: click.Parameter, value: str | None) -> tuple[float, ...] | None:
    if value is None:
        return None
    try:
        return tuple(float(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter("give numbers with commas between them, e.g. 5e-5,4e-5,3e-5") from None


def _seeds(_: click.Context, __: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """0-9, 1,3,5 or a mixture."""
    if value is None:
        return None
    found: list[int] = []
    try:
        for part in value.split(","):
            first, dash, last = part.partition("-")
            found += range(int(first), int(last) + 1) if dash else [int(first)]
    except ValueError:
        raise click.BadParameter("give seeds such as 0-9 or 1,3,5") from None
    if not found or len(set(found)) < len(found):
        raise click.BadParameter("no seed may come twice, and one is the least")
    return tuple(found)


def _grid(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> dict[str, list[Any]]:
    from dictsent.recipe.grid import read_grid

    return read_grid(texts)


@click.command(
    "train",
    epilog="Examples: dictsent train --lang ja --method defsent-plus --pst 3 · dictsent train --method defsent "
    "--encoder bert-base-uncased --pooling cls · dictsent train --encoder scratch:static · dictsent train --seeds 0-9 "
    "--grid lr=5e-5/4e-5/3e-5,3e-5 --grid isotropy=none,ica · dictsent train --lang ja,en,de --temperature 1.43",
)
@click.option(
    "--lang",
    "language",
    default="",
    metavar="TAG[,TAG...]",
    help="The language, a tag or name; may be left out where the store has one. Several train one encoder: ja,en,de.",
)
@click.option("--method", type=click.Choice(words(Method)), help="[default: defsent-plus]")
@click.option(
    "--encoder", help="Folder, hub name, scratch or scratch:static. [default: xlm-roberta-base, else scratch]"
)
@click.option("--no-fallback", is_flag=True, help="Fail where the default encoder cannot be had.")
@click.option("--pst", type=click.IntRange(min=1), help="Steps of Progressive Separate Training. [default: 3]")
@click.option("--pooling", type=click.Choice(words(Pooling)), help="Of sentences. [default: the encoder's, else mean]")
@click.option(
    "--entries", type=click.Choice(words(EntryKind)), help="Of definitions in entry rows. [default: as --pooling]"
)
@click.option(
    "--isotropy", type=click.Choice(words(Isotropy)), help="For the last step's entry matrix. [default: none]"
)
@click.option(
    "--pooler", type=click.Choice(words(PoolerKind)), help="What stands before the entry matrix. [default: auto]"
)
@click.option("--learning-rate", "learning_rates", callback=_numbers, help="One, or one a step: 5e-5,4e-5,3e-5.")
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    help="Of all processes together. [default: 16 for DefSent, 32 for DefSent+]",
)
@click.option(
    "--oov",
    type=click.Choice(words(OutOfVocabulary)),
    help="DefSent: headwords of several tokens; mean: of their tokens. [default: leave]",
)
@click.option(
    "--precision",
    type=click.Choice(words(Precision)),
    help="Of the arithmetic. [default: auto, bf16 on a GPU that has it, float32 elsewhere]",
)
@click.option(
    "--trainer",
    multiple=True,
    metavar="KEY=VALUE",
    help="A further argument of transformers.Trainer, such as gradient_accumulation_steps=2; several times.",
)
@click.option("--epochs", type=click.IntRange(min=1), help="[default: 1]")
@click.option("--merge-synonyms", is_flag=True, default=None, help="Entries with the same definitions share a row.")
@click.option(
    "--split", type=click.Choice(["hash", "none"]), default="hash", show_default=True, help="8:1:1 by headword, or all."
)
@click.option("--limit", type=click.IntRange(min=1), help="At most this many definitions, whole entries by hash.")
@click.option("--merge-case", is_flag=True, help="Polish and polish are one entry.")
@click.option("--form-of", is_flag=True, help="Keep senses such as “plural of dog”.")
@click.option("--translations", is_flag=True, help="Keep definitions in other languages.")
@click.option("--references", is_flag=True, help="Keep definitions that only point to another word (“See dog”).")
@click.option("--html", is_flag=True, help="Keep HTML tags and entities in definitions.")
@click.option("--labels/--no-labels", default=True, show_default=True, help="Labels in brackets before the text.")
@click.option("--circular/--no-circular", default=True, show_default=True, help="Definitions that hold their headword.")
@click.option("--shortest", type=click.IntRange(min=0), default=0, help="Characters a definition has at least.")
@click.option(
    "--longest", type=click.IntRange(min=0), default=0, help="Characters a definition has at most. [default: any]"
)
@click.option(
    "--near",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="0.9",
    help="Of an entry's definitions that are as similar as this, only the best. [default: all]",
)
@click.option(
    "--variants/--no-variants",
    default=True,
    show_default=True,
    help="The same definition under all spellings of a word.",
)
@click.option(
    "--dedup",
    type=click.Choice(["exact", "paper"]),
    default="exact",
    show_default=True,
    help="paper: entries that differ in case only are one, as for DefSent+.",
)
@click.option(
    "--prefer", multiple=True, metavar="SOURCE", help="With --near: the source whose wording wins; the first, the best."
)
@click.option(
    "--licence-allow",
    "licences",
    multiple=True,
    metavar="NAME",
    help="Only definitions under this licence, such as CC-BY-SA-4.0; may be given several times.",
)
@click.option(
    "--exclude-exposed",
    type=click.Choice(["sts"]),
    help="Leave out definitions that stand as sentences in the STS sets below --sets.",
)
@click.option(
    "--temperature",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    show_default=True,
    help="With several languages: above 1 small ones are sampled more (1.43 is multilingual BERT's).",
)
@click.option("--seed", type=int, help="Of every random choice. [default: 0]")
@click.option(
    "--seeds",
    callback=_seeds,
    metavar="0-9",
    help="Train with each, step by step; the best by the dev criterion builds the next step's entries.",
)
@click.option(
    "--grid",
    multiple=True,
    callback=_grid,
    metavar="NAME=VALUE,VALUE",
    help="Try each value, choose by the dev criterion: lr (a/b/c for steps), combination (cls-amp), isotropy, pooler,"
    " batch_size, ... Several make all combinations.",
)
@click.option(
    "--criterion",
    type=click.Choice(["words", "sts"]),
    help="What chooses among seeds and settings: word prediction on dev headwords, or STS-B dev."
    " [default: words; sts with --split none]",
)
@click.option("--out", type=click.Path(path_type=Path), help="The model folder. [default: RUNS/<lang>-<method>-<n>]")
@click.option(
    "--resume",
    is_flag=False,
    flag_value="",
    metavar="[RUN]",
    help="Go on with an unfinished run. [default: the newest]",
)
@click.option(
    "--checkpoint-minutes",
    "minutes",
    type=click.FloatRange(min=0),
    default=10.0,
    show_default=True,
    help="Time between checkpoints.",
)
@runs_option
@store_option
@click.option(
    "--data",
    metavar="PATH|NAME",
    help="Train on this in place of a store: what `dictsent export` wrote or `ingest` reads, or a data set of the hub,"
    " owner/name or owner/name:configuration.",
)
@sets_option
@json_option
@events_option
@click.pass_context
@together
def train_command(
    ctx: click.Context,
    /,
    resume: str | None,
    runs: Path,
    store: Path,
    sets: Path | None,
    as_json: bool,
    events: str | None,
    **asked: Any,
) -> None:
    """Train a sentence encoder on the store's definitions.

    Ctrl-C and SIGTERM save what there is; `--resume` goes on with it, to the very same weights on a CPU. Several
    processes: torchrun --nproc-per-node 2 -m dictsent train ..., or accelerate launch -m dictsent train ...
    """
    from dictsent import ranks
    from dictsent.checkpoints import TrainingStopped
    from dictsent.licences import allowed_licences
    from dictsent.store import Store

    if resume is not None:
        given = asked
        asked = ranks.first(lambda: _resumed(ctx, resume, runs, given))
    path = _store_of(asked, store, runs)
    with ExitStack() as held:
        with ranks.together():
            opened = held.enter_context(Store(path))
            asked["language"] = _languages(asked["language"], opened)
            tags = asked["language"].split(",")
            opened.require_sources(asked.get("prefer", ()))
            plan = _plan(asked, runs, resume=resume is not None)
            if plan.pairs.licences:
                opened.require(*tags)
                allowed = allowed_licences({s for t in tags for s in opened.licences(t)}, plan.pairs.licences)
                plan = replace(plan, pairs=replace(plan.pairs, licences=allowed))
            if asked.get("exclude_exposed"):
                plan = replace(plan, exclude=frozenset().union(*(_exposed(tag, sets) for tag in tags)))
            scorer = _dev_scorer(plan, sets)
        told = held.enter_context(events_to(events, as_json=as_json, first=ranks.rank() == 0))
        with working("training") as bar, stopping() as stopped_by:
            from dictsent.recipe.protocol import run_training
            from dictsent.recipe.training import Watch

            told.start(plan)
            watch = told.watch(Watch(note, bar.update, stop=stopped_by.stop))
            try:
                outcome = run_training(opened, plan, watch, dev_scorer=scorer)
            except TrainingStopped as stopped:
                note(f"{stopped.what}; it is saved, `dictsent train --resume` goes on")
                ctx.exit(128 + stopped_by.signal)
            told.finish(outcome)
    best = outcome.best
    if as_json:
        more = {"protocol_summary": outcome.summary} if outcome.summary else {}
        emit({"run": str(best.folder), **best.record, **more})
        return
    show_points(outcome.summary)
    show_steps(best.record)
    click.echo(f"Model: {best.folder}")


def _store_of(asked: dict[str, Any], store: Path, runs: Path) -> Path:
    """The store's file, or that of a store made of --data."""
    if not asked.get("data"):
        return store
    from dictsent.runs import CACHE
    from dictsent.table import table_store

    one = asked["language"] and "," not in asked["language"]
    language = find_language(asked["language"]) if one else ""
    return table_store(asked["data"], runs / CACHE, language=language, notify=note)


_OF_PLAN = ("encoder", "method", "out", "minutes", "grid", "temperature")
_OF_HERE = ("data", "no_fallback", "exclude_exposed", "seed", "seeds", "criterion")


def _tupled(value: Any) -> Any:
    """JSON, from which a training is resumed, has lists where settings have tuples."""
    return tuple(value) if isinstance(value, list) else value


def _plan(asked: dict[str, Any], runs: Path, *, resume: bool) -> Any:
    """The plan of the options; those that are neither of pairs nor of the plan are TrainSettings' own."""
    from dictsent.pairs import PairSettings
    from dictsent.recipe.training import Plan

    of_pairs = [f.name for f in fields(PairSettings)]
    rest = {key: value for key, value in asked.items() if key not in (*of_pairs, *_OF_PLAN, *_OF_HERE)}
    if asked.get("seed") is not None and asked.get("seeds"):
        raise TrainingError("--seed and --seeds say the same thing twice", hint="leave one out")
    tags = tuple(asked["language"].split(","))
    of_first = {**asked, "language": tags[0]}
    return Plan(
        pairs=PairSettings(**{key: _tupled(of_first[key]) for key in of_pairs if key in asked}),
        languages=tags if len(tags) > 1 else (),
        seeds=tuple(asked.get("seeds") or (asked.get("seed") or 0,)),
        criterion=asked.get("criterion") or "",
        runs=runs,
        told={key: _tupled(value) for key, value in rest.items() if value is not None},
        fallback=not asked["no_fallback"],
        asked={key: str(value) if isinstance(value, Path) else value for key, value in asked.items()},
        resume=resume,
        **{key: asked[key] for key in _OF_PLAN if key in asked},
    )


def _resumed(ctx: click.Context, name: str, runs: Path, given: dict[str, Any]) -> dict[str, Any]:
    """The options an unfinished run was started with; ones given now must be the same. Raises TrainingError."""
    from dictsent.checkpoints import Checkpoints
    from dictsent.runs import unfinished, work_folder

    waiting = unfinished(runs)
    folder = Path(name) if name else (waiting[-1] if waiting else None)
    if folder is None:
        raise TrainingError("there is no unfinished run", where=str(runs), hint="leave --resume out to start one")
    asked: dict[str, Any] = Checkpoints(work_folder(folder)).plan()["asked"]
    for key, value in given.items():
        if ctx.get_parameter_source(key) is not ParameterSource.COMMANDLINE or key in ("out", "minutes"):
            continue
        now = list(value) if isinstance(value, tuple) else value
        before = asked.get(key)
        if now != before and not (key == "language" and _languages(str(now), None) == before):
            option = next(p.opts[0] for p in ctx.command.params if p.name == key)
            raise TrainingError(
                f"it was started {_said(option, before)}, not {_said(option, now)}",
                where=str(folder),
                hint=f"leave {option} out",
            )
    note(f"going on with {folder}")
    return {**asked, "out": folder, "minutes": given["minutes"]}


def _said(option: str, value: Any) -> str:
    """An option as its user wrote it, or its absence."""
    if value is None or value is False or value in ("", [], {}):
        return f"without {option}"
    if value is True:
        return f"with {option}"
    if isinstance(value, dict):
        value = [f"{name}={','.join(map(str, values))}" for name, values in value.items()]
    return f"with {option} {' '.join(map(str, value)) if isinstance(value, list) else value}"


def _languages(given: str, store: Any) -> str:
    """The tags with commas between them; of names too ("Japanese,German"). Raises LanguageError."""
    if given:
        return ",".join(dict.fromkeys(find_language(part.strip()) for part in given.split(",") if part.strip()))
    held = store.languages()
    if len(held) == 1:
        return str(next(iter(held)))
    store.require("und") if not held else None
    raise LanguageError(
        "the store holds several languages", where="--lang", hint=f"choose one or more: {','.join(held)}"
    )


def _exposed(language: str, data: Path | None) -> frozenset[str]:
    """The sentences of every STS set of the language below --sets, normalised. Raises TaskError where there is none."""
    from dictsent.evaluate import available
    from dictsent.tasks.data import Choice
    from dictsent.tasks.exposure import exposed_texts

    sets = available(Choice(languages=(language,)), [data])[0] if data is not None else []
    real = [pairs for pairs in sets if pairs.copy.set.protocol != "smoke"]
    if not real:
        raise TaskError("no STS set to compare with", where="--exclude-exposed", hint="give --sets FOLDER")
    note(f"left out where they are definitions: the sentences of {', '.join(p.copy.set.label for p in real)}")
    return exposed_texts(real)


def _dev_scorer(plan: Any, data: Path | None) -> Any:
    """STS-B dev where it is the criterion. Raises TaskError where it was asked for and is not there."""
    from dictsent.recipe.criterion import sts_dev

    if plan.criterion != "sts" and plan.pairs.split != "none":
        return None
    scorer = sts_dev(plan.tags, [data] if data is not None else [])
    if plan.criterion == "sts" and scorer is None:
        hint = "give --sets FOLDER, or leave --criterion out"
        raise TaskError(f"there is no STS-B dev set for {', '.join(plan.tags)}", where="--criterion sts", hint=hint)
    return scorer
