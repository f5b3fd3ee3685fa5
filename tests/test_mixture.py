"""Several languages sampled by temperature."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dictsent.errors import PairsError
from dictsent.pairs import Pairs
from dictsent.pairs.mixture import mixed, shares
from dictsent.records import Pair


def part(language: int, size: int) -> Pairs:
    train = [Pair(1000 * language + i, f"w{i}", f"definition {i} of {language}", "train") for i in range(size)]
    dev = [Pair(1000 * language + 900, "d", f"dev of {language}", "dev")]
    return Pairs(train, dev, [], {"only forms of other words": language}, {})


def test_temperature_one_leaves_everything_as_it_is() -> None:
    parts = {"en": part(1, 90), "ja": part(2, 10)}
    together = mixed(parts)
    assert list(together.train) == [*parts["en"].train, *parts["ja"].train]
    assert list(together.dev) == [*parts["en"].dev, *parts["ja"].dev]
    assert together.left_out == {"only forms of other words": 3}


@given(st.integers(1, 60), st.integers(1, 60), st.floats(1.0, 20.0), st.integers(0, 9))
def test_an_epoch_keeps_its_size_and_repeats_evenly(one: int, two: int, temperature: float, seed: int) -> None:
    parts = {"en": part(1, one), "ja": part(2, two)}
    together = mixed(parts, temperature=temperature, seed=seed)
    assert abs(len(together.train) - one - two) <= 1
    assert list(together.train) == list(mixed(parts, temperature=temperature, seed=seed).train)
    for language in (1, 2):
        times = Counter(p.entry for p in together.train if p.entry // 1000 == language)
        assert not times or max(times.values()) - min(times.values()) <= 1


def test_high_temperature_gives_every_language_the_same() -> None:
    assert shares({"en": 90, "ja": 10, "de": 0}, 1e6) == pytest.approx({"en": 0.5, "ja": 0.5, "de": 0.0}, abs=1e-4)
    assert shares({"en": 81, "ja": 1}, 2) == pytest.approx({"en": 0.9, "ja": 0.1})
    with pytest.raises(PairsError, match="more than 0"):
        shares({"en": 1}, 0)
