"""Seeds, grids and languages in one command: what is trained, shared, chosen, kept and resumed."""

from __future__ import annotations

import json
import shutil
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from test_cli import MANY, one_line
from tiny import WORDS

import dictsent
from dictsent.checkpoints import Stop, TrainingStopped
from dictsent.encoder import Encoder
from dictsent.errors import TrainingError
from dictsent.pairs import PairSettings
from dictsent.recipe.grid import read_grid
from dictsent.recipe.protocol import Outcome, run_training
from dictsent.recipe.training import Plan, Unit, Watch
from dictsent.runs import newest
from dictsent.store import Store
from dictsent.train import methods

Cli = Callable[..., Any]


@pytest.fixture
def store(run_cli: Cli) -> Store:
    Path("words.tsv").write_text(MANY)
    assert run_cli("ingest", "words.tsv", "--lang", "en").exit_code == 0
    return Store(Path("dictsent.db"))


def plan_for(encoder: Path, **more: Any) -> Plan:
    told = {"learning_rates": (1e-3,), "batch_size": 8, "precision": "float32", **more.pop("told", {})}
    fixed = {"pairs": PairSettings(language="en"), "runs": Path("runs"), "encoder": str(encoder), "minutes": 0}
    return Plan(**{**fixed, "told": told, **more})


def weights(outcome: Outcome) -> list[dict[str, torch.Tensor]]:
    return [load_file(run.folder / "model.safetensors") for run in outcome.runs]


def same(one: list[dict[str, torch.Tensor]], two: list[dict[str, torch.Tensor]]) -> bool:
    return all(torch.equal(a[key], b[key]) for a, b in zip(one, two, strict=True) for key in a)


