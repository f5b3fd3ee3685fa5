"""Names of licences, compared as people write them: "CC BY-SA 4.0", "CC-BY-SA-4.0" and the deed's address are one.

Before: sources carry what their files say. After: `--licence-allow` becomes the store's own spellings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from dictsent.errors import PairsError

NONE = "none"
"""The word by which sources that state no licence are allowed."""

_ADDRESS = re.compile(
    r"(?:https?://)?(?:www\.)?creativecommons\.org/(?:licenses|publicdomain)/([a-z-]+)(?:/(\d\.\d))?\S*"
)
_LONG = (
    ("creative commons", "cc"),
    ("attribution", "by"),
    ("non-commercial", "nc"),
    ("noncommercial", "nc"),
    ("sharealike", "sa"),
    ("share alike", "sa"),
    ("share-alike", "sa"),
    ("noderivatives", "nd"),
    ("no derivatives", "nd"),
    ("gnu general public", "gpl"),
    ("gnu free documentation", "gfdl"),
    ("public domain dedication", "zero"),
    ("cc0", "cc zero"),
)
_IDLE = {"the", "licence", "license", "licenced", "licensed", "version", "v", "international", "unported", "or later"}
_EITHER = re.compile(r"\s+or\s+(?!later)|\s*\|\s*", re.IGNORECASE)
_EACH = re.compile(r"\s+and\s+|\s*[;&+,]\s+", re.IGNORECASE)
_TOKEN = re.compile(r"\d+(?:\.\d+)*|[^\W\d_]+")


def allowed_licences(held: Iterable[str], wanted: Sequence[str]) -> tuple[str, ...]:
    """Of the licences in the store, those that are among the wanted ones.

    Case and punctuation do not matter; a version does where one is asked for. "A or B" is allowed by either,
    "A and B" by both together. A wanted "none" allows sources that state no licence.

    Raises:
        PairsError: none is; names the ones there are.
    """
    held = sorted(set(held))
    found = tuple(licence for licence in held if _is_allowed(licence, wanted))
    if not found:
        names = ", ".join(licence or f"none stated ({NONE})" for licence in held) or "nothing"
        raise PairsError(
            f"no source in this language is under {' or '.join(wanted)}",
            where="--licence-allow",
            hint=f"there is {names}",
        )
    return found


_HUB = {("cc zero", version): "cc0-1.0" for version in ("", "1")} | {
    ("mit", ""): "mit",
    ("apache", "2"): "apache-2.0",
    ("gpl", "2"): "gpl-2.0",
    ("gpl", "3"): "gpl-3.0",
    ("gfdl", ""): "gfdl",
}
_HUB_CC = {
    "cc by": ("2", "2.5", "3", "4"),
    "cc by sa": ("3", "4"),
    "cc by nc": ("2", "3", "4"),
    "cc by nd": ("4",),
    "cc by nc sa": ("2", "3", "4"),
    "cc by nc nd": ("3", "4"),
}


def hub_licence(licence: str) -> str:
    """The name by which the model hub knows a licence: "cc-by-sa-4.0"; "other", or "unknown" where none is stated."""
    if not licence.strip():
        return "unknown"
    letters, version = _key(licence)
    if version in _HUB_CC.get(letters, ()):
        return f"{letters.replace(' ', '-')}-{version if '.' in version else version + '.0'}"
    return _HUB.get((letters, version), "other")


def _is_allowed(licence: str, wanted: Sequence[str]) -> bool:
    if licence in wanted:
        return True
    if not licence.strip():
        return NONE in (word.strip().lower() for word in wanted)
    keys = [_key(word) for word in wanted]
    return any(_key(licence) == key for key in keys) or any(
        all(any(_covers(key, _key(part)) for key in keys) for part in _EACH.split(either))
        for either in _EITHER.split(licence)
    )


def _covers(wanted: tuple[str, str], held: tuple[str, str]) -> bool:
    return wanted[0] == held[0] and wanted[1] in ("", held[1])


def _key(licence: str) -> tuple[str, str]:
    """The name's letters and its version."""
    text = _ADDRESS.sub(r"cc \1 \2", licence.strip().lower())
    for long, short in _LONG:
        text = text.replace(long, short)
    tokens = [token for token in _TOKEN.findall(re.sub(r"\bor[ -]later\b", "", text)) if token not in _IDLE]
    version = next((token for token in tokens if token[0].isdigit()), "")
    if version.endswith(".0"):
        version = version.removesuffix(".0")
    return " ".join(token for token in tokens if not token[0].isdigit()), version
