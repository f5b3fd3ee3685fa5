"""A Princeton gloss taken apart: the definition, and the quoted examples behind it.

Before: a line of data.noun and its like. After: princeton.py puts the parts into records.
"""

from __future__ import annotations

import re

from dictsent.records import Example

# A quote opens an example where punctuation or nothing stands before it; after a word it is part of the definition:
# `significant progress (especially in the phrase "make strides")`.
_FIRST = re.compile(r'(?:^|[;:,.)])\s*"')
# An example ends at a quote that no letter follows (`"I"m siding against him"`), before the next one's opening quote
# where its own closing quote is missing (`"long-toed; "five-toed"`), or with the gloss.
_QUOTED = re.compile(r'"(?P<text>.+?)(?:"(?!\w)|(?=;\s*"\w)|$)(?P<after>[^;"]*)')
_BETWEEN = re.compile(r'[\s;,.:]*(?P<text>[^;"]*)(?P<closing>"\s*(?:;|$))?')
_UNOPENED = re.compile(r'[;:]\s*(?P<text>[^;"]+)"$')
_SOURCE = re.compile(r"-+\s*(?P<dash>.+)|\(?(?P<name>[A-Z0-9].*)")
_END = " ;,:"
_INTRODUCTION = re.compile(r"[\s;:,]+(?:e\.g\.?|as in)$")
_CONNECTIVES = frozenset(("", "or", "and"))


def split_gloss(gloss: str) -> tuple[str, tuple[Example, ...]]:
    """The definition and the examples of a gloss, in the order they stand in.

    Text between or after the examples that is neither quoted nor an attribution belongs to the definition.

    Args:
        gloss: what follows the bar of a data line (wndb(5WN), "gloss").
    """
    gloss = gloss.strip()
    start = _first_example(gloss) if '"' in gloss else -1
    if start < 0:
        return _without_examples(gloss)
    definition = [gloss[:start]]
    examples: list[str | Example] = []
    while start < len(gloss):
        if quoted := _QUOTED.match(gloss, start):
            start = _sort_quoted(gloss, quoted, definition, examples)
        elif between := _BETWEEN.match(gloss, start):
            start = max(between.end(), start + 1)
            (examples if between["closing"] else definition).append(between["text"])
    text = "; ".join(filter(None, (_INTRODUCTION.sub("", part.strip(_END)) for part in definition)))
    found = tuple(e if isinstance(e, Example) else Example(e) for e in examples if e)
    return (text, found) if text else (gloss, ())


def _first_example(gloss: str) -> int:
    """Where the opening quote of the first example stands, -1 where there is none."""
    for match in _FIRST.finditer(gloss):
        before = gloss[: match.start() + match[0].startswith(")")]
        if before.count("(") <= before.count(")") and before.count('"') % 2 == 0:
            return match.end() - 1
    return -1


def _sort_quoted(gloss: str, quoted: re.Match[str], definition: list[str], examples: list[str | Example]) -> int:
    """Put a quoted text and what follows it up to the next semicolon where they belong; where to go on."""
    text, after = quoted["text"].strip(" ;"), quoted["after"].lstrip(" )").strip(" ,:.")
    if after in _CONNECTIVES or not text:
        examples.append(text)
    elif text.endswith(","):  # `"I know it's hard," he continued, "but there is no choice"`
        end = quoted.end()
        while gloss[end : end + 1] == '"':
            following = _QUOTED.match(gloss, end)
            end = following.end() if following else len(gloss)
        examples.append(gloss[quoted.start() : end].strip())
        return end
    elif source := _SOURCE.fullmatch(after):
        examples.append(Example(text, source=source["dash"] or source["name"].rstrip(")")))
    elif after.startswith("("):
        examples.append(text)
        definition.append(after)
    else:  # `"scribbling block" is a British term`
        definition.append(f'"{text}" {after}')
    return quoted.end()


def _without_examples(gloss: str) -> tuple[str, tuple[Example, ...]]:
    """A gloss whose quotes, if any, open no example: words mentioned in the definition, or one quote too many."""
    if gloss.count('"') % 2 == 0:
        return gloss.rstrip(_END), ()
    if (unopened := _UNOPENED.search(gloss)) and (definition := gloss[: unopened.start()].strip(_END)):
        return definition, (Example(unopened["text"]),)
    return gloss.rstrip('"' + _END), ()