def test_the_best_seed_builds_the_next_steps_entries(
    store: Store, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builders: list[tuple[int, int, Encoder]] = []
    seen: dict[tuple[int, int], tuple[Encoder, float]] = {}
    plain = methods.train_step

    def spy(start: Encoder, builder: Encoder, pairs: Any, settings: Any, step: int, *rest: Any, **more: Any) -> Any:
        trained = plain(start, builder, pairs, settings, step, *rest, **more)
        builders.append((step, settings.seed, builder))
        seen[step, settings.seed] = (trained.encoder, trained.log[-1].dev)
        return trained

    monkeypatch.setattr("dictsent.recipe.protocol.train_step", spy)
    outcome = run_training(store, plan_for(tiny_bert, seeds=(3, 4, 5), told={"pst": 2}), Watch())
    assert [(step, seed) for step, seed, _ in builders] == [(1, 3), (1, 4), (1, 5), (2, 3), (2, 4), (2, 5)]
    best_seed = max((3, 4, 5), key=lambda seed: seen[1, seed][1])
    assert all(builder is seen[1, best_seed][0] for step, _, builder in builders if step == 2)
    assert [run.folder.name for run in outcome.runs] == [f"en-defsent-plus-1-s{s}" for s in (3, 4, 5)]
    (point,) = outcome.summary["points"]
    finals = [seen[2, seed][1] for seed in (3, 4, 5)]
    assert [run["dev"] for run in point["runs"]] == finals
    assert point["dev"] == pytest.approx(statistics.fmean(finals))
    assert point["dev_deviation"] == pytest.approx(statistics.stdev(finals))
    assert outcome.best.record["steps"][-1]["dev"] == max(finals)
    record = json.loads((outcome.runs[1].folder / "record.json").read_text())
    assert record["seed"] == 4
    assert record["protocol"] == {
        "name": "en-defsent-plus-1", "seeds": [3, 4, 5], "point": {}, "builders": [best_seed], "chosen": True,
    }  # fmt: skip
    assert json.loads(Path("runs/en-defsent-plus-1.protocol.json").read_text()) == outcome.summary
    assert not list(Path("runs").glob(".*.work"))


def test_points_share_the_steps_they_agree_on(store: Store, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[tuple[int, str]] = []
    plain = methods.fit
    monkeypatch.setattr(
        methods, "fit", lambda *a, **k: (trained.append((k["step"], k["settings"].isotropy)), plain(*a, **k))[1]
    )
    grid = read_grid(["isotropy=none,zca"])
    outcome = run_training(store, plan_for(tiny_bert, grid=grid, told={"pst": 3}), Watch())
    assert trained == [(1, "none"), (2, "none"), (3, "none"), (3, "zca")]
    points = outcome.summary["points"]
    assert [p["settings"] for p in points] == [{"isotropy": "none"}, {"isotropy": "zca"}]
    assert outcome.summary["chosen"] == max((0, 1), key=lambda i: points[i]["dev"])
    assert [len(run.record["steps"]) for run in outcome.runs] == [3, 3]
    assert outcome.runs[1].record["steps"][2]["matrix"].startswith("zca")
    # The first two steps are the same ones, and what is loaded by default is of the chosen point.
    assert outcome.runs[0].record["steps"][:2] == outcome.runs[1].record["steps"][:2]
    assert newest(Path("runs")) == outcome.best.folder
    alone = run_training(store, plan_for(tiny_bert, told={"pst": 3, "isotropy": "zca"}), Watch())
    assert same(weights(alone), [weights(outcome)[1]])


def test_a_protocol_resumes_exactly(store: Store, tiny_bert: Path) -> None:
    how: dict[str, Any] = {
        "seeds": (0, 1), "grid": read_grid(["lr=1e-3,3e-3"]), "told": {"pst": 2, "learning_rates": (1e-3,)}
    }  # fmt: skip
    whole = run_training(store, plan_for(tiny_bert, out=Path("whole"), **how), Watch())
    stop, updates = Stop(), []

    def progress(done: int, total: int, text: str) -> None:
        updates.append((done, total, text))
        stop.requested = done >= 0.6 * total

    plan = plan_for(tiny_bert, out=Path("again"), **how)
    with pytest.raises(TrainingStopped):
        run_training(store, plan, Watch(progress=progress, stop=stop))
    assert len(list(Path().glob("again-p*"))) == 2  # the first point is finished
    again = run_training(store, plan_for(tiny_bert, out=Path("again"), resume=True, **how), Watch())
    assert same(weights(whole), weights(again))
    assert [p["dev"] for p in whole.summary["points"]] == [p["dev"] for p in again.summary["points"]]
    dones = [done for done, _, _ in updates]
    assert dones == sorted(dones)
    assert updates[-1][2].startswith("again-p2-s")
    other = plan_for(tiny_bert, out=Path("again"), resume=True, **{**how, "seeds": (0, 2)})
    with pytest.raises(TrainingError, match="no unfinished training"):
        run_training(store, other, Watch())


def test_defsent_over_seeds_and_a_grid_from_the_command_line(run_cli: Cli, store: Store, tiny_bert: Path) -> None:
    options = ["--encoder", tiny_bert, "--method", "defsent", "--batch-size", "8"]
    done = run_cli("train", *options, "--seeds", "0-1", "--grid", "lr=1e-3,1e-5", "--grid", "pooling=cls,mean")
    assert done.exit_code == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if "learning_rates=" in line]
    assert len(rows) == 4
    assert sum(row[0] == "*" for row in rows) == 1
    assert "chosen by word prediction MRR on dev headwords; seeds 0, 1" in done.stderr
    summary = json.loads(Path("runs/en-defsent-1.protocol.json").read_text())
    chosen = summary["points"][summary["chosen"]]
    assert chosen["dev"] == max(point["dev"] for point in summary["points"])
    listed = json.loads(run_cli("runs", "--json").stdout)["runs"]
    assert len(listed) == 8
    assert f"Model: {max(chosen['runs'], key=lambda run: run['dev'])['run']}" in done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--grid", "lr=1e-5"], "a grid has at least two points, learning_rates has 1"),
        (["--grid", "lr"], "is no axis of a grid"),
        (["--grid", "poling=cls,mean"], "unknown key 'poling'; did you mean pooling?"),
        (["--grid", "pooling=cls,sum"], "'sum', which is not"),
        (["--grid", "combination=cls-amp,cls"], "'cls' is no combination"),
        (["--grid", "pst=1,2", "--grid", "pst=2,3"], "pst is given twice"),
        (["--seed", "1", "--seeds", "1-2"], "say the same thing twice"),
        (["--split", "none", "--seeds", "0-1"], "need a dev criterion, and no dev word can be asked for"),
        (["--criterion", "sts"], "there is no STS-B dev set for en"),
    ],
)
def test_mistakes_in_protocols(run_cli: Cli, store: Store, tiny_bert: Path, options: list[str], said: str) -> None:
    assert said in one_line(run_cli("train", "--encoder", tiny_bert, *options))
    assert not list(Path().glob("runs/*"))


def test_steps_of_a_learning_rate_and_truth_values_in_a_grid() -> None:
    assert read_grid(["lr=5e-5/4e-5,3e-5", "merge_synonyms=true,false", "combination=cls-amp,mean-ac"]) == {
        "learning_rates": [[5e-5, 4e-5], [3e-5]],
        "merge_synonyms": [True, False],
        "combination": ["cls-amp", "mean-ac"],
    }


