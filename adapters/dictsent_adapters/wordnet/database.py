"""A lexicon of the user's own database of the `wn` library, named by a specifier such as wn:oewn:2025.

Before: wn's database, which is only read. After: the WordNet adapter yields the entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dictsent.adapter import Reading
from dictsent.errors import SourceError
from dictsent.records import Definition, Dictionary, Entry, Example, Rejected
from dictsent_adapters.wordnet.lmf import (
    PARTS_OF_SPEECH,
    POSITIONS,
    Meaning,
    describe_lexicon,
    interlingual,
    unquoted,
)

PREFIX = "wn:"


def find_lexicon(source: str) -> Any:
    """The one wn.Lexicon that "wn:ID" or "wn:ID:VERSION" names.

    Raises:
        SourceError: wn's database is missing or of another version, the lexicon is not in it, or several are.
    """
    import wn

    specifier = source.removeprefix(PREFIX)
    hint = f"python -m wn download {specifier}"
    if not wn.config.database_path.is_file():
        raise SourceError(f"wn has no database at {wn.config.database_path}", where=source, hint=hint)
    try:
        found = wn.lexicons(lexicon=specifier)
    except wn.DatabaseError as error:
        raise SourceError(f"wn's database cannot be used: {error}", where=source, hint="see `python -m wn`") from error
    except wn.Error:
        found = []
    if not found:
        held = ", ".join(lexicon.specifier() for lexicon in wn.lexicons()) or "nothing"
        raise SourceError(f"not in wn's database, which holds {held}", where=source, hint=hint)
    if len(found) > 1:
        names = ", ".join(lexicon.specifier() for lexicon in found)
        raise SourceError("names several lexicons", where=source, hint=f"one of {names}")
    return found[0]


def describe_database_lexicon(source: str) -> Dictionary:
    """What wn's database says of the lexicon."""
    lexicon = find_lexicon(source)
    names = ("id", "language", "label", "version", "license", "citation", "url")
    return describe_lexicon({name: getattr(lexicon, name) or "" for name in names})


def read_database_lexicon(source: str, reading: Reading) -> Iterator[Entry | Rejected]:
    """The lexicon's words in wn's order, their senses in order. Raises SourceError where it has no definitions."""
    import wn

    lexicon = find_lexicon(source)
    wordnet = wn.Wordnet(lexicon=lexicon.specifier(), expand="")
    meanings = {synset.id: _meaning(synset, lexicon.language) for synset in wordnet.synsets()}
    if not any(meaning.definitions for meaning in meanings.values()):
        raise SourceError("no definitions in this lexicon", where=source, hint="take another one")
    for word in wordnet.words():
        definitions: list[Definition] = []
        for sense in word.senses():
            labels = POSITIONS.get(sense.adjposition() or "", ())
            found = meanings[sense.synset().id].define(sense.id, _examples(sense), labels)
            definitions += found
            if not found:
                reading.counts["senses without a definition"] += 1
        if definitions:
            forms = word.forms(data=True)[1:]
            yield Entry(
                headword=word.lemma(),
                language=lexicon.language,
                definitions=tuple(definitions),
                spellings=tuple(form.value for form in forms if form.script),
                place=f"{lexicon.specifier()}, {word.id}",
            )


def _meaning(synset: Any, language: str) -> Meaning:
    definitions = tuple(
        (definition.text, definition.language or language, definition.source_sense_id or "")
        for definition in synset.definitions(data=True)
        if definition.text.strip()
    )
    return Meaning(interlingual(synset.ili), PARTS_OF_SPEECH.get(synset.pos, ""), definitions, _examples(synset))


def _examples(element: Any) -> tuple[Example, ...]:
    found = ((unquoted(example.text), example.metadata()) for example in element.examples(data=True))
    return tuple(Example(text, source=metadata.get("source", "")) for text, metadata in found if text)
