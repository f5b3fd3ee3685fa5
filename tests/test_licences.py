"""Licences are matched as people write them, and never more widely than asked."""

from __future__ import annotations

import pytest

from dictsent.errors import PairsError
from dictsent.licences import allowed_licences


@pytest.mark.parametrize(
    ("held", "wanted", "allowed"),
    [
        ("CC BY-SA 4.0", "cc-by-sa-4.0", True),
        ("https://creativecommons.org/licenses/by-sa/4.0/", "CC-BY-SA-4.0", True),
        ("http://creativecommons.org/licenses/by/4.0/deed.en", "CC BY", True),
        ("Creative Commons Attribution-ShareAlike 4.0 International License", "CC-BY-SA", True),
        ("CC0-1.0", "https://creativecommons.org/publicdomain/zero/1.0/", True),
        ("WordNet", "wordnet licence", True),
        ("GPL-3.0-or-later", "GPL-3.0", True),
        ("GNU General Public License, version 2", "gpl-2.0", True),
        ("CC BY-SA 4.0", "CC-BY", False),
        ("CC BY-NC 4.0", "CC-BY", False),
        ("CC BY 4.0", "CC-BY-SA", False),
        ("CC BY-SA 3.0", "CC-BY-SA-4.0", False),
        ("CC BY-SA", "CC-BY-SA-4.0", False),
        ("CC-BY-SA-4.0 OR GFDL-1.3", "GFDL", True),
        ("CC BY-SA 3.0 and GFDL", "GFDL", False),
        ("CC BY-SA 3.0; WordNet", "WordNet", False),
        ("", "none", True),
        ("", "CC0", False),
    ],
)
def test_names(held: str, wanted: str, allowed: bool) -> None:
    if allowed:
        assert allowed_licences([held, "Oxford"], [wanted]) == (held,)
    else:
        with pytest.raises(PairsError, match=r"no source in this language is under .*; there is .*Oxford"):
            allowed_licences([held, "Oxford"], [wanted])


def test_both_of_two() -> None:
    assert allowed_licences(["CC BY-SA 3.0 and GFDL", "MIT"], ["GFDL", "CC-BY-SA"]) == ("CC BY-SA 3.0 and GFDL",)
