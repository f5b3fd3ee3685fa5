"""BCP-47 language tags: one spelling for each language, names for people.

Before: dictsent.errors. After: the store keys entries by `key_language`; people's words become tags by `find_tag`.
"""

from __future__ import annotations

import difflib
from functools import lru_cache
from typing import TYPE_CHECKING

from dictsent.errors import LanguageError

if TYPE_CHECKING:
    from langcodes import Language

SEVERAL = "mul"
"""The tag of a source with headwords in several languages (ISO 639-2)."""

_PARTS = {"Jpan": ("Hira", "Kana", "Hrkt", "Hani"), "Kore": ("Hang", "Hani")}
"""Scripts that are part of a mixed one: a Japanese word in kana is a Japanese word."""
_NEAR = 0.72


@lru_cache(maxsize=4096)
def standard_tag(tag: str) -> str:
    """The canonical BCP-47 spelling with the macro language: eng -> en, cmn -> zh, pt_br -> pt-BR.

    Raises:
        LanguageError: `tag` is not a language tag.
    """
    try:
        language = _parse(tag)
    except ValueError:
        # No suggestion here: looking for one takes longer than a dictionary's reader can wait for each foreign tag.
        raise LanguageError(f"{tag!r} is not a language tag", hint="tags look like en, ja or pt-BR") from None
    return str(language.to_tag())


@lru_cache(maxsize=4096)
def key_language(tag: str) -> str:
    """The tag entries are keyed by: macro language, and the script where it is not the language's usual one.

    pt-BR -> pt, zh-Hans -> zh, zh-TW -> zh-Hant (a region may tell the script), sr-Latn -> sr-Latn, en-Latn -> en.
    """
    from langcodes import Language

    language = Language.get(standard_tag(tag))
    plain = Language.make(language=language.language)
    script, usual = language.maximize().script, plain.maximize().script
    if not language.language or script == usual or script in _PARTS.get(usual or "", ()):
        return str(plain.to_tag()) if language.language else standard_tag(tag)
    return str(Language.make(language=language.language, script=script).to_tag())


@lru_cache(maxsize=4096)
def find_tag(text: str) -> str:
    """The full tag for what a user typed: a tag ("pt-BR", "jpn") or a name in English or in the language ("Japanese").

    Raises:
        LanguageError: nothing of that name; suggests the nearest.
    """
    import langcodes

    try:
        return standard_tag(text)
    except LanguageError:
        pass
    try:
        return standard_tag(str(langcodes.find(text).to_tag()))
    except (LookupError, ValueError):  # ValueError: langcodes' own search trips over control characters
        raise LanguageError(f"{text!r} is no language tag or name", hint=_suggestion(text)) from None


def find_language(text: str) -> str:
    """The key tag for what a user typed (see `find_tag`): what entries are looked for by. Raises LanguageError."""
    return key_language(find_tag(text))


@lru_cache(maxsize=4096)
def display_name(tag: str) -> str:
    """The English name: ja -> Japanese."""
    from langcodes import Language

    return "Several languages" if tag == SEVERAL else str(Language.get(tag).display_name())


def _parse(tag: str) -> Language:
    import langcodes

    standard = langcodes.standardize_tag(tag.strip(), macro=True)
    language = langcodes.Language.get(standard)
    if not language.language or not language.is_valid():
        raise ValueError(tag)
    return language


def _suggestion(text: str) -> str:
    from langcodes import Language

    text = text.strip()
    if len(text) == 2 and text.isalpha() and text.isascii():
        # People write a country's code for its language: jp, gr, cz.
        spoken = Language.make(territory=text.upper()).maximize()
        if spoken.language and spoken.territory == text.upper():
            return f"did you mean {spoken.language} ({Language.make(language=spoken.language).display_name()})?"
    near = difflib.get_close_matches(text.title(), list(_names()), n=1, cutoff=_NEAR) if len(text) > 3 else []
    if not near:
        return "give a BCP-47 tag such as en, ja or pt-BR, or a name such as Japanese"
    return f"did you mean {_names()[near[0]]} ({near[0]})?"


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    from langcodes import Language
    from langcodes.registry_parser import parse_registry

    rows = parse_registry()
    tags = [str(row["Subtag"]) for row in rows if row.get("Type") == "language" and len(row["Subtag"]) <= 3]
    return {Language.get(tag).display_name(): tag for tag in tags}
