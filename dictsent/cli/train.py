"""`dictsent train` and `dictsent encode`.

Before: a store. After: a model folder; vectors.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from dictsent.cli.options import data_option, json_option, runs_option, store_option
from dictsent.cli.processes import together
from dictsent.cli.show import emit, note, table, working
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
    help="Leave out definitions that stand as sentences in the STS sets below --data.",
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
@data_option
@json_option
@click.pass_context
@together
def train_command(
    ctx: click.Context,
    /,
    resume: str | None,
    runs: Path,
    store: Path,
    data: Path | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Train a sentence encoder on the store's definitions.

    Ctrl-C and SIGTERM save what there is; `--resume` goes on with it, to the very same weights on a CPU.
    """
    from dictsent.checkpoints import TrainingStopped
    from dictsent.licences import allowed_licences
    from dictsent.store import Store

    if resume is not None:
        asked = _resumed(ctx, resume, runs, asked)
    with Store(store) as opened:
        asked["language"] = _languages(asked["language"], opened)
        tags = asked["language"].split(",")
        if asked.get("licences"):
            opened.require(*tags)
            asked["licences"] = allowed_licences({s for t in tags for s in opened.licences(t)}, asked["licences"])
        opened.require_sources(asked.get("prefer", ()))
        plan = _plan(asked, runs, resume=resume is not None)
        if asked.get("exclude_exposed"):
            plan = replace(plan, exclude=frozenset().union(*(_exposed(tag, data) for tag in tags)))
        scorer = _dev_scorer(plan, data)
        with working("training") as bar, _stopping() as stopping:
            from dictsent.recipe.protocol import run_training
            from dictsent.recipe.training import Watch

            try:
                outcome = run_training(opened, plan, Watch(note, bar.update, stop=stopping.stop), dev_scorer=scorer)
            except TrainingStopped as stopped:
                note(f"{stopped.what}; it is saved, `dictsent train --resume` goes on")
                ctx.exit(128 + stopping.signal)
    best = outcome.best
    if as_json:
        more = {"protocol_summary": outcome.summary} if outcome.summary else {}
        emit({"run": str(best.folder), **best.record, **more})
        return
    _show_points(outcome.summary)
    _show_steps(best.record)
    click.echo(f"Model: {best.folder}")


_OF_PLAN = ("encoder", "method", "out", "minutes", "grid", "temperature")
_OF_HERE = ("no_fallback", "exclude_exposed", "seed", "seeds", "criterion")


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
                f"it was started with {option} {before}, not {now}", where=str(folder), hint=f"leave {option} out"
            )
    note(f"going on with {folder}")
    return {**asked, "out": folder, "minutes": given["minutes"]}


class _Stopping:
    """The first signal asks the training to save and stop; anywhere else, and the second time, it acts at once."""

    def __init__(self) -> None:
        from dictsent.checkpoints import Stop

        self.stop = Stop()
        self.signal = 0
        self.before: dict[int, Any] = {}

    def on_signal(self, number: int, frame: Any) -> None:
        self.signal = number
        if self.stop.armed and not self.stop.requested:
            self.stop.requested = True
            note("stopping after this update; once more to stop at once")
        else:
            before = self.before[number]
            if not callable(before):
                raise SystemExit(128 + number)
            before(number, frame)


@contextmanager
def _stopping() -> Iterator[_Stopping]:
    stopping = _Stopping()
    if threading.current_thread() is not threading.main_thread():
        yield stopping
        return
    for number in (int(signal.SIGINT), int(signal.SIGTERM)):
        stopping.before[number] = signal.signal(number, stopping.on_signal)
    try:
        yield stopping
    finally:
        for number, handler in stopping.before.items():
            signal.signal(number, handler)


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
    """The sentences of every STS set of the language below --data, normalised. Raises TaskError where there is none."""
    from dictsent.evaluate import available
    from dictsent.tasks.data import Choice
    from dictsent.tasks.exposure import exposed_texts

    sets = available(Choice(languages=(language,)), [data])[0] if data is not None else []
    real = [pairs for pairs in sets if pairs.copy.set.protocol != "smoke"]
    if not real:
        raise TaskError("no STS set to compare with", where="--exclude-exposed", hint="give --data FOLDER")
    note(f"left out where they are definitions: the sentences of {', '.join(p.copy.set.label for p in real)}")
    return exposed_texts(real)


