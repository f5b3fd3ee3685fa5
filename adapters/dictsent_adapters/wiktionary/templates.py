"""Expansion of plain template bodies: parameters, defaults, the common parser functions, nested calls; never Lua.

Before: wikitext parses, dump collects the bodies. After: render expands the templates its edition has no rule for.
Follows MediaWiki's ParserFunctions (#if, #ifeq, #switch, #iferror, #ifexist, lc, uc, ucfirst, lcfirst).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from dictsent_adapters.wiktionary.wikitext import Link, Node, Template, parse, prepare

LONGEST_BODY = 60_000
"""Characters; longer bodies are data tables or programs, not text."""
MOST_STEPS = 4_000
"""Template calls and parser functions of one expansion."""
LONGEST_RESULT = 60_000
DEEPEST_CALL = 20
MOST_NODES = 200
"""Pieces of a template's name or of a parser function's first argument."""

_NOINCLUDE = re.compile(r"<noinclude>.*?(?:</noinclude>|\Z)", re.DOTALL | re.IGNORECASE)
_ONLYINCLUDE = re.compile(r"<onlyinclude>(.*?)</onlyinclude>", re.DOTALL | re.IGNORECASE)
_INCLUDEONLY = re.compile(r"</?includeonly>", re.IGNORECASE)
_REDIRECT = re.compile(r"\s*[#＃]\S+\s*:?\s*\[\[([^\]|]+)", re.IGNORECASE)
_MODIFIER = re.compile(r"^\s*(?:safesubst|subst|msg|msgnw|raw)\s*:\s*", re.IGNORECASE)
_FUNCTION = re.compile(r"\s*(#?[^\W\d]+)\s*:(.*)", re.DOTALL)
_PAGE_WORDS = frozenset(("PAGENAME", "FULLPAGENAME", "SUBPAGENAME", "BASEPAGENAME", "ROOTPAGENAME", "PAGENAMEE"))
_EMPTY_WORDS = frozenset(("NAMESPACE", "NAMESPACEE", "NS", "NAMESPACENUMBER", "TALKSPACE", "REVISIONID"))
_EMPTY_FUNCTIONS = frozenset(
    ("defaultsort", "displaytitle", "int", "anchorencode", "urlencode", "fullurl", "localurl", "#categorytree")
)
_STAYS = frozenset(("#formatnum", "formatnum", "plural", "grammar", "lcx", "#lc"))


class NotPlainError(Exception):
    """The body needs Lua, an unknown function, or more than the limits allow."""


class Bodies:
    """Template bodies by name, without the namespace; "*" stands for every template.

    Args:
        source: titles (with or without their namespace) to wikitext.
    """

    def __init__(self, source: Mapping[str, str] | None = None) -> None:
        self._bodies = {title.split(":", 1)[-1].strip(): body for title, body in (source or {}).items()}

    def __bool__(self) -> bool:
        return bool(self._bodies)

    def find(self, name: str) -> str | None:
        """The body of a template: by its name, its name with the other case first, or "*"."""
        for spelling in (name, name[:1].upper() + name[1:], name[:1].lower() + name[1:], "*"):
            body = self._bodies.get(spelling)
            if body is not None:
                return body
        return None


@dataclass(slots=True)
class _Call:
    """One expansion: the arguments in force, and what has been spent."""

    arguments: Mapping[str, str] | None = None
    names: tuple[str, ...] = ()
    spent: list[int] = field(default_factory=lambda: [0])


class Expander:
    """Expands templates whose bodies are plain wikitext.

    Args:
        bodies: where they are found.
        title: of the page ({{PAGENAME}}).
        keep: tells the names that stay unexpanded because the edition has a rule for them.
    """

    def __init__(self, bodies: Bodies, *, title: str, keep: Callable[[str], bool]) -> None:
        self.bodies, self.title, self._keep = bodies, title, keep

    def expand(self, node: Template) -> str | None:
        """The wikitext a call stands for; None where there is no plain body for it."""
        try:
            head = self._head(node, _Call())
            value = self._function(head, node, _Call())
            return value if value is not None else self._body(call_name(head), node, _Call())
        except (NotPlainError, RecursionError):
            return None

    def _text(self, nodes: list[Node], call: _Call) -> str:
        return "".join(n if isinstance(n, str) else self._node(n, call) for n in nodes)

    def _node(self, node: Template | Link, call: _Call) -> str:
        call.spent[0] += 1
        if call.spent[0] > MOST_STEPS:
            raise NotPlainError
        if isinstance(node, Link):
            return "[[" + "|".join(self._text(part, call) for part in node.parts) + "]]"
        if node.arity == 3:
            return self._parameter(node, call)
        head = self._head(node, call)
        value = self._function(head, node, call)
        if value is not None:
            return value
        name = call_name(head)
        if not self._keep(name):
            body = self._body(name, node, call)
            if body is not None:
                return body
        return "{{" + "|".join([name, *(self._text(part, call) for part in node.parts[1:])]) + "}}"

    def _parameter(self, node: Template, call: _Call) -> str:
        name = self._text(node.parts[0], call).strip()
        if call.arguments is not None and name in call.arguments:
            return call.arguments[name]
        if len(node.parts) > 1:
            return self._text(node.parts[1], call)
        return "" if call.arguments is None else "{{{" + name + "}}}"

    def _body(self, name: str, node: Template, call: _Call) -> str | None:
        body = self._follow(name)
        if body is None:
            return None
        if name in call.names or len(call.names) >= DEEPEST_CALL:
            raise NotPlainError
        arguments = self._arguments(node, call)
        result = self._text(parse(included(body)), _Call(arguments, (*call.names, name), call.spent))
        call.spent[0] += len(result) // 200
        if len(result) > LONGEST_RESULT:
            raise NotPlainError
        return result

    def _follow(self, name: str) -> str | None:
        """The body of a template, through at most three redirects."""
        body = self.bodies.find(name)
        for _ in range(3):
            target = _REDIRECT.match(body) if body is not None else None
            if target is None:
                break
            body = self.bodies.find(target[1].split(":", 1)[-1].strip())
        return None if body is None or len(body) > LONGEST_BODY else body

    def _arguments(self, node: Template, call: _Call) -> dict[str, str]:
        arguments: dict[str, str] = {}
        position = 0
        for part in node.parts[1:]:
            text = self._text(part, call)
            if any(isinstance(n, str) and "=" in n for n in part):
                name, _, value = text.partition("=")
                arguments[name.strip()] = value.strip()
            else:
                position += 1
                arguments[str(position)] = text
        return arguments

    def _head(self, node: Template, call: _Call) -> str:
        """What stands before the first `|`: a template's name, or a parser function with its first argument."""
        if len(node.parts[0]) > MOST_NODES:
            raise NotPlainError
        return self._text(node.parts[0], call)

    def _function(self, head: str, node: Template, call: _Call) -> str | None:
        """The value of a magic word or parser function; None where the node is neither."""
        head = _MODIFIER.sub("", head)
        word = head.strip()
        if word in _PAGE_WORDS:
            return self.title
        if word in _EMPTY_WORDS:
            return ""
        if word in ("!", "="):
            return "|" if word == "!" else "="
        match = _FUNCTION.fullmatch(head)
        if match is None:
            return None
        name, first = match[1].lower(), match[2].strip()
        function = _FUNCTIONS.get(name)
        if function is not None:
            return function(self, first, node.parts[1:], call)
        if name in _EMPTY_FUNCTIONS:
            return ""
        if name in _STAYS:
            return first
        if name.startswith("#"):
            raise NotPlainError
        return None

    def _branch(self, parts: list[list[Node]], number: int, call: _Call) -> str:
        return self._text(parts[number], call).strip() if number < len(parts) else ""

    def _if(self, first: str, parts: list[list[Node]], call: _Call) -> str:
        return self._branch(parts, 0 if first else 1, call)

    def _if_equal(self, first: str, parts: list[list[Node]], call: _Call) -> str:
        second = self._branch(parts, 0, call)
        return self._branch(parts, 1 if _equal(first, second) else 2, call)

    def _if_exists(self, first: str, parts: list[list[Node]], call: _Call) -> str:
        return self._branch(parts, 1, call)

    def _if_error(self, first: str, parts: list[list[Node]], call: _Call) -> str:
        return self._branch(parts, 1, call) if len(parts) > 1 else first

    def _switch(self, first: str, parts: list[list[Node]], call: _Call) -> str:
        default, falls = "", False
        for number, part in enumerate(parts):
            text = self._text(part, call)
            if not any(isinstance(n, str) and "=" in n for n in part):
                if number == len(parts) - 1:
                    return text.strip()
                falls = falls or _equal(first, text.strip())
                continue
            case, _, value = text.partition("=")
            if falls or _equal(first, case.strip()):
                return value.strip()
            if case.strip() == "#default":
                default = value.strip()
        return default

    def _tag(self, first: str, parts: list[list[Node]], call: _Call) -> str:
        return "" if first.lower() in ("ref", "gallery", "references") else self._branch(parts, 0, call)


