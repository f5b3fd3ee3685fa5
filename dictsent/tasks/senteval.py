"""SentEval's seven transfer tasks: logistic regression on frozen sentence vectors.

Before: files in SentEval's layout, any TextEncoder. After: `dictsent eval senteval`.
Conneau and Kiela, "SentEval", LREC 2018; the settings of both papers (METHODS, "SentEval transfer").
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dictsent.errors import TaskError
from dictsent.tasks.data import Shelf
from dictsent.tasks.embedding import Embeddings, Matrix, Progress, TextEncoder, embed
from dictsent.tasks.readers import lines, read_text
from dictsent.tasks.scores import Score

STRENGTHS = tuple(2.0**power for power in range(-2, 4))
"""Inverse regularisation strengths that lbfgs chooses from, as SentEval's scikit-learn variant has them."""

EMPTY = "."
"""What an empty sentence counts as."""

AVERAGE = "Avg"

Labels = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Part:
    """Labelled texts, or pairs of texts where `second` is not empty."""

    first: tuple[str, ...]
    labels: Labels
    second: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """One task.

    Attributes:
        parts: "all" (cross-validated), or "train", "test" and, where the task has one, "dev".
        classes: number of labels.
    """

    name: str
    parts: Mapping[str, Part]
    classes: int

    @property
    def n(self) -> int:
        """Sentences or pairs that the accuracy is over."""
        return len(self.parts["all" if "all" in self.parts else "test"].labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferSettings:
    """How accuracies are taken.

    Attributes:
        classifier: "adam", SentEval's own with early stopping, which the papers use, or "lbfgs", scikit-learn's
            logistic regression: the optimum instead of an early stop, so its figures differ (MRPC: by 1).
        folds: outer and inner folds; the papers take 10.
        nested: choose the regularisation in an inner cross-validation; False takes 1.0 throughout (lbfgs only).
        seed: of the shuffled folds, of the classifiers' starts and of the order of their rows.
    """

    classifier: str = "adam"
    folds: int = 10
    nested: bool = True
    seed: int = 1111

    @property
    def protocol(self) -> str:
        """The name of the settings: "senteval" for the papers' settings, else what differs."""
        if self.classifier == "adam":
            return "senteval" if self.folds == 10 else f"senteval, {self.folds} folds"
        return f"lbfgs, {self.folds} folds" if self.nested else f"fast: lbfgs, {self.folds} folds, not nested"


EXACT = TransferSettings()
LBFGS = TransferSettings(classifier="lbfgs")
FAST = TransferSettings(classifier="lbfgs", folds=5, nested=False)


def find_transfer(folders: Sequence[Path], names: Sequence[str] = ()) -> tuple[list[Transfer], dict[str, str]]:
    """The tasks whose files lie below the folders in SentEval's layout, and why the others are left out.

    Raises:
        TaskError: a task that is none of the seven; a named one that is malformed.
    """
    unknown = [name for name in names if name not in _READERS]
    if unknown:
        raise TaskError(f"no transfer task is named {unknown[0]!r}", hint=f"known: {', '.join(_READERS)}")
    shelf = Shelf(folders)
    found: list[Transfer] = []
    left_out: dict[str, str] = {}
    for name in names or _READERS:
        files = {pattern: shelf.match(pattern) for pattern in _FILES[name]}
        missing = [pattern for pattern, paths in files.items() if not paths]
        if missing:
            left_out[name] = f"no file {missing[0]}"
        else:
            found.append(_READERS[name](name, [paths[0] for paths in files.values()]))
    return found, left_out


def _read_two_files(name: str, paths: Sequence[Path]) -> Transfer:
    """One sentence a line, a file for each of two labels; empty lines count."""
    texts = [_sentences(path) for path in paths]
    labels = np.repeat([1, 0], [len(part) for part in texts])
    return Transfer(name=name, parts={"all": Part((*texts[0], *texts[1]), labels)}, classes=2)


def _sentences(path: Path) -> list[str]:
    rows = _decoded(path).removesuffix("\n").split("\n")
    return [row.strip() or EMPTY for row in rows]


def _decoded(path: Path) -> str:
    """UTF-8, or ISO-8859-1 where it is not (TREC's training file)."""
    try:
        return read_text(path)
    except TaskError as error:
        if "is not UTF-8" not in error.what:
            raise
        return path.read_text(encoding="iso-8859-1")


def _read_sst(name: str, paths: Sequence[Path]) -> Transfer:
    return Transfer(
        name=name,
        parts={part: _labelled_lines(path) for part, path in zip(("train", "dev", "test"), paths, strict=True)},
        classes=2,
    )


def _labelled_lines(path: Path) -> Part:
    rows = [row.rsplit("\t", 1) for row in lines(_decoded(path)) if row.strip()]
    bad = next((i for i, row in enumerate(rows, 1) if len(row) < 2 or row[1].strip() not in ("0", "1")), 0)
    if bad:
        raise TaskError("expected a sentence, a tab and 0 or 1", where=f"{path}:{bad}")
    return Part(tuple(row[0].strip() or EMPTY for row in rows), np.array([int(row[1]) for row in rows]))


def _read_trec(name: str, paths: Sequence[Path]) -> Transfer:
    coarse = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
    parts = {}
    for part, path in zip(("train", "test"), paths, strict=True):
        rows = [row.partition(" ") for row in lines(_decoded(path)) if row.strip()]
        labels = [row[0].partition(":")[0] for row in rows]
        bad = next((i for i, label in enumerate(labels, 1) if label not in coarse), 0)
        if bad:
            raise TaskError(f"{labels[bad - 1]!r} is no question type", where=f"{path}:{bad}")
        parts[part] = Part(tuple(row[2].strip() or EMPTY for row in rows), np.array([*map(coarse.index, labels)]))
    return Transfer(name=name, parts=parts, classes=len(coarse))


def _read_mrpc(name: str, paths: Sequence[Path]) -> Transfer:
    parts = {}
    for part, path in zip(("train", "test"), paths, strict=True):
        rows = [row.split("\t") for row in lines(_decoded(path))[1:] if row.strip()]
        bad = next((i for i, row in enumerate(rows, 2) if len(row) != 5 or row[0] not in ("0", "1")), 0)
        if bad:
            raise TaskError("expected five columns, the first 0 or 1", where=f"{path}:{bad}")
        first, second = (tuple(row[i].strip() or EMPTY for row in rows) for i in (3, 4))
        parts[part] = Part(first, np.array([int(row[0]) for row in rows]), second)
    return Transfer(name=name, parts=parts, classes=2)


_FILES: dict[str, tuple[str, ...]] = {
    "MR": ("rt-polarity.pos", "rt-polarity.neg"),
    "CR": ("custrev.pos", "custrev.neg"),
    "SUBJ": ("subj.objective", "subj.subjective"),
    "MPQA": ("mpqa.pos", "mpqa.neg"),
    "SST-2": ("binary/sentiment-train", "binary/sentiment-dev", "binary/sentiment-test"),
    "TREC": ("train_5500.label", "TREC_10.label"),
    "MRPC": ("msr_paraphrase_train.txt", "msr_paraphrase_test.txt"),
}
_READERS: dict[str, Callable[[str, Sequence[Path]], Transfer]] = {
    "MR": _read_two_files,
    "CR": _read_two_files,
    "SUBJ": _read_two_files,
    "MPQA": _read_two_files,
    "SST-2": _read_sst,
    "TREC": _read_trec,
    "MRPC": _read_mrpc,
}


def score_transfer(
    encoder: TextEncoder,
    tasks: Sequence[Transfer],
    settings: TransferSettings | None = None,
    *,
    progress: Progress | None = None,
    on_task: Callable[[str], None] = lambda _: None,
) -> list[Score]:
    """Accuracy x100 of each task, then their average where all seven are there.

    Args:
        progress: of the embedding. on_task: told each task's name before its classifiers are fitted.
    """
    settings = settings or EXACT
    parts = [part for task in tasks for part in task.parts.values()]
    vectors = embed(encoder, (text for part in parts for text in (*part.first, *part.second)), progress)
    if hasattr(vectors.vectors, "tocsr"):  # SentEval's classifier would need them dense: gigabytes
        settings = replace(settings, classifier="lbfgs")
    scores = []
    for task in tasks:
        on_task(task.name)
        value = accuracy(task, {name: features(part, vectors) for name, part in task.parts.items()}, settings)
        scores.append(_score(task.name, 100 * value, task.n, settings))
    if len(tasks) == len(_READERS):
        mean = float(np.mean([score.value for score in scores if score.value is not None]))
        scores.append(_score(AVERAGE, mean, sum(task.n for task in tasks), settings))
    return scores


def _score(task: str, value: float, n: int, settings: TransferSettings) -> Score:
    return Score(
        task=task, language="en", split="test", protocol=settings.protocol, variant="senteval", metric="accuracy",
        value=value, n=n,
    )  # fmt: skip


def features(part: Part, vectors: Embeddings) -> Matrix:
    """(n, d) vectors, or (n, 2d): |u - v| and u * v of pairs."""
    first = vectors.rows(part.first)
    if not part.second:
        return first
    second = vectors.rows(part.second)
    if hasattr(first, "tocsr"):
        from scipy.sparse import hstack

        return hstack([abs(first - second), first.multiply(second)], format="csr")
    return np.hstack([np.abs(first - second), first * second])


def accuracy(task: Transfer, x: Mapping[str, Matrix], settings: TransferSettings) -> float:
    """Share of right answers: nested cross-validation, or the given split with the strength chosen on dev or train."""
    return (_by_adam if settings.classifier == "adam" else _by_lbfgs)(task, x, settings)


def _by_adam(task: Transfer, x: Mapping[str, Matrix], settings: TransferSettings) -> float:
    """SentEval's own way (its `validation.py`); sparse features do not fit."""
    import torch

    from dictsent.tasks.classifier import choose_decay, dev_tested, tested

    device = "cuda" if torch.cuda.is_available() else "cpu"
    data = torch.from_numpy(np.concatenate([np.asarray(x[name], dtype=np.float32) for name in x])).to(device)
    y = np.concatenate([task.parts[name].labels for name in x])
    labels, more = torch.from_numpy(y).to(device), {"classes": task.classes, "seed": settings.seed}
    ends = np.cumsum([len(task.parts[name].labels) for name in x])
    rows = dict(zip(x, np.split(np.arange(len(y)), ends[:-1]), strict=True))
    if "dev" in rows:
        return dev_tested(data, labels, (rows["train"], rows["dev"], rows["test"]), **more)
    parts = _folds(y, settings) if "all" in rows else [(rows["train"], rows["test"])]
    found = []
    for train, test in parts:
        inner = [(train[a], train[b]) for a, b in _folds(y[train], settings)]
        decay = choose_decay(data, labels, inner, **more)
        found.append(tested(data, labels, train, test, decay=decay, **more))
    return float(np.mean(found))


def _by_lbfgs(task: Transfer, x: Mapping[str, Matrix], settings: TransferSettings) -> float:
    y = {name: part.labels for name, part in task.parts.items()}
    if "all" in x:
        return _cross_validated(x["all"], y["all"], settings)
    if not settings.nested:
        strength = 1.0
    elif "dev" in x:
        strength = _best(_path(x["train"], y["train"], x["dev"], y["dev"]))
    else:
        strength = _chosen(x["train"], y["train"], settings)
    return _fitted_accuracy(x["train"], y["train"], x["test"], y["test"], strength)


def _folds(y: Labels, settings: TransferSettings) -> list[tuple[Labels, Labels]]:
    from sklearn.model_selection import StratifiedKFold

    folds = StratifiedKFold(n_splits=settings.folds, shuffle=True, random_state=settings.seed)
    return list(folds.split(np.zeros(len(y)), y))


def _cross_validated(x: Matrix, y: Labels, settings: TransferSettings) -> float:
    found = []
    for train, test in _folds(y, settings):
        strength = _chosen(x[train], y[train], settings) if settings.nested else 1.0
        found.append(_fitted_accuracy(x[train], y[train], x[test], y[test], strength))
    return float(np.mean(found))


def _chosen(x: Matrix, y: Labels, settings: TransferSettings) -> float:
    """The strength with the best mean accuracy over the inner folds; the strongest regularisation among equals."""
    paths = [_path(x[train], y[train], x[test], y[test]) for train, test in _folds(y, settings)]
    return _best(np.mean(paths, axis=0))


def _best(accuracies: NDArray[np.float64]) -> float:
    return STRENGTHS[int(np.argmax(accuracies))]


def _path(x: Matrix, y: Labels, x_test: Matrix, y_test: Labels) -> NDArray[np.float64]:
    """Accuracies over STRENGTHS, each fit started where the one before ended."""
    model = _classifier(warm_start=True)
    found = []
    for strength in STRENGTHS:
        model.set_params(C=strength)
        found.append(_fit(model, x, y).score(x_test, y_test))
    return np.array(found)


def _fitted_accuracy(x: Matrix, y: Labels, x_test: Matrix, y_test: Labels, strength: float) -> float:
    return float(_fit(_classifier(C=strength), x, y).score(x_test, y_test))


def _classifier(**settings: Any) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(solver="lbfgs", max_iter=300, tol=1e-3, **settings)


def _fit(model: Any, x: Matrix, y: Labels) -> Any:
    """Fit; an unfinished descent is used as it stands, as SentEval's is."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="sklearn")
        return model.fit(x, y)
