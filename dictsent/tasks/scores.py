"""The record of one figure of an evaluation.

Before: the scorers of dictsent.tasks make it. After: dictsent.evaluate collects it; tables, --json and reports show it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One figure.

    Attributes:
        task: "STS12", "STS14/OnWN", "Avg", "words", "MR", ...
        language: BCP-47 tag of the texts.
        split: "test", "dev", ...
        protocol: "paper", "mteb", "smoke", "leave-one-out", ...
        variant: the kind of text ("raw", "senteval", ...), with "-unexposed" where pairs that hold dictionary text are
            left out.
        metric: "spearman", "pearson", "mrr", "top10", "accuracy", ...
        value: correlations and accuracies x100, ranks and reciprocal ranks as they are; None where undefined.
        n: pairs, queries or sentences the figure rests on.
        note: why the value is None, or what a reader of it must know.
        interval: bounds of the 95 % bootstrap interval where one was asked for.
        chance: what random vectors would get, where that is not 0.
    """

    task: str
    language: str
    split: str
    protocol: str
    variant: str
    metric: str
    value: float | None
    n: int
    note: str = ""
    interval: tuple[float, float] | None = None
    chance: float | None = None

    def to_json(self) -> dict[str, object]:
        """The keys that scripts rely on; `interval` and `chance` only where there is one."""
        keys = ("task", "language", "split", "protocol", "variant", "metric", "value", "n")
        record: dict[str, object] = {key: getattr(self, key) for key in keys}
        if self.interval:
            record["interval"] = list(self.interval)
        return record | ({"chance": self.chance} if self.chance is not None else {})
