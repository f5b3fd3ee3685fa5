"""Wikitext of one line to text: links, the edition's template rules, plain template bodies, and a guess for the rest.

Before: wikitext, rules, templates, layout. After: extract reads the labels, lemma and examples gathered on the way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dictsent.records import Example
from dictsent_adapters.wiktionary.layout import Layout
from dictsent_adapters.wiktionary.namespaces import HIDDEN, INTERWIKI
from dictsent_adapters.wiktionary.rules import LANGUAGE_CODE, Arguments, Rule
from dictsent_adapters.wiktionary.templates import MOST_NODES, Expander, call_name
from dictsent_adapters.wiktionary.wikitext import (
    CLOSE,
    CUT,
    OPEN,
    QUALIFIER,
    SEPARATOR,
    Link,
    Node,
    Template,
    drop_elements,
    parse,
    plain,
)

NOTHING = OPEN + CLOSE
"""What a dropped template leaves, so that the space around it can be tidied."""
MOST_CALLS = 5_000
"""Templates of one line; more than that is no text."""

QUICK_PASSES = 6
"""Levels of nested templates that are resolved from the inside out; deeper ones go through the tree."""

_FLAT_TEMPLATE = re.compile(r"\{\{([^{}\[\]]*)\}\}")
_SIMPLE_LINK = re.compile(r"\[\[([^\[\]{}|\n]+)(?:\|([^\[\]{}|\n]*))?\]\]")
_LABEL_TEXT = re.compile(r"\s*[(（〈⟨][^()（）]*[)）〉⟩][\s:,]*")
_FORM_LINK = re.compile(r"form-of-definition-link[^>]*>(.*?)(?=</span>|\Z)", re.DOTALL)
_WIDE_SPACE = re.compile("(?<=[\u2e80-\u9fff\uff00-\uffef]) (?=[\u2e80-\u9fff\uff00-\uffef])")
_JOINED = {"_": " ", "and": " and ", "or": " or ", "&": " & "}
_HTML_LABEL = ("usage-label", "ib-brac", "qualifier-brac")


class Gathered:
    """What rendering a line met besides its text: links, the lemma, examples, notes, whether a body was expanded."""

    __slots__ = ("examples", "expanded", "lemma", "links", "notes")

    def __init__(self) -> None:
        self.links: list[str] = []
        self.lemma = ""
        self.examples: list[Example] = []
        self.notes: list[str] = []
        self.expanded = False


class Renderer:
    """Renders lines of one page.

    Args:
        layout: the edition's.
        title: the page's.
        expander: of plain template bodies.
    """

    def __init__(self, layout: Layout, *, title: str, expander: Expander) -> None:
        self.layout, self.title, self._expander = layout, title, expander
        self.gathered = Gathered()
        self._calls = 0

    def render(self, text: str) -> str:
        """A line with its templates and links as text, labels as marks; resets what was gathered."""
        self.gathered = Gathered()
        self._calls = 0
        return self._text(drop_elements(text) if "<" in text else text)

    def plain(self, text: str, *, breaks: str = " ") -> str:
        """A line as plain text, labels written out."""
        return plain(written_out(self.render(text)), breaks=breaks)

    def _text(self, text: str) -> str:
        if "[[" in text:
            text = _SIMPLE_LINK.sub(self._simple_link, text)
        if "{{" not in text:
            return self._nodes(parse(text)) if "[[" in text else text
        if "{{{" not in text:
            for _ in range(QUICK_PASSES):
                text = _FLAT_TEMPLATE.sub(self._flat_template, text)
                if "{{" not in text:
                    break
                if "[[" in text:
                    text = _SIMPLE_LINK.sub(self._simple_link, text)
        return self._nodes(parse(text)) if "{{" in text or "[[" in text else text

    def _flat_template(self, match: re.Match[str]) -> str:
        """A template with nothing in it but text; what it shows must not be taken for arguments of one around it."""
        parts = match[1].split("|")
        rule = self.layout.rule(call_name(parts[0]))
        if rule is None or rule.kind == "form" or self._calls >= MOST_CALLS:
            text = self._template(Template([[part] for part in parts]))
        else:
            self._calls += 1
            text = self._apply(rule, call_name(parts[0]), parts[1:])
        return text.replace("|", "&#124;").replace("=", "&#61;") if "|" in text or "=" in text else text

    def _simple_link(self, match: re.Match[str]) -> str:
        target, label = match[1], match[2]
        if ":" in target:
            return self._link(Link([[target]] if label is None else [[target], [label]]))
        self.gathered.links.append(target.split("#", 1)[0].strip() or self.title)
        return label if label is not None and label.strip() else target

    def _nodes(self, nodes: list[Node]) -> str:
        if len(nodes) == 1 and isinstance(nodes[0], str):
            return nodes[0]
        return "".join(
            node if isinstance(node, str) else self._link(node) if isinstance(node, Link) else self._template(node)
            for node in nodes
        )

    def _link(self, link: Link) -> str:
        target = self._nodes(link.parts[0]).strip() if link.parts else ""
        prefix, colon, rest = target.partition(":")
        if colon and prefix and prefix.strip().casefold() in HIDDEN:
            return ""
        shown = target.removeprefix(":")
        self.gathered.links.append(shown.split("#", 1)[0] or self.title)
        if len(link.parts) > 1:
            label = self._nodes(link.parts[-1])
            if label.strip():
                return label
        if ":" in shown and not shown.startswith(":") and rest:
            head, _, tail = shown.partition(":")
            shown = tail.lstrip(":") if head.strip().casefold() in INTERWIKI else shown
        return shown

    def _template(self, node: Template) -> str:
        self._calls += 1
        if self._calls > MOST_CALLS or len(node.parts[0]) > MOST_NODES:
            return NOTHING
        if node.arity == 3:
            return self._nodes(node.parts[1]) if len(node.parts) > 1 else ""
        name = call_name(self._nodes(node.parts[0]))
        rule = self.layout.rule(name)
        if rule is not None and rule.kind != "form":
            return self._apply(rule, name, node.parts[1:])
        body = self._expander.expand(node)
        if rule is None and self._is_abbreviation(name, node):
            return self._named_label(name, body)
        if body is not None:
            return self._body(body, rule, node)
        if rule is not None:
            return self._apply(rule, name, node.parts[1:])
        return self._guess(name, node)

    def _is_abbreviation(self, name: str, node: Template) -> bool:
        """Whether an edition's habit makes this a label: a dotted name, or no argument but the language's code."""
        if self.layout.option("dotted_labels") and name.endswith("."):
            return True
        if not self.layout.option("code_only_labels") or len(node.parts) > 2 or name.endswith(" of"):
            return False
        first = self._nodes(node.parts[1]).strip() if len(node.parts) == 2 else ""
        return bool(LANGUAGE_CODE.fullmatch(first)) and len(first) < 8

    def _named_label(self, name: str, body: str | None) -> str:
        shown = plain(self._text(body)) if body is not None else ""
        words = [word for word in re.split(r"[,;]\s", shown.strip(" ()（）:")) if word] if len(shown) < 80 else []
        return OPEN + SEPARATOR.join(words or [name]) + CLOSE

    def arguments(self, parts: Sequence[list[Node] | str]) -> Arguments:
        """A call's arguments, rendered."""
        positional: list[str] = []
        named: dict[str, str] = {}
        for part in parts:
            if isinstance(part, str):
                text = part
                equals = "=" in text
            else:
                text = self._nodes(part)
                equals = any(isinstance(n, str) and "=" in n for n in part)
            if equals and not text.lstrip().startswith("<"):
                name, _, value = text.partition("=")
                named[name.strip()] = value.strip()
            else:
                positional.append(text.strip())
        return Arguments(positional, named, self.title)

    def _apply(self, rule: Rule, name: str, parts: Sequence[list[Node] | str]) -> str:
        if rule.kind == "drop":
            return NOTHING
        if rule.kind == "cut":
            return CUT + rule.label
        if rule.label:
            return OPEN + rule.label + CLOSE
        arguments = self.arguments(parts)
        if rule.kind in ("label", "qualifier", "words"):
            return self._label(rule.kind, name, arguments)
        if rule.kind == "example":
            self.gathered.examples.append(self._example(rule, arguments))
            return NOTHING
        if rule.kind == "place":
            return show_place(arguments)
        if rule.kind == "note":
            self.gathered.notes.append(plain(rule.patterns[0](arguments)))
        if rule.kind == "form":
            arguments = _without_sections(arguments)
            self.gathered.lemma = self.gathered.lemma or plain(rule.patterns[1](arguments))
        return rule.patterns[0](arguments)

    def _example(self, rule: Rule, arguments: Arguments) -> Example:
        shows = [pattern(arguments) for pattern in rule.patterns]
        made = [plain(written_out(shown), breaks="\n") if shown else "" for shown in shows]
        text, translation, source = (*made, "", "")[:3]
        if not text.isascii():
            text = _WIDE_SPACE.sub("", text)
        return Example(text, translation, source)

    def _label(self, kind: str, name: str, arguments: Arguments) -> str:
        words = arguments.words() if kind == "label" else [word for word in arguments.positional if word]
        text = arguments.named.get("text") or arguments.named.get("ft", "")
        words = [_unmarked(word) for word in [*words, text] if word]
        if kind == "label" and not words:
            words = [name] if not arguments.named else []
        mark = QUALIFIER if kind == "qualifier" else OPEN
        return mark + SEPARATOR.join(_join(words)) + CLOSE

    def _body(self, body: str, rule: Rule | None, node: Template) -> str:
        """The text of an expanded body; one that shows only "(…)" is a label."""
        self.gathered.expanded = True
        lemma = _FORM_LINK.search(body)
        name = call_name(self._nodes(node.parts[0]))
        if lemma:
            self.gathered.lemma = plain(self._text(lemma[1]))
        elif rule is not None:
            self.gathered.lemma = plain(rule.patterns[1](_without_sections(self.arguments(node.parts[1:]))))
        elif name.endswith(" of"):
            self.gathered.lemma = self.arguments(node.parts[1:]).without_code().get("1")
        text = self._text(drop_elements(body))
        shown = plain(text)
        if (
            self.layout.option("abbreviation_labels")
            and len(node.parts) == 1
            and shown.endswith(".")
            and len(shown) < 40
        ):
            return OPEN + shown + CLOSE
        if not shown:
            return NOTHING
        if any(mark in body for mark in _HTML_LABEL) or _LABEL_TEXT.fullmatch(shown):
            words = re.split(r"\s*[,，、;]\s*|\s+·\s+", shown.strip(" ()（）〈〉⟨⟩:,"))
            return OPEN + SEPARATOR.join(filter(None, words)) + CLOSE
        return text

    def _guess(self, name: str, node: Template) -> str:
        """A template nobody told us of: "… of" names a form, a dotted or argument-less name is a label, else a word."""
        arguments = self.arguments(node.parts[1:])
        plain_words = [word for word in arguments.positional if word and not LANGUAGE_CODE.fullmatch(word)]
        if name.endswith(" of") and arguments.positional:
            shifted = arguments.without_code()
            lemma = shifted.get("2") or shifted.get("1")
            self.gathered.lemma = self.gathered.lemma or shifted.get("1")
            words = re.sub(r"^[a-z]{2,3}(?:-[a-z]+)?[- ](?=\S+ )", "", name) if name[2:3] in "-" else name
            return f"{words} {lemma}"
        if not plain_words or name.endswith("."):
            return OPEN + plain(name) + CLOSE if not arguments.named or not plain_words else NOTHING
        if len(plain_words) > 3:
            return NOTHING
        return plain_words[-1] if len(plain_words) <= 2 else plain_words[0]


