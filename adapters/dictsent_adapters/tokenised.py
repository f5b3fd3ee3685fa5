"""Tokenised definitions made plain again: the definition-modelling data sets have spaces around their punctuation.

Before: oxford.py and noraset.py split the lines. After: the text goes into a Definition.
"""

from __future__ import annotations

import re

# What DefSent's data preparation removes: a space before . , ; ) ' and after (.
_BEFORE = re.compile(r" (?=[.,;)'])")
_AFTER = re.compile(r"(?<=\() ")
_ELISION = re.compile(r"(?<=\w)(?: ’ ?|’ )(?=\w)")
_ELIDED = re.compile(r"(?<=\w)' (?=\w)")
_ELIDING = ("fr", "it", "ca", "oc")
_UNSPACED = ("ja", "zh", "th", "lo", "km", "my", "yue")
_BETWEEN_LETTERS = re.compile(r"(?<![ -~]) | (?![ -~])")
_SPACES = re.compile(r"\s+")


def detokenise(text: str, language: str) -> str:
    """The text without the tokeniser's spaces; scripts that use no spaces lose all but those between Latin words."""
    text, language = _SPACES.sub(" ", text).strip(), language.split("-")[0]
    if language in _UNSPACED:
        return _BETWEEN_LETTERS.sub("", text)
    text = _ELISION.sub("’", _AFTER.sub("", _BEFORE.sub("", text)))
    return _ELIDED.sub("'", text) if language in _ELIDING else text
