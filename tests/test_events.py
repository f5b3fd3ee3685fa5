"""Events: what a training does, as JSON lines in their order, for scripts that read along."""

from __future__ import annotations

import io
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import pytest
from test_cli import MANY

from dictsent.cli.events import Events, events_to
from dictsent.errors import TrainingError
from dictsent.pairs import PairSettings
from dictsent.recipe.protocol import run_training
from dictsent.recipe.training import Plan, Watch
from dictsent.store import Store


def lines(text: str) -> list[dict[str, Any]]:
    """Each line is one JSON object with what every event has."""
    found = [json.loads(line) for line in text.splitlines()]
    assert all(event["schema_version"] == 1 for event in found)
    assert all(datetime.fromisoformat(event["time"]).tzinfo is not None for event in found)
    return found


@pytest.fixture
def words_store(run_cli: Any, tmp_path: Path) -> Path:
    (tmp_path / "words.tsv").write_text(MANY)
    assert run_cli("ingest", "words.tsv", "--lang", "en").exit_code == 0
    return tmp_path / "dictsent.db"


def test_a_training_is_told_from_its_pairs_to_its_steps(words_store: Path, tiny_bert: Path, tmp_path: Path) -> None:
    stream, said, seen = io.StringIO(), [], []
    watch = Watch(notify=said.append, progress=lambda *_: None, tell=lambda event, fields: seen.append(event))
    with Store(words_store) as store:
        plan = Plan(
            pairs=PairSettings(language="en"),
            runs=tmp_path / "runs",
            encoder=str(tiny_bert),
            method="defsent-plus",
            told={"pst": 2, "learning_rates": (1e-3,)},
            seeds=(0, 1),
        )
        told = Events(stream, every=0)
        told.start(plan)
        outcome = run_training(store, plan, told.watch(watch))
        told.finish(outcome)
    events = lines(stream.getvalue())
    kinds = [event["event"] for event in events]
    assert set(kinds) == {"start", "note", "pairs", "progress", "step", "finished"}
    assert (kinds[0], kinds[-1]) == ("start", "finished")
    assert (events[0]["method"], events[0]["seeds"], events[0]["language"]) == ("defsent-plus", [0, 1], "en")
    assert events[-1]["run"] in events[-1]["runs"]
    assert events[-1]["record"] == json.loads((Path(events[-1]["run"]) / "record.json").read_text())
    assert [e["text"] for e in events if e["event"] == "note"] == said
    assert seen == [kind for kind in kinds if kind in ("pairs", "step")]
    pairs = next(e for e in events if e["event"] == "pairs")
    assert pairs["train"] == outcome.best.record["pairs"]["train"] > 0
    assert {"dev", "test", "left_out", "changed"} <= pairs.keys()
    steps = [e for e in events if e["event"] == "step"]
    assert [(e["step"], e["seed"]) for e in steps] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert {"point", "learning_rate", "definitions", "entries", "updates", "loss_first", "loss_last", "dev"} <= set(
        steps[0]
    )
    progress = [e for e in events if e["event"] == "progress"]
    assert progress[-1]["done"] == progress[-1]["total"] > 0
    assert "loss" in progress[-1]["text"]


def test_progress_is_not_told_more_often_than_asked() -> None:
    stream, drawn = io.StringIO(), []
    watch = Events(stream, every=1000.0).watch(Watch(progress=lambda *told: drawn.append(told)))
    for done in range(50):
        watch.progress(done, 50, "")
    assert len(drawn) == 50
    assert len(lines(stream.getvalue())) <= 1


def test_how_it_ended_is_the_last_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "events.jsonl"
    with events_to(str(path)) as events:
        events.tell("start", {"method": "defsent"})
        assert lines(path.read_text())[0]["method"] == "defsent", "a line is there as soon as it is told"
        events.tell("finished", {"run": "runs/a"})
    assert [e["event"] for e in lines(path.read_text())] == ["start", "finished"]
    endings: list[tuple[BaseException, dict[str, Any]]] = [
        (TrainingError("it burns", where="here"), {"event": "failed", "error": "here: it burns"}),
        (click.exceptions.Exit(143), {"event": "stopped", "exit_code": 143}),
        (KeyboardInterrupt(), {"event": "failed", "error": "KeyboardInterrupt"}),
        (ValueError("odd"), {"event": "failed", "error": "ValueError: odd"}),
    ]
    for error, expected in endings:
        with pytest.raises(type(error)), events_to(str(path)):
            raise error
        (last,) = lines(path.read_text())
        assert expected.items() <= last.items()
    with events_to("-") as events:
        events.tell("start", {"language": "日本語"})
    assert [e["language"] for e in lines(capsys.readouterr().out)] == ["日本語"]


def test_where_events_cannot_go(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="--json gives one object on stdout"), events_to("-", as_json=True):
        pass
    with pytest.raises(click.FileError, match="Is a directory"), events_to(str(tmp_path)):
        pass
    with events_to(str(tmp_path / "second.jsonl"), first=False) as events:
        events.tell("start", {})
    assert not (tmp_path / "second.jsonl").exists()
    with events_to(None) as events:
        events.tell("start", {})
