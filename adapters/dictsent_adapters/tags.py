"""The language tag for what a dictionary writes, without an error where it is none.

Before: a code or a name found in a file. After: the adapters put the tag into their records.
"""

from __future__ import annotations

from functools import lru_cache

from dictsent.errors import LanguageError
from dictsent.languages import display_name, find_language, standard_tag


@lru_cache(maxsize=4096)
def tag_of_code(code: str) -> str:
    """The BCP-47 tag of an ISO 639 code or tag, "" where it is none."""
    if not code.strip():
        return ""
    try:
        return standard_tag(code)
    except LanguageError:
        return ""


@lru_cache(maxsize=4096)
def tag_of_name(name: str) -> str:
    """The BCP-47 tag of a language's English name, "" where it is none; nothing is guessed from a similar name."""
    if not name.strip():
        return ""
    try:
        tag = find_language(name)
    except LanguageError:
        return ""
    return tag if display_name(tag).casefold() == name.strip().casefold() else ""