def _dev_scorer(plan: Any, data: Path | None) -> Any:
    """STS-B dev where it is the criterion. Raises TaskError where it was asked for and is not there."""
    from dictsent.recipe.criterion import sts_dev

    if plan.criterion != "sts" and plan.pairs.split != "none":
        return None
    scorer = sts_dev(plan.tags, [data] if data is not None else [])
    if plan.criterion == "sts" and scorer is None:
        hint = "give --data FOLDER, or leave --criterion out"
        raise TaskError(f"there is no STS-B dev set for {', '.join(plan.tags)}", where="--criterion sts", hint=hint)
    return scorer


def _show_points(summary: dict[str, Any]) -> None:
    """The points of a grid and their seeds by the dev criterion, the chosen one marked."""
    if not summary:
        return
    rows = []
    for number, point in enumerate(summary["points"]):
        said = " ".join(f"{key}={_shown(value)}" for key, value in point["settings"].items()) or "all seeds"
        spread = "" if point["dev_deviation"] is None else f"{point['dev_deviation']:.4f}"
        seeds = " ".join(f"{run['dev']:.4f}" for run in point["runs"])
        rows.append(("*" if number == summary["chosen"] else "", said, f"{point['dev']:.4f}", spread, seeds))
    table(["", "setting", "dev", "deviation", "seeds"], rows, left=2)
    note(f"chosen by {summary['criterion']}; seeds {', '.join(map(str, summary['seeds']))}")


def _shown(value: Any) -> str:
    return "/".join(f"{part:g}" for part in value) if isinstance(value, tuple | list) else str(value)


def _show_steps(record: dict[str, Any]) -> None:
    steps = record.get("steps", [])
    if not steps:
        return
    rows = [
        (
            s["step"],
            f"{s['definitions']:,}",
            f"{s['entries']:,}",
            f"{s['learning_rate']:g}",
            f"{s['loss_first']:.3f}",
            f"{s['loss_last']:.3f}",
            "" if s["dev"] is None else f"{s['dev']:.4f}",
            f"{s['seconds']:.0f} s",
        )
        for s in steps
    ]
    columns = ["step", "definitions", "entries", "rate", "loss first", "loss last", "dev", "time"]
    table(columns, rows)
    note(f"dev: {record['dev_criterion']}")


@click.command("encode", epilog="Example: dictsent encode --model runs/en-defsent-1 sentences.txt --out vectors.npy")
@click.argument("sentences", type=click.File("r", encoding="utf-8"), default="-")
@click.option("--model", type=click.Path(path_type=Path), help="A model folder or hub name. [default: the newest run]")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write an .npy matrix here.")
@runs_option
@json_option
def encode_command(sentences: Any, model: Path | None, out: Path | None, runs: Path, as_json: bool) -> None:
    """Turn sentences, one a line, into vectors: tab-separated figures, --json, or an .npy file."""
    import numpy as np

    from dictsent.model import text_encoder
    from dictsent.runs import newest

    lines = [line.rstrip("\r\n") for line in sentences]
    if model is None:
        model = newest(runs)
        note(f"Model: {model}")
    vectors = text_encoder(str(model)).encode(lines)
    if out is not None:
        np.save(out, vectors)
        note(f"{len(lines):,} vectors of {vectors.shape[1]} figures in {out}")
    elif as_json:
        emit({"model": str(model), "vectors": vectors.tolist()})
    else:
        for row in vectors:
            sys.stdout.write("\t".join(f"{value:.6g}" for value in row) + "\n")