def test_several_languages_make_one_encoder(run_cli: Cli, store: Store, tiny_bert: Path) -> None:
    lines = [line.split("\t") for line in MANY.splitlines()]
    Path("german.tsv").write_text("".join(f"{word[::-1]}\t{text}, so\n" for word, text in lines))
    assert run_cli("ingest", "german.tsv", "--lang", "de").exit_code == 0
    said = {"en": MANY, "de": Path("german.tsv").read_text()}
    units: list[Unit] = []
    plan = plan_for(tiny_bert, languages=("en", "de"), temperature=5.0, told={"pst": 1})
    run = run_training(store, plan, Watch(on_step=lambda _, unit: units.append(unit))).best
    assert run.folder.name == "en-de-defsent-plus-1"
    (step,) = run.record["steps"]
    assert set(step["dev_languages"]) == {"en", "de"}
    assert step["dev"] == pytest.approx(statistics.fmean(step["dev_languages"].values()))
    assert units == [Unit(0, 0, 1)]
    assert run.record["language"] == "en,de"
    assert newest(Path("runs"), language="de") == run.folder
    done = run_cli(
        "train", "--encoder", tiny_bert, "--lang", "English,de", "--pst", "1", "--temperature", "1.43", "--json"
    )
    assert done.exit_code == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["pairs"]["temperature"] == 1.43
    assert record["language"] == "en,de"
    model = dictsent.load(record["run"])
    words = {language: {line.split("\t")[0] for line in lines_of.splitlines()} for language, lines_of in said.items()}
    for language in ("en", "de"):
        (hits,) = model.lookup(["a cat made from iron"], k=4, language=language)
        assert len(hits) == 4
        assert all(hit.language == language and set(hit.headwords) <= words[language] for hit in hits)
    assert len({hit.language for hit in model.lookup(["a cat"], k=1000)[0]}) == 2
    answer = json.loads(run_cli("lookup", "a cat", "--lang", "German", "--model", record["run"], "--json").stdout)
    assert {hit["language"] for hit in answer["hits"]} == {"de"}
    assert "no ja words" in one_line(run_cli("lookup", "a cat", "--lang", "ja", "--model", record["run"]))
    assert "holds no Japanese" in one_line(run_cli("train", "--encoder", tiny_bert, "--lang", "en,ja"))


def test_what_happens_is_told_as_json_lines(run_cli: Cli, store: Store, tiny_bert: Path) -> None:
    options = ["--encoder", tiny_bert, "--pst", "2", "--seeds", "0,1"]
    done = run_cli("train", *options, "--events", "events.jsonl", "--json")
    assert done.exit_code == 0, done.stderr
    lines = [json.loads(line) for line in Path("events.jsonl").read_text().splitlines()]
    assert (lines[0]["event"], lines[-1]["event"]) == ("start", "finished")
    assert lines[0]["seeds"] == [0, 1]
    steps = [(line["seed"], line["step"]) for line in lines if line["event"] == "step"]
    assert steps == [(0, 1), (1, 1), (0, 2), (1, 2)]
    assert lines[-1]["run"] == json.loads(done.stdout)["run"]
    assert len(lines[-1]["runs"]) == 2
    assert run_cli("train", *options, "--events", "-", "--json").exit_code == 2
    failed = run_cli("train", "--encoder", "nowhere/at/all", "--events", "-")
    assert [json.loads(line)["event"] for line in failed.stdout.splitlines()][-1] == "failed"


def test_fifty_definitions_cannot_choose_among_seeds(run_cli: Cli, tiny_bert: Path) -> None:
    single = "".join(f"w{i}\ta {WORDS[i % 20]} that lives near the {WORDS[-1 - i]}\n" for i in range(50))
    Path("few.tsv").write_text(single)
    assert run_cli("ingest", "few.tsv", "--lang", "en").exit_code == 0
    assert "no dev word can be asked for" in one_line(run_cli("train", "--encoder", tiny_bert, "--seeds", "0,1"))
    assert run_cli("train", "--encoder", tiny_bert, "--pst", "1").exit_code == 0


def test_systems_of_one_recipe_share_the_steps_they_agree_on(
    store: Store, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[int] = []
    plain = methods.fit
    monkeypatch.setattr(methods, "fit", lambda *a, **k: (trained.append(k["step"]), plain(*a, **k))[1])
    shared = tmp_path / "shared"
    seen: list[int] = []
    watch = Watch(on_step=lambda model, unit: seen.append(unit.step))
    outcomes = [
        run_training(store, plan_for(tiny_bert, shared=shared, told={"pst": 3, "isotropy": isotropy}), watch)
        for isotropy in ("none", "zca", "zca")
    ]
    assert trained == [1, 2, 3, 3]
    assert seen == [1, 2, 3, 3, 3]  # a step that another system trained is shown where it is the last
    assert same(weights(outcomes[1]), weights(outcomes[2]))
    alone = run_training(store, plan_for(tiny_bert, told={"pst": 3, "isotropy": "zca"}), Watch())
    assert same(weights(outcomes[1]), weights(alone))


def test_weights_that_changed_in_place_are_not_resumed_from(store: Store, tiny_bert: Path, tmp_path: Path) -> None:
    folder = tmp_path / "encoder"
    shutil.copytree(tiny_bert, folder)
    stop = Stop()

    def progress(done: int, *_: Any) -> None:
        stop.requested = done >= 2

    with pytest.raises(TrainingStopped):
        run_training(store, plan_for(folder, out=Path("x")), Watch(progress=progress, stop=stop))
    state = load_file(folder / "model.safetensors")
    first = next(iter(state))
    save_file({**state, first: state[first] + 1}, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(TrainingError, match="had other weights to start from"):
        run_training(store, plan_for(folder, out=Path("x"), resume=True), Watch())


def test_without_several_trainings_there_is_no_protocol(store: Store, tiny_bert: Path) -> None:
    outcome = run_training(store, plan_for(tiny_bert, told={"pst": 1}), Watch())
    assert outcome.summary == {}
    assert "protocol" not in outcome.best.record
    assert sorted(path.name for path in Path("runs").iterdir()) == [".cache", "en-defsent-plus-1"]
