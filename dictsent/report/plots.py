"""Plots as SVG text (extra `report`: matplotlib).

Before: arrays. After: dictsent.report's pages embed them.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dictsent.errors import MissingExtraError

_SIZE = (6.4, 3.8)


def _matplotlib() -> Any:
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("plots need matplotlib", hint="pip install 'dictsent[report]'") from None
    matplotlib.rcParams.update({"svg.fonttype": "path", "svg.hashsalt": "dictsent", "font.size": 10})
    return Figure


@contextmanager
def _figure(size: tuple[float, float] = _SIZE) -> Iterator[tuple[Any, Any]]:
    figure = _matplotlib()(figsize=size, layout="constrained")
    axes = figure.subplots()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    yield figure, axes


def _svg(figure: Any) -> str:
    """Without the XML declaration, and the same for the same data."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def heat_map(names: Sequence[str], values: NDArray[np.float64]) -> str:
    """(m, m) overlaps with the value in each cell (Lin and Smith, 2019, Figure 3)."""
    side = 0.9 * len(names) + 0.08 * max(map(len, names))
    with _figure((side + 1.6, side + 0.4)) as (figure, axes):
        shown = values.copy()
        np.fill_diagonal(shown, np.nan)
        most = float(np.nanmax(shown)) if len(names) > 1 else 1.0
        image = axes.imshow(shown, cmap="Blues", vmin=0, vmax=most or 1.0)
        axes.set_xticks(range(len(names)), names, rotation=40, ha="right")
        axes.set_yticks(range(len(names)), names)
        for i, j in np.ndindex(*values.shape):
            if i != j:
                dark = values[i, j] > 0.6 * most
                axes.text(j, i, f"{values[i, j]:.2f}", ha="center", va="center", color="white" if dark else "black")
        figure.colorbar(image, ax=axes, label="N2O", shrink=0.8)
        return _svg(figure)


def distributions(values: Mapping[str, Sequence[float]], label: str) -> str:
    """One row of points a name with its median (Figure 6)."""
    with _figure((_SIZE[0], 0.5 * len(values) + 1.2)) as (figure, axes):
        for row, points in enumerate(values.values()):
            axes.plot(points, [row] * len(points), "o", alpha=0.6, color="#1f5fa8")
            axes.plot([np.median(points)], [row], "|", markersize=18, color="black")
        axes.set_yticks(range(len(values)), list(values))
        axes.set_ylim(len(values) - 0.5, -0.5)
        axes.set_xlim(left=0)
        axes.set_xlabel(label)
        return _svg(figure)


def intervals(values: Mapping[str, tuple[float, float, float]], label: str) -> str:
    """A point and its interval (mean, low, high) a name."""
    with _figure((_SIZE[0], 0.42 * len(values) + 1.2)) as (figure, axes):
        for row, (mean, low, high) in enumerate(values.values()):
            axes.plot([low, high], [row, row], "-", color="#1f5fa8")
            axes.plot([mean], [row], "o", color="#1f5fa8")
        axes.set_yticks(range(len(values)), list(values))
        axes.set_ylim(len(values) - 0.5, -0.5)
        axes.set_xlabel(label)
        return _svg(figure)


def bars(columns: Sequence[str], rows: Mapping[str, Sequence[float | None]], label: str) -> str:
    """Groups of bars: a group a column, a bar a row; what is missing leaves a gap."""
    with _figure((max(_SIZE[0], 0.9 * len(columns)), _SIZE[1])) as (figure, axes):
        width = 0.8 / max(len(rows), 1)
        for number, (name, values) in enumerate(rows.items()):
            at = np.arange(len(columns)) + (number - (len(rows) - 1) / 2) * width
            axes.bar(at, [np.nan if v is None else v for v in values], width, label=name)
        axes.set_xticks(range(len(columns)), columns, rotation=20, ha="right")
        axes.set_ylabel(label)
        if len(rows) > 1:
            axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2)
        return _svg(figure)


def spectrum(values: Mapping[str, NDArray[np.float64]]) -> str:
    """Eigenvalues of the covariance as shares of their sum, largest first, logarithmic."""
    with _figure() as (figure, axes):
        for name, shares in values.items():
            axes.plot(np.arange(1, len(shares) + 1), np.maximum(shares, 1e-9), label=name)
        axes.set_yscale("log")
        axes.set_xlabel("principal axis")
        axes.set_ylabel("share of the variance")
        if len(values) > 1:
            axes.legend(frameon=False, fontsize=8)
        return _svg(figure)


def scatter(points: NDArray[np.float32], label: str) -> str:
    """(n, 2) coordinates; at most 1,500 of them are drawn, which keeps the file small."""
    drawn = points[:: max(1, -(-len(points) // 1500))]
    with _figure((3.6, 3.4)) as (figure, axes):
        axes.plot(drawn[:, 0], drawn[:, 1], ".", markersize=2, alpha=0.5, color="#1f5fa8")
        axes.axhline(0, color="0.8", linewidth=0.6, zorder=0)
        axes.axvline(0, color="0.8", linewidth=0.6, zorder=0)
        axes.set_title(label, fontsize=10)
        return _svg(figure)


def steps(values: Mapping[str, Sequence[float]], label: str) -> str:
    """A line a run over its PST steps."""
    with _figure((_SIZE[0], 3.0)) as (figure, axes):
        for name, line in values.items():
            axes.plot(range(1, len(line) + 1), line, "o-", label=name)
        axes.set_xticks(range(1, max(map(len, values.values())) + 1))
        axes.set_xlabel("PST step")
        axes.set_ylabel(label)
        if len(values) > 1:
            axes.legend(frameon=False, fontsize=8)
        return _svg(figure)
