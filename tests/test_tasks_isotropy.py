"""Isotropy of matrices whose answer is known."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dictsent.errors import TaskError
from dictsent.tasks.isotropy import (
    draw_portrait,
    isotropy,
    isotropy_scores,
    portrait_of,
    projections,
    read_portrait,
    write_portrait,
)


def test_a_round_cloud_is_isotropic_and_a_line_is_not():
    draws = np.random.default_rng(0)
    ball = isotropy(draws.normal(size=(20_000, 16)).astype(np.float32))
    assert ball.average_cosine == pytest.approx(0.0, abs=0.01)
    assert ball.isoscore > 0.99
    assert ball.effective_rank == pytest.approx(16, abs=0.1)
    line = isotropy(draws.normal(size=(1000, 1)) @ np.ones((1, 16)) + 1e-4 * draws.normal(size=(1000, 16)))
    assert line.isoscore < 0.01
    assert line.spectrum[0] > 0.999


def test_isoscore_of_known_spectra():
    """Rudman et al., section 4: k equal directions of n score (k - 1) / (n - 1)."""
    rows = np.zeros((8, 4))
    for axis in range(2):
        rows[4 * axis : 4 * axis + 4, axis] = [1, -1, 1, -1]
    assert isotropy(rows + 0).isoscore == pytest.approx(1 / 3, abs=1e-9)


def test_average_cosine_is_the_mean_over_pairs():
    rows = np.random.default_rng(1).normal(size=(50, 6)) + 0.7
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = (unit @ unit.T)[~np.eye(50, dtype=bool)]
    assert isotropy(rows).average_cosine == pytest.approx(cosines.mean(), abs=1e-6)


def test_projections_have_unit_spread_after_whitening():
    rows = np.random.default_rng(2).normal(size=(300, 5)) * [9, 3, 1, 1, 1] + 5
    found = projections(rows, most=200)
    assert found.svd.shape == found.pca.shape == (200, 2)
    assert found.pca.std(axis=0) == pytest.approx([1, 1], abs=1e-5)
    assert abs(np.corrcoef(found.pca.T)[0, 1]) < 1e-5


def test_equal_vectors_and_too_few_are_said():
    with pytest.raises(TaskError, match="all vectors are equal"):
        isotropy(np.ones((5, 3)))
    with pytest.raises(TaskError, match="at least 2 x 2"):
        isotropy(np.ones((1, 3)))


def test_scores():
    scores = isotropy_scores(isotropy(np.eye(4)), language="en", n=4, variant="entries")
    assert [score.metric for score in scores] == [
        "average_cosine",
        "isoscore",
        "effective_rank",
        "top_eigenvalue_share",
    ]


def test_a_portrait_survives_the_record():
    rows = np.random.default_rng(5).normal(size=(3000, 12)).astype(np.float32) * np.arange(1, 13) + 3
    drawn = draw_portrait(rows, points=500)
    kept = json.loads(json.dumps(write_portrait(drawn)))
    read = read_portrait(kept)
    assert len(json.dumps(kept)) < 20_000
    assert (read.rows, len(read.points.svd)) == (3000, 500)
    assert read.figures.isoscore == drawn.figures.isoscore
    np.testing.assert_allclose(read.figures.spectrum, drawn.figures.spectrum, rtol=1e-6)
    np.testing.assert_allclose(read.points.svd, drawn.points.svd, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(read.points.pca.std(axis=0), 1, atol=0.1)


def test_what_has_no_spread_has_no_portrait():
    space = SimpleNamespace(matrix=torch.ones(5, 3))
    assert portrait_of(SimpleNamespace(space=space)) == {}
    assert portrait_of(SimpleNamespace(space=None)) == {}
    space.matrix[0, 0] = 2
    assert portrait_of(SimpleNamespace(space=space))["rows"] == 5
