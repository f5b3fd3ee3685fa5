"""The space of entries at each PST step: two projections, the spectrum, and what the figures say.

Before: portraits in runs' records, or the entry matrix a run was saved with. After: dictsent.report.runs' page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from dictsent.report import plots
from dictsent.report.page import plot
from dictsent.report.tables import Table, to_html
from dictsent.tasks.isotropy import Portrait, draw_portrait, read_portrait

PORTRAIT = "portrait"
"""The key of a step's portrait in a record's `steps`."""


def portraits(folder: Path, record: Mapping[str, Any]) -> dict[str, Portrait]:
    """ "step 1" -> the entry matrix that step trained against; of a record without portraits the last one only."""
    kept = {f"step {log['step']}": log[PORTRAIT] for log in record.get("steps", []) if log.get(PORTRAIT)}
    if kept:
        return {name: read_portrait(found) for name, found in kept.items()}
    from dictsent.entryspace import load_space
    from dictsent.model import OWN

    space = load_space(folder / OWN)
    if space is None or min(space.matrix.shape) < 2:
        return {}
    return {f"step {len(record.get('steps', [])) or 1}": draw_portrait(space.matrix.numpy())}


def spaces(runs: Sequence[tuple[str, Path, Mapping[str, Any]]]) -> str:
    """The section's HTML for (name, folder, record) of each run; "" where no run has entries."""
    found = {name: portraits(folder, record) for name, folder, record in runs}
    found = {name: steps for name, steps in found.items() if steps}
    if not found:
        return ""
    parts = [to_html(table(found))]
    for name, steps in found.items():
        parts.append(f"<h3>{escape(name)}</h3>" + "".join(_step(name, step, one) for step, one in steps.items()))
    spectra = {label: one.figures.spectrum for label, one in _labelled(found)}
    return "".join(parts) + plot(plots.spectrum(spectra), "Eigenvalues of the covariance of the entry matrices")


def table(found: Mapping[str, Mapping[str, Portrait]]) -> Table:
    """Isotropy figures, a row a step."""
    rows = tuple(
        (
            label,
            f"{one.rows:,}",
            f"{one.figures.average_cosine:.3f}",
            f"{one.figures.isoscore:.3f}",
            f"{one.figures.effective_rank:.0f} of {len(one.figures.spectrum)}",
        )
        for label, one in _labelled(found)
    )
    caption = "Entry matrices: average cosine (0: isotropic), IsoScore (1: isotropic), directions in use"
    return Table(caption, ("run", "entries", "average cosine", "IsoScore", "effective rank"), rows)


def _labelled(found: Mapping[str, Mapping[str, Portrait]]) -> Iterator[tuple[str, Portrait]]:
    for name, steps in found.items():
        for step, one in steps.items():
            yield (f"{name}, {step}", one)


def _step(name: str, step: str, one: Portrait) -> str:
    pair = plot(plots.scatter(one.points.svd, f"{step}: SVD"), f"{name}, {step}: first two singular directions")
    pair += plot(
        plots.scatter(one.points.pca, f"{step}: PCA, whitened"), f"{name}, {step}: first two principal axes, whitened"
    )
    return f'<div class="pair">{pair}</div>'
