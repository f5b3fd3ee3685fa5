"""How evenly vectors fill their space: average cosine, IsoScore, eigenvalue spectrum, and two projections.

Before: any (n, d) matrix: sentence vectors or DefSent+'s entry matrix. After: `dictsent eval isotropy`, the report.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dictsent.errors import TaskError
from dictsent.tasks.embedding import normalised
from dictsent.tasks.scores import Score

if TYPE_CHECKING:
    from dictsent.train import Trained

Floats = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Isotropy:
    """Figures of one (n, d) matrix.

    Attributes:
        average_cosine: mean cosine of two different rows; 0 where directions are uniform (Ethayarajh, 2019).
        isoscore: 0 (one direction) to 1 (all directions alike) of the centred rows (Rudman et al., 2022).
        spectrum: (d,) eigenvalues of the covariance as shares of their sum, largest first.
    """

    average_cosine: float
    isoscore: float
    spectrum: NDArray[np.float64]

    @property
    def effective_rank(self) -> float:
        """exp of the spectrum's entropy: the number of directions in use (Roy and Vetterli, 2007)."""
        shares = self.spectrum[self.spectrum > 0]
        return float(np.exp(-(shares * np.log(shares)).sum()))


def isotropy(vectors: Floats) -> Isotropy:
    """Figures of (n, d) rows.

    Raises:
        TaskError: fewer than two rows or columns, or all rows equal.
    """
    if vectors.ndim != 2 or min(vectors.shape) < 2:
        raise TaskError(f"isotropy needs at least 2 x 2 values, not {vectors.shape}")
    eigenvalues = np.clip(np.linalg.eigvalsh(_covariance(vectors))[::-1], 0.0, None)
    if eigenvalues.sum() <= 0:
        raise TaskError("all vectors are equal", hint="there is no spread to measure")
    return Isotropy(_average_cosine(vectors), _isoscore(eigenvalues), eigenvalues / eigenvalues.sum())


def _covariance(vectors: Floats) -> NDArray[np.float64]:
    """In double precision, block by block, so that float32 rows are not copied whole."""
    mean = vectors.mean(axis=0, dtype=np.float64)
    total = np.zeros((vectors.shape[1], vectors.shape[1]))
    for start in range(0, len(vectors), 16_384):
        block = vectors[start : start + 16_384] - mean
        total += block.T @ block
    return total / (len(vectors) - 1)


def _average_cosine(vectors: Floats) -> float:
    """Exactly, over all ordered pairs: (|sum of unit rows|^2 - n) / (n (n - 1)); rows of zeros count as 0."""
    total, own = np.zeros(vectors.shape[1]), 0.0
    for start in range(0, len(vectors), 16_384):
        unit = normalised(vectors[start : start + 16_384]).astype(np.float64)
        total += unit.sum(axis=0)
        own += float((unit * unit).sum())
    return float((total @ total - own) / (len(vectors) * (len(vectors) - 1)))


def _isoscore(eigenvalues: NDArray[np.float64]) -> float:
    """Rudman et al. (2022), Algorithm 1, from the variances along the principal axes."""
    d = len(eigenvalues)
    scaled = eigenvalues * np.sqrt(d) / np.linalg.norm(eigenvalues)
    defect = np.linalg.norm(scaled - 1.0) / np.sqrt(2 * (d - np.sqrt(d)))
    used = (d - defect**2 * (d - np.sqrt(d))) ** 2 / d**2
    return float((d * used - 1) / (d - 1))


@dataclass(frozen=True, slots=True)
class Projections:
    """(n, 2) coordinates: `svd` of the rows as they are, `pca` centred and whitened (the papers' scatter plots)."""

    svd: NDArray[np.float32]
    pca: NDArray[np.float32]


def projections(vectors: Floats, *, most: int = 5000, seed: int = 0) -> Projections:
    """First two axes; with more than `most` rows a random sample of them is projected."""
    if len(vectors) > most:
        vectors = vectors[np.sort(np.random.default_rng(seed).choice(len(vectors), most, replace=False))]
    rows = vectors.astype(np.float64)
    axes = np.linalg.svd(rows, full_matrices=False)[2][:2]
    centred = rows - rows.mean(axis=0)
    scores = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
    spread = scores.std(axis=0)
    return Projections(
        (rows @ axes.T).astype(np.float32), (scores / np.where(spread == 0, 1, spread)).astype(np.float32)
    )


@dataclass(frozen=True, slots=True)
class Portrait:
    """A matrix as its figures and a sample of its rows in two dimensions: what a training keeps of each PST step."""

    rows: int
    figures: Isotropy
    points: Projections


def draw_portrait(vectors: Floats, *, points: int = 1000) -> Portrait:
    """The portrait of (n, d) rows, with at most so many of them as points. Raises TaskError as `isotropy` does."""
    found = projections(vectors)
    kept = slice(None, None, max(1, -(-len(found.svd) // points)))
    return Portrait(len(vectors), isotropy(vectors), Projections(found.svd[kept], found.pca[kept]))


def write_portrait(portrait: Portrait) -> dict[str, Any]:
    """As JSON of about 15 kB for a run's record: arrays are little-endian float16 (points) or float32 in base64."""
    return {
        "rows": portrait.rows,
        "average_cosine": portrait.figures.average_cosine,
        "isoscore": portrait.figures.isoscore,
        "spectrum": _packed(portrait.figures.spectrum, "<f4"),
        "svd": _packed(portrait.points.svd, "<f2"),
        "pca": _packed(portrait.points.pca, "<f2"),
    }


def read_portrait(kept: Mapping[str, Any]) -> Portrait:
    """What `write_portrait` wrote."""
    spectrum = _unpacked(kept["spectrum"], "<f4").astype(np.float64)
    points = (_unpacked(kept[name], "<f2").astype(np.float32).reshape(-1, 2) for name in ("svd", "pca"))
    return Portrait(kept["rows"], Isotropy(kept["average_cosine"], kept["isoscore"], spectrum), Projections(*points))


def portrait_of(trained: Trained) -> dict[str, Any]:
    """The portrait of a training's entry matrix for its record; empty without one, or where it has no spread."""
    if trained.space is None or min(trained.space.matrix.shape) < 2:
        return {}
    try:
        return write_portrait(draw_portrait(trained.space.matrix.numpy()))
    except TaskError:
        return {}


def _packed(values: Floats, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")


def _unpacked(text: str, kind: str) -> NDArray[Any]:
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def isotropy_scores(found: Isotropy, *, language: str, n: int, variant: str) -> list[Score]:
    """The figures as scores of the task "isotropy"."""
    values = {
        "average_cosine": found.average_cosine,
        "isoscore": found.isoscore,
        "effective_rank": found.effective_rank,
        "top_eigenvalue_share": float(found.spectrum[0]),
    }
    return [
        Score(
            task="isotropy",
            language=language,
            split="",
            protocol="cosine" if metric == "average_cosine" else "covariance",
            variant=variant,
            metric=metric,
            value=value,
            n=n,
        )
        for metric, value in values.items()
    ]
