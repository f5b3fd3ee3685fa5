"""The dev criterion of trainings that hold no headwords out, or are told so: STS-B dev.

Before: evaluation sets below a folder. After: dictsent.recipe.protocol chooses among seeds and settings by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dictsent.errors import TaskError
from dictsent.evaluate import available, evaluate
from dictsent.model import Model
from dictsent.tasks.data import Choice
from dictsent.tasks.readers import SentencePairs

DevScorer = Callable[[Model], Mapping[str, float]]


def sts_dev(tags: Sequence[str], folders: Sequence[Path]) -> DevScorer | None:
    """STS-B dev of the languages that have one below the folders, by language; None where none has."""
    found: dict[str, list[SentencePairs]] = {}
    for tag in tags:
        try:
            sets, _ = available(Choice(languages=(tag,), names=("STS-B",), split="dev"), list(folders))
        except TaskError:
            continue
        if sets:
            found[tag] = sets[:1]
    return (lambda model: _scored(model, found)) if found else None


def _scored(model: Model, sets: Mapping[str, list[SentencePairs]]) -> dict[str, float]:
    return {
        tag: score.value
        for tag, pairs in sets.items()
        for score in evaluate(model, pairs)
        if score.metric == "spearman" and score.value is not None
    }
