"""`dictsent train` and `dictsent encode`.

Before: a store. After: a model folder; vectors.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from dictsent.cli.options import data_option, json_option, runs_option, store_option
from dictsent.cli.show import emit, note, table, working
from dictsent.errors import LanguageError, TaskError
from dictsent.settings import EntryKind, Isotropy, Method, PoolerKind, Pooling, words


def _numbers(_: click.Context, __: click.Parameter, value: str | None) -> tuple[float, ...] | None:
    if value is None:
        return None
    try:
        return tuple(float(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter("give numbers with commas between them, e.g. 5e-5,4e-5,3e-5") from None


@click.command(
    "train",
    epilog="Examples: dictsent train --lang ja --method defsent-plus --pst 3 · dictsent train --method defsent "
    "--encoder bert-base-uncased --pooling cls · dictsent train --encoder scratch:static",
)
@click.option(
    "--lang", "language", default="", help="The language, a tag or name; may be left out where the store has one."
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
@click.option("--batch-size", type=click.IntRange(min=1), help="[default: 16 for DefSent, 32 for DefSent+]")
@click.option("--epochs", type=click.IntRange(min=1), help="[default: 1]")
@click.option("--merge-synonyms", is_flag=True, default=None, help="Entries with the same definitions share a row.")
@click.option(
    "--split", type=click.Choice(["hash", "none"]), default="hash", show_default=True, help="8:1:1 by headword, or all."
)
@click.option("--limit", type=click.IntRange(min=1), help="At most this many definitions, whole entries by hash.")
@click.option("--merge-case", is_flag=True, help="Polish and polish are one entry.")
@click.option("--form-of", is_flag=True, help="Keep senses such as “plural of dog”.")
@click.option("--translations", is_flag=True, help="Keep definitions in other languages.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="The model folder. [default: RUNS/<lang>-<method>-<n>]")
@runs_option
@store_option
@data_option
@json_option
def train_command(
    language: str,
    method: Any,
    encoder: str | None,
    no_fallback: bool,
    split: Any,
    limit: int | None,
    merge_case: bool,
    form_of: bool,
    translations: bool,
    seed: int,
    out: Path | None,
    runs: Path,
    store: Path,
    data: Path | None,
    as_json: bool,
    **told: Any,
) -> None:
    """Train a sentence encoder on the store's definitions."""
    from dictsent.pairs import PairSettings
    from dictsent.store import Store

    with Store(store) as opened:
        pairs = PairSettings(
            language=_language(language, opened),
            split=split,
            limit=limit,
            merge_case=merge_case,
            form_of=form_of,
            translations=translations,
        )
        from dictsent.recipe.training import Plan, Watch, run_training

        told = {key: value for key, value in told.items() if value is not None}
        plan = Plan(
            pairs=pairs,
            runs=runs,
            encoder=encoder,
            method=method,
            told=told,
            out=out,
            fallback=not no_fallback,
            seed=seed,
        )
        scorer = _sts_dev(pairs.language, data) if split == "none" else None
        with working("training") as bar:
            watch = Watch(note, bar.update)
            run = run_training(opened, plan, watch, dev_scorer=scorer)
    if as_json:
        emit({"run": str(run.folder), **run.record})
        return
    _show_steps(run.record)
    click.echo(f"Model: {run.folder}")


def _language(given: str, store: Any) -> str:
    from dictsent.languages import find_language

    if given:
        return find_language(given)
    held = store.languages()
    if len(held) == 1:
        return str(next(iter(held)))
    store.require("und") if not held else None
    raise LanguageError("the store holds several languages", where="--lang", hint=f"choose one: {', '.join(held)}")


def _sts_dev(language: str, data: Path | None) -> Any:
    """STS-B dev of the language as the dev criterion, where there is one below --data."""
    from dictsent.evaluate import available, evaluate
    from dictsent.tasks.data import Choice

    if data is None:
        return None
    try:
        sets, _ = available(Choice(languages=(language,), names=("STS-B",), split="dev"), [data])
    except TaskError:
        return None
    if not sets:
        return None
    return lambda model: next((s.value for s in evaluate(model, sets[:1]) if s.metric == "spearman"), None)


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