def _equal(first: str, second: str) -> bool:
    if first == second:
        return True
    try:
        return float(first) == float(second)
    except ValueError:
        return False


_Function = Callable[[Expander, str, list[list[Node]], _Call], str]
_FUNCTIONS: dict[str, _Function] = {
    "#if": Expander._if,
    "#ifeq": Expander._if_equal,
    "#ifexist": Expander._if_exists,
    "#iferror": Expander._if_error,
    "#switch": Expander._switch,
    "#tag": Expander._tag,
    "lc": lambda _, first, parts, call: first.lower(),
    "uc": lambda _, first, parts, call: first.upper(),
    "ucfirst": lambda _, first, parts, call: first[:1].upper() + first[1:],
    "lcfirst": lambda _, first, parts, call: first[:1].lower() + first[1:],
}


@lru_cache(maxsize=4096)
def call_name(text: str) -> str:
    """The name of a called template: no modifier, no namespace-less colon, underscores as spaces."""
    return " ".join(_MODIFIER.sub("", text).replace("_", " ").split())


def included(body: str) -> str:
    """What a template's page gives where it is called."""
    body = prepare(body)
    if "<" in body:
        only = _ONLYINCLUDE.findall(body)
        body = "".join(only) if only else _INCLUDEONLY.sub("", _NOINCLUDE.sub("", body))
    return body
