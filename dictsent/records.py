"""The records that travel from a dictionary file to a training pair.

Before: dictsent.errors. After: adapters make them, the store keeps them, dictsent.pairs makes Pair and Gloss.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff\u200e\u200f"))
_APOSTROPHES = str.maketrans("’ʼ＇‘", "''''")


def fold_space(text: str) -> str:
    """NFC, with every run of white space folded to one space and none at the ends."""
    return " ".join((text if text.isascii() else unicodedata.normalize("NFC", text)).split())


def comparison_form(text: str) -> str:
    """The form in which two definitions are compared; never stored in place of the text.

    NFKC (full- and half-width forms become one), one kind of apostrophe, no invisible marks, white space folded.
    Case and punctuation stay: near-duplicates are another matter.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_INVISIBLE).translate(_APOSTROPHES)
    return " ".join(text.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Dictionary:
    """What is known of one source before its entries are read.

    `version` is empty where the file does not tell: the source is then known by its path as well as its name.
    `language` is the BCP-47 tag of the headwords, "mul" for several, "" where only the user can tell (`--lang`).
    """

    name: str
    language: str
    title: str = ""
    version: str = ""
    licence: str = ""
    attribution: str = ""
    address: str = ""

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("a dictionary needs a name")


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence that shows a sense in use, its translation, and where it was quoted from."""

    text: str
    translation: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One sense of a headword, as plain text.

    Attributes:
        text: the definition; a sub-sense carries its parent's text in front where it needs it to be understood.
        language: BCP-47 tag of the language the definition is written in.
        part_of_speech: the source's own word for it, in lower case, "" where it does not say.
        sense: the sense's identifier in the source.
        ili: interlingual index identifier ("i46360") where the source has one.
        labels: "transitive", "botany", ...: kept apart from the text.
        form_of: the lemma, where the sense only says that the headword is a form of it ("plural of dog").
        etymology: the number of the homonym the source puts the sense under, 0 where it does not count.
        translation: True where the text is an equivalent in another language, not a definition.
    """

    text: str
    language: str
    part_of_speech: str = ""
    sense: str = ""
    ili: str = ""
    examples: tuple[Example, ...] = ()
    labels: tuple[str, ...] = ()
    form_of: str = ""
    etymology: int = 0
    translation: bool = False

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ValueError("a definition needs text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A headword with its definitions in the order of the source.

    Attributes:
        headword: as written in the source, without markup.
        language: BCP-47 tag of the headword as the source gives it (pt-BR); the store finds it under pt too.
        spellings: other spellings of the same word (kanji and kana, older orthography).
        place: where it stands: "data.noun:1740", "page 'dog', revision 123, 2026-01-01T00:00:00Z".
    """

    headword: str
    language: str
    definitions: tuple[Definition, ...]
    spellings: tuple[str, ...] = ()
    place: str = ""

    def __post_init__(self) -> None:
        if not self.headword.strip():
            raise ValueError("an entry needs a headword")
        if not self.definitions:
            raise ValueError(f"entry {self.headword!r} has no definitions")


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that could not be used: a value, never silence.

    Attributes:
        reason: one of a few short phrases per adapter ("no tab", "markup left"), so that they can be counted.
        place: file and line, or page.
        text: the beginning of what was met.
    """

    reason: str
    place: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Gloss:
    """One distinct definition text with all headwords it defines and the examples seen with it."""

    text: str
    headwords: tuple[str, ...]
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """One (entry, definition) row for training or word prediction.

    `entry` is the store's id of the headword, the same for all its definitions; `split` is train, dev or test.
    """

    entry: int
    headword: str
    definition: str
    split: str = "train"
