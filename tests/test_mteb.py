"""mteb as a witness: it runs a run folder unchanged and gets our scores; its task metadata agrees with our registry."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny import SENTENCES

from dictsent.languages import key_language
from dictsent.tasks.data import registry

mteb = pytest.importorskip("mteb", reason="mteb is not installed (pip install 'dictsent[mteb]')")

# mteb 2.26 calls methods that sentence-transformers 6.2 renamed, and warns of its own superseded tasks.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning", "ignore::DeprecationWarning")


def pairs_of_sentences(n: int) -> list[tuple[float, str, str]]:
    """Sentences of the tiny vocabulary with shared words for a score; every tenth pair is one sentence twice."""
    draws = random.Random(0)
    rows = []
    for i in range(n):
        first, second = draws.choice(SENTENCES), draws.choice(SENTENCES)
        second = first if i % 10 == 0 else second
        rows.append((5 * len(set(first.split()) & set(second.split())) / len(set(first.split())), first, second))
    return rows


@pytest.fixture
def run_folder(run_cli: Callable[..., Any], tiny_bert: Path) -> Callable[..., Any]:
    """A training's run folder at runs/en-defsent-plus-1."""
    words = "".join(f"word{i}\t{text}\n" for i, text in enumerate(SENTENCES[:150]))
    Path("words.tsv").write_text(words, encoding="utf-8")
    assert run_cli("ingest", "words.tsv", "--lang", "en").exit_code == 0
    assert run_cli("train", "--encoder", tiny_bert, "--pst", "1", "--split", "none").exit_code == 0
    return run_cli


def test_mteb_runs_a_run_folder_and_gets_the_same_score(run_folder: Callable[..., Any]) -> None:
    from datasets import Dataset, DatasetDict
    from sentence_transformers import SentenceTransformer

    rows = pairs_of_sentences(400)
    Path("own.tsv").write_text("".join(f"{gold}\t{a}\t{b}\n" for gold, a, b in rows), encoding="utf-8")
    record = json.loads(run_folder("eval", "sts", "runs/en-defsent-plus-1", "--pairs", "own.tsv", "--json").stdout)

    model = SentenceTransformer("runs/en-defsent-plus-1", device="cpu")
    task = mteb.get_task("STS16")
    columns = zip(("score", "sentence1", "sentence2"), zip(*rows, strict=True), strict=True)
    task.dataset = DatasetDict({"test": Dataset.from_dict({name: list(values) for name, values in columns})})
    task.data_loaded = True
    result = mteb.evaluate(model, [task], cache=None, show_progress_bar=False)
    theirs = result.task_results[0].scores["test"][0]["cosine_spearman"]
    assert record["scores"][0]["value"] / 100 == pytest.approx(theirs, abs=1e-6)
    assert 0.1 < abs(theirs) < 1


def tasks_of_mteb() -> dict[tuple[str, str], Any]:
    """mteb's text STS tasks by data set and revision."""
    tasks = mteb.get_tasks(task_types=["STS"], modalities=["text"], exclude_superseded=False)
    return {(task.metadata.dataset["path"], task.metadata.dataset["revision"]): task.metadata for task in tasks}


def test_the_registry_s_hub_rows_are_mteb_s_tasks() -> None:
    known = tasks_of_mteb()
    for row in (row for row in registry() if row.hub):
        task = known[row.hub["path"], row.hub["revision"]]
        config = row.hub.get("config", task.dataset.get("name", "default"))
        assert config in (*task.hf_subsets, task.dataset.get("name")), row.label
        theirs = task.hf_subsets_to_langscripts.get(config) or next(iter(task.hf_subsets_to_langscripts.values()))
        languages = {key_language(code.split("-")[0]) for code in theirs}
        assert {row.language, row.second_language or row.language} == languages, row.label
        assert set(task.eval_splits) <= set(row.hub["splits"].values()), row.label


def test_every_task_of_mteb_is_a_row_or_left_out_for_a_reason() -> None:
    reasons = {
        "HUMESICK-R": "40 pairs of SICK-R again",
        "HUMESTS12": "50 pairs of STS12 again",
        "HUMESTS22": "pairs of STS22 again",
        "HUMESTSBenchmark": "50 pairs of STS-B again",
        "JSICK": "holds the 1,986 pairs of a part of JSICK's test file, which the registry scores whole",
        "STS22": "superseded by STS22.v2",
        "StakeholderGrounding": "judges orders of statements, not pairs of sentences",
    }
    rows = {row.hub["path"] for row in registry() if row.hub}
    missing = {task.name for (path, _), task in tasks_of_mteb().items() if path not in rows}
    assert missing <= set(reasons), missing - set(reasons)
