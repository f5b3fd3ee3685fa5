"""What an edition's templates show, compiled from the short patterns of its file.

Before: editions/*.toml hold the patterns. After: render applies a rule to a call's arguments.

A pattern is text with references in braces: `{2|t}` is the first argument of these that is not empty, `{2; (“$”)}` puts
it into a format, `{^1}` gives it a capital first letter, `{1..}` is all positional arguments from the first joined by
commas (`{1..&und}` puts "und" before the last), `{@}` is the page's title, `{=x}` the text x. A pattern
that begins with `~` leaves out a language code in front of the other arguments; after `~^` the text keeps its capital
letter only where that code is "en" or missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

LANGUAGE_CODE = re.compile(r"[a-z]{2,3}(?:-[A-Za-z0-9-]{2,12})?|conv|inter|mult|simple")
_REFERENCE = re.compile(r"\{([^{};]+)(?:;([^{}]*))?\}")


@dataclass(slots=True)
class Arguments:
    """A call's arguments, rendered: positional ones from 0, named ones by name, the page's title."""

    positional: Sequence[str]
    named: Mapping[str, str]
    title: str = ""

    def without_code(self) -> Arguments:
        """The arguments without the language code in front or in `lang=`, where something follows it."""
        if len(self.positional) > 1 and LANGUAGE_CODE.fullmatch(self.positional[0]):
            return Arguments(self.positional[1:], self.named, self.title)
        return self

    def get(self, name: str) -> str:
        """The argument of that name or number, "" where it is missing."""
        if name in self.named:
            return self.named[name]
        if name.isdecimal() and 0 < int(name) <= len(self.positional):
            return self.positional[int(name) - 1]
        return ""

    def words(self) -> list[str]:
        """The positional arguments that are words: without the language's code, in front (`lb|en|…`) or behind (fr)."""
        words = list(self.positional)
        first = bool(words) and bool(LANGUAGE_CODE.fullmatch(words[0]))
        last = len(words) > 1 and bool(LANGUAGE_CODE.fullmatch(words[-1]))
        if first and not (last and len(words[-1]) < len(words[0]) == 3):
            words = words[1:]
        elif last:
            words = words[:-1]
        return [word for word in words if word]


Pattern = Callable[[Arguments], str]


@dataclass(frozen=True, slots=True)
class Rule:
    """What to do with a template.

    Attributes:
        kind: drop, cut, label, words, qualifier, text, note, place, form, example.
        patterns: text: one; form: the text and the lemma; example: text, translation, source.
        label: the words of a label that does not take them from its arguments, or of the note that a cut begins.
    """

    kind: str
    patterns: tuple[Pattern, ...] = ()
    label: str = ""


def compile_pattern(pattern: str) -> Pattern:
    """A function from arguments to the text that `pattern` describes."""
    shift = pattern.startswith("~")
    body = pattern[1:] if shift else pattern
    english = shift and body.startswith("^")
    body = body.removeprefix("^") if english else body
    pieces: list[str | Pattern] = []
    position = 0
    for match in _REFERENCE.finditer(body):
        pieces.append(body[position : match.start()])
        pieces.append(_reference(match[1], match[2]))
        position = match.end()
    pieces.append(body[position:])
    filled = [piece for piece in pieces if piece != ""]
    only = filled[0] if len(filled) == 1 else ""
    if not isinstance(only, str) and not shift:
        return only

    def show(arguments: Arguments) -> str:
        seen = arguments.without_code() if shift else arguments
        text = "".join(piece if isinstance(piece, str) else piece(seen) for piece in filled)
        if english and seen is not arguments and (arguments.positional[0] != "en" or "nocap" in arguments.named):
            return text[:1].lower() + text[1:]
        return text

    return show


def _reference(names: str, form: str | None) -> Pattern:
    capital = names.startswith("^")
    getters = [_getter(name) for name in names.lstrip("^").split("|")]
    if len(getters) == 1 and form is None and not capital:
        return getters[0]

    def show(arguments: Arguments) -> str:
        for getter in getters:
            value = getter(arguments)
            if value:
                value = value[:1].upper() + value[1:] if capital else value
                return form.replace("$", value) if form is not None else value
        return ""

    return show


def _getter(name: str) -> Pattern:
    if name == "@":
        return lambda arguments: arguments.title
    if name.startswith("="):
        return lambda arguments: name[1:]
    if ".." in name:
        return lambda arguments: _all_from(name, arguments)
    if not name.isdecimal():
        return lambda arguments: arguments.named.get(name, "")
    index = int(name) - 1

    def numbered(arguments: Arguments) -> str:
        if index < len(arguments.positional):
            return arguments.positional[index]
        return arguments.named.get(name, "")

    return numbered


def _all_from(name: str, arguments: Arguments) -> str:
    first, _, joiner = name.partition("..")
    values = [value for value in arguments.positional[int(first) - 1 :] if value]
    last = f" {joiner[1:]} " if joiner.startswith("&") else ", "
    return last.join([", ".join(values[:-1]), values[-1]]) if len(values) > 1 else "".join(values)


def compile_rules(table: Mapping[str, object]) -> dict[str, Rule]:
    """Rules by template name from the `[templates]` table of an edition's file."""
    rules: dict[str, Rule] = {}
    for kind, value in table.items():
        if isinstance(value, list):
            rules.update((name, Rule(kind)) for name in value)
        elif isinstance(value, dict):
            rules.update((name, _rule(kind, made)) for name, made in value.items())
    return rules


def _rule(kind: str, made: object) -> Rule:
    if kind in ("label_text", "cut_text"):
        return Rule(kind.removesuffix("_text"), label=str(made))
    patterns = [made] if isinstance(made, str) else list(made) if isinstance(made, list) else []
    if kind == "form" and len(patterns) == 1:
        patterns.append("~{1}")
    return Rule(kind, tuple(compile_pattern(str(p)) for p in patterns))
