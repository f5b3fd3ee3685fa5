"""What a training can be told, checked, without loading torch.

Before: dictsent.errors. After: the command line and recipes make TrainSettings, dictsent.train follows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from dictsent.errors import TrainingError

Method = Literal["defsent", "defsent-plus"]
Pooling = Literal["cls", "mean", "max", "weighted"]
EntryKind = Literal["amp", "ac", "awp"]
Isotropy = Literal["none", "ica", "zca"]
PoolerKind = Literal["auto", "native", "mlm", "identity"]
Precision = Literal["auto", "float32", "bf16"]
OutOfVocabulary = Literal["leave", "mean"]
ENTRY_POOLING: dict[EntryKind, Pooling] = {"ac": "cls", "amp": "mean", "awp": "weighted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSettings:
    """How to train. Each method's own values are `defaults`; what a paper used with a checkpoint is a recipe.

    Attributes:
        pooling: of sentences, in training and afterwards.
        entries: pooling of definitions in entry rows: amp (mean), ac (CLS), awp (frequency-weighted, not the papers').
        pst: steps of Progressive Separate Training; 1 for DefSent.
        learning_rates: one per step; the last one serves the steps beyond.
        isotropy: what the last step's entry matrix goes through.
        pooler: between sentence vectors and entry rows: the layer of the checkpoint, that of its masked-LM head, or
            none; auto takes the first there is, and none for a finished sentence encoder (on one, 30,000 definitions
            of WordNet, STS-B dev 86.7 before: 85.5 with none, 81.6 with the unused layer of its checkpoint).
        pooler_from: another checkpoint whose masked-LM head gives the pooler (DefSent+ on SimCSE-RoBERTa); "" for none.
        poolings: of sentences by PST step where they differ; () for `pooling` in all.
        warmup: share of the steps in which the rate rises; `decay`: whether it then falls to 0 or stays.
        clip: gradient norm, 0 for none.
        freeze_embeddings: keep the embedding block as it is (DefSent's reference does).
        oov: headwords of several tokens: "leave" leaves them out, "mean" gives them the mean of their tokens' output
            embeddings (DefSent, footnote 1).
        precision: of the arithmetic (dictsent.precision).
        trainer: further arguments of transformers.Trainer, each KEY=VALUE.
    """

    method: Method
    pooling: Pooling
    entries: EntryKind = "amp"
    pst: int = 1
    learning_rates: tuple[float, ...] = (5e-5,)
    batch_size: int = 32
    epochs: int = 1
    isotropy: Isotropy = "none"
    pooler: PoolerKind = "auto"
    pooler_from: str = ""
    poolings: tuple[Pooling, ...] = ()
    merge_synonyms: bool = False
    warmup: float = 0.0
    decay: bool = True
    clip: float = 1.0
    epsilon: float = 1e-6
    freeze_embeddings: bool = False
    oov: OutOfVocabulary = "leave"
    precision: Precision = "auto"
    trainer: tuple[str, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method == "defsent" and (self.pst != 1 or self.isotropy != "none"):
            raise TrainingError("--pst and --isotropy belong to DefSent+", hint="use --method defsent-plus")
        if self.pst < 1 or self.epochs < 1 or self.batch_size < 1:
            raise TrainingError("--pst, --epochs and --batch-size are at least 1")
        if self.poolings and (len(self.poolings) != self.pst or self.poolings[-1] != self.pooling):
            raise TrainingError(f"poolings are {self.pst}, one a step, the last one the pooling")
        if not self.learning_rates or any(not 0 < rate < 1 for rate in self.learning_rates):
            raise TrainingError("learning rates lie between 0 and 1", where="--learning-rate")

    def rate(self, step: int) -> float:
        """The learning rate of PST step 1, 2, ..."""
        return self.learning_rates[min(step, len(self.learning_rates)) - 1]

    def pooling_of(self, step: int) -> Pooling:
        """The pooling of sentences in PST step 1, 2, ..."""
        return self.poolings[step - 1] if self.poolings else self.pooling


def defaults(method: Method) -> dict[str, Any]:
    """What the method's paper and code do with every encoder (METHODS); the rest depends on the encoder."""
    if method == "defsent":
        return {
            "batch_size": 16,
            "warmup": 0.1,
            "decay": False,
            "clip": 0.0,
            "epsilon": 1e-8,
            "freeze_embeddings": True,
        }
    return {"batch_size": 32, "warmup": 0.0, "decay": True, "clip": 1.0, "epsilon": 1e-6, "pst": 3}


def words(kind: Any) -> tuple[str, ...]:
    """The words a Literal type allows, for options and messages."""
    return get_args(kind)
