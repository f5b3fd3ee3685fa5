"""The model card: what a stranger must know, and metadata that the hub's own reader accepts."""

from __future__ import annotations

from typing import Any

import pytest
from huggingface_hub import ModelCard
from huggingface_hub.repocard_data import EvalResult

from dictsent.card import model_card
from dictsent.licences import hub_licence


def step(number: int, **more: Any) -> dict[str, Any]:
    return {
        "step": number,
        "learning_rate": 5e-05,
        "definitions": 40,
        "entries": 20,
        "updates": 3,
        "loss_first": 3.0,
        "loss_last": 1.5,
        "seconds": 2.5,
        "pooler": "mlm",
        "matrix": "plain",
        "dev": 0.25,
        **more,
    }


def score(task: str, metric: str, value: float | None, **more: Any) -> dict[str, Any]:
    common = {"language": "en", "split": "test", "protocol": "paper", "variant": "raw", "n": 40}
    return {"task": task, "metric": metric, "value": value, **common, **more}


def source(name: str, licence: str, **more: Any) -> dict[str, Any]:
    common = {"adapter": "tsv", "version": "1", "attribution": "", "address": "", "checksum": "a" * 64}
    return {"name": name, "licence": licence, "definitions": 40, **common, **more}


def record(**more: Any) -> dict[str, Any]:
    return {
        "dictsent": "0.1.0",
        "created": "2026-01-02T03:04:05+00:00",
        "method": "defsent-plus",
        "language": "en",
        "encoder": {"name": "roberta-base", "kind": "checkpoint"},
        "notes": [],
        "seed": 3,
        "settings_hash": "b" * 64,
        "pairs": {"train": 40, "dev": 5, "test": 5, "left_out": {}},
        "sources": [source("words", "CC BY-SA 4.0")],
        "steps": [step(1), step(2, dev=None)],
        "dev_criterion": "word prediction MRR on dev headwords",
        "scores": [
            score("STS12", "spearman", 60.0),
            score("STS12/OnWN", "spearman", 70.0),
            score("STS12", "spearman", 58.0, variant="raw-unexposed"),
            score("STS12", "pearson", 61.0),
            score("words", "mrr", 0.25, protocol="leave-one-out", variant="pooler"),
            score("STS13", "spearman", None),
            score("TREC", "accuracy", 90.0, protocol="senteval", variant="senteval"),
        ],
        **more,
    }


def test_the_metadata_is_what_the_hub_reads() -> None:
    """The library's own reader: it raises where a model index is not valid."""
    data = ModelCard(model_card(record())).data
    assert data.to_dict() | {"model-index": None} == {
        "language": "en",
        "license": "cc-by-sa-4.0",
        "library_name": "sentence-transformers",
        "pipeline_tag": "sentence-similarity",
        "tags": ["sentence-transformers", "sentence-similarity", "feature-extraction", "dictsent", "defsent-plus"],
        "base_model": "roberta-base",
        "model-index": None,
    }
    found = {(r.dataset_type, r.dataset_name, r.metric_type, r.metric_value) for r in data.eval_results}
    assert found == {
        ("sts12-raw-paper", "STS12 (raw, paper)", "spearman_cosine", 60.0),
        ("sts12-raw-unexposed-paper", "STS12 (raw-unexposed, paper)", "spearman_cosine", 58.0),
        ("words-pooler-leave-one-out", "words (pooler, leave-one-out)", "mrr", 0.25),
        ("trec-senteval-senteval", "TREC (senteval, senteval)", "accuracy", 90.0),
    }
    assert {(r.dataset_config, r.dataset_split) for r in data.eval_results} == {("en", "test")}
    assert all(isinstance(result, EvalResult) for result in data.eval_results)


def test_languages_data_sets_and_local_encoders() -> None:
    address = "https://huggingface.co/datasets/someone/words"
    told = record(
        language="ja,en",
        encoder={"name": "/models/my-encoder", "kind": "checkpoint"},
        sources=[source("words", "MIT", address=address), source("more", "WordNet 3.0")],
        scores=[],
    )
    data = ModelCard(model_card(told)).data.to_dict()
    assert data["language"] == ["ja", "en"]
    assert data["datasets"] == ["someone/words"]
    assert (data["license"], data["license_name"]) == ("other", "MIT; WordNet 3.0")
    assert "base_model" not in data
    assert "model-index" not in data


def test_what_a_stranger_reads() -> None:
    protocol = {"name": "en-1", "seeds": [0, 1, 3], "point": {"learning_rates": [1e-05, 5e-06]}, "builders": [1]}
    words = source("a|b\nc", "", attribution="By us")
    told = record(protocol=protocol, sources=[words], notes=["built from the store's own text"])
    card = model_card(told)
    assert "> built from the store's own text" in card
    assert "| seed | 3, of 0, 1, 3; the entries of the steps after the first were built by seed 1; " in card
    assert "of a grid: learning_rates 1e-05/5e-06 |" in card
    assert "| 1 | 5e-05 | 40 | 20 | 3 | 1.5 | plain | mlm | 0.25 | 2.5 |" in card
    assert "| 2 | 5e-05 | 40 | 20 | 3 | 1.5 | plain | mlm |  | 2.5 |" in card
    assert "dev: word prediction MRR on dev headwords." in card
    assert "| a\\|b c | 1 |  | 40 | aaaaaaaaaaaaaaaa |" in card
    assert "- a|b c: By us" in card
    assert "were not left out of the training. Scores whose text ends in -unexposed" in card
    told["pairs"]["left_out"] = {"excluded by text": 1234}
    assert "1,234 definitions that are sentences of evaluation sets were left out of the training." in model_card(told)


@pytest.mark.parametrize(
    ("licence", "name"),
    [
        ("CC BY-SA 4.0", "cc-by-sa-4.0"),
        ("https://creativecommons.org/licenses/by-sa/3.0/", "cc-by-sa-3.0"),
        ("CC0", "cc0-1.0"),
        ("Creative Commons Attribution 2.5", "cc-by-2.5"),
        ("Apache-2.0", "apache-2.0"),
        ("CC BY-SA 4.0 and GFDL", "other"),
        ("WordNet 3.0 License", "other"),
        ("", "unknown"),
    ],
)
def test_the_hubs_names_of_licences(licence: str, name: str) -> None:
    assert hub_licence(licence) == name