def _without_sections(arguments: Arguments) -> Arguments:
    """Arguments that name a word with the section of its page (`косой#(прилагательное)`) as the word alone."""
    positional = [value.split("#", 1)[0] or value for value in arguments.positional]
    named = {name: value.split("#", 1)[0] or value for name, value in arguments.named.items()}
    return Arguments(positional, named, arguments.title)


def show_place(arguments: Arguments) -> str:
    """`{{place|en|city|s/Texas|c/USA}}`: "A city in Texas, USA"."""
    kinds, names = [], []
    for argument in arguments.without_code().positional:
        _, slash, name = argument.partition("/")
        if slash and not name.startswith(" "):
            names.append(name.rsplit(":", 1)[-1])
        elif names:
            names[-1] += " " + argument if argument in ("and", "or") else ", " + argument
        elif argument not in (";", "and"):
            kinds.append(argument)
    words = ", ".join(filter(None, kinds))
    full = arguments.named.get("def") or arguments.named.get("full", "")
    if full and full != "-":
        return full
    article = "" if words[:2].lower() in ("a ", "th") else "An " if words[:1].lower() in "aeio" else "A "
    return f"{article}{words} in {', '.join(names)}" if names and words else article + (words or ", ".join(names))


def _unmarked(text: str) -> str:
    """A label's word without the marks of labels inside it."""
    return written_out(text).strip(" ()") if OPEN in text or QUALIFIER in text else text


def _join(words: list[str]) -> list[str]:
    """Label words with the joiners `_`, `and` and `or` put between their neighbours."""
    made: list[str] = []
    glue = ""
    for word in words:
        if word in _JOINED:
            glue = _JOINED[word]
        elif made and glue:
            made[-1] += glue + word
            glue = ""
        else:
            made.append(word)
    return made


def written_out(text: str) -> str:
    """A rendered string with its labels and qualifiers in round brackets instead of marks."""
    if OPEN not in text and QUALIFIER not in text and CUT not in text:
        return text
    text = text.replace(NOTHING, "").replace(CUT, "")
    return text.replace(OPEN, "(").replace(QUALIFIER, "(").replace(SEPARATOR, ", ").replace(CLOSE, ")")
