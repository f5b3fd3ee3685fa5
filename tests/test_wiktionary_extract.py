"""The text of one page to senses: labels, sub-senses, forms, templates, and pages made to do harm."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dictsent_adapters.wiktionary import Sense, extract
from dictsent_adapters.wiktionary.layout import editions, load
from dictsent_adapters.wiktionary.rules import Arguments, compile_pattern
from dictsent_adapters.wiktionary.wikitext import Link, Template, holds_markup, parse, plain


def benchmark(name: str) -> Any:
    """A script of benchmarks/ as a module."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parent.parent / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


speed = benchmark("wiktionary_speed")
PAGE = "==English==\n===Noun===\n{{en-noun}}\n\n"


def glosses(wikitext: str, edition: str = "en", **more: object) -> list[tuple[str, ...]]:
    return [sense.glosses for sense in extract(wikitext, title="x", edition=edition, **more)]  # type: ignore[arg-type]


def test_a_page_with_everything() -> None:
    page = (
        "==English==\n===Alternative forms===\n* {{alter|en|colour}}\n===Etymology 2===\n====Noun====\n{{en-noun}}\n"
        "# {{lb|en|physics|_|optics}} A [[hue]].<ref>Book</ref> {{defdate|from 14th c.}}\n"
        "#: {{ux|en|The ''color'' red.}}\n## A [[pale#Adjective|paler]] one.\n"
    )
    parent, child = extract(page, title="color", edition="en")
    assert parent == Sense(
        language="en",
        part_of_speech="noun",
        heading="Noun",
        glosses=("A hue. [from 14th c.]",),
        examples=parent.examples,
        labels=("physics optics",),
        etymology=2,
        spellings=("colour",),
        notes=("[from 14th c.]",),
        parent=True,
    )
    assert parent.examples[0].text == "The color red."
    assert child.glosses == ("A hue.", "A paler one.")
    assert child.labels == parent.labels


def test_a_label_alone_is_handed_down() -> None:
    senses = extract(PAGE + "# {{lb|en|law}}\n## To sue.\n## To plead.\n", title="x", edition="en")
    assert [(s.glosses, s.labels) for s in senses] == [(("To sue.",), ("law",)), (("To plead.",), ("law",))]


def test_only_the_own_language_or_all() -> None:
    page = PAGE + "# A bread.\n==French==\n===Noun===\n# {{l|en|bread}}\n"
    assert [s.language for s in extract(page, title="pain", edition="en")] == ["en", "fr"]
    assert [s.language for s in extract(page, title="pain", edition="en", all_languages=False)] == ["en"]


@pytest.mark.parametrize(
    ("line", "gloss"),
    [
        ("[[File:a.jpg|thumb|A [[nested]] caption]] A dog.", "A dog."),
        ("A [[dog]]s [[:Category:Dogs]] [[Category:Dogs]]", "A dogs Category:Dogs"),
        ("A '''bold''' and ''italic'' l''''eau'''''", "A bold and italic l'eau"),
        ("x<sup>2</sup> and H<sub>2</sub>O", "x² and H₂O"),
        ("a&nbsp;b &lt;c&gt; <nowiki>[[d]]x</nowiki>", None),
        ("a <!-- gone --> b", "a b"),
        ("{{non-gloss definition|Used to {{l|en|ask}}.}}", "Used to ask."),
        ("A [http://example.org word] more", "A word more"),
        ("{{w|Paris|the city}} {{,}} {{taxlink|Canis lupus|species}}", "the city , Canis lupus"),
        ("{{unknown template nobody knows}} A thing.", "A thing."),
        ("{{plural of|en|dog}}", "plural of dog"),
        ("{{surname|en}}", "A surname."),
    ],
)
def test_what_a_line_shows(line: str, gloss: str | None) -> None:
    found = glosses(PAGE + f"# {line}\n")
    assert found == ([(gloss,)] if gloss else [])


def test_the_reference_of_an_example_is_its_source() -> None:
    page = (
        "== Haus ({{Sprache|Deutsch}}) ==\n=== {{Wortart|Substantiv|Deutsch}} ===\n{{Bedeutungen}}\n:[1] ein Gebäude\n"
    )
    page += "{{Beispiele}}\n:[1] „Das ''Haus'' steht.“<ref>Ein [[Buch]], 1999</ref>\n:[1] Ein Haus.<ref name=\"x\" />\n"
    (sense,) = extract(page + ":[1] Noch eins.<ref>offen\n", title="Haus", edition="de")
    assert [(e.text, e.source) for e in sense.examples] == [
        ("„Das Haus steht.“", "Ein Buch, 1999"),
        ("Ein Haus.", ""),
        ("Noch eins.", ""),
    ]


@pytest.mark.parametrize(
    ("head", "spellings"),
    [
        ("'''[[辞]][[典]]'''（じてん）", ("じてん",)),
        ("'''わらう'''【[[笑]]う・[[咲]]う】", ("笑う", "咲う")),
        ("{{ja-noun|じてん}}\n'''辞典'''（古語）", ("じてん",)),
        ("'''辞典''' （固有名詞）", ()),
    ],
)
def test_japanese_readings_are_spellings(head: str, spellings: tuple[str, ...]) -> None:
    (sense,) = extract(f"=={{{{L|ja}}}}==\n===名詞===\n{head}\n#言葉の意味。（ほん）\n", title="x", edition="ja")
    assert sense.spellings == spellings


def test_plain_bodies_are_expanded_and_lua_is_not() -> None:
    bodies = {
        "Template:greet": "{{#if:{{{1|}}}|hello {{{1}}}|hello}}{{{2|!}}}",
        "Template:twice": "{{greet|{{{1}}}}} {{greet}}",
        "Template:renamed": "#REDIRECT [[Template:greet]]",
        "Template:pick": "{{#switch:{{{1}}}|a|b=first|#default=other}}",
        "Template:lua": "{{#invoke:module|function}}",
        "Template:loop": "{{loop}}",
        "Template:bomb": "{{bomb2}}{{bomb2}}{{bomb2}}{{bomb2}}",
        "Template:bomb2": "{{bomb3}}" * 50,
        "Template:bomb3": "x" * 5000,
    }
    lines = "# say {{twice|you}} {{renamed|me|?}}\n# {{pick|b}} {{pick|z}} case\n# is {{lua|word}}\n"
    lines += "# is {{loop}} and {{bomb}}\n"
    found = glosses(PAGE + lines, templates=bodies)
    assert found[:3] == [("say hello you! hello! hello me?",), ("first other case",), ("is word",)]
    assert len(found[3][0]) < 100


def test_a_template_may_bring_sub_definitions() -> None:
    found = glosses(PAGE + "# {{infl}}\n", templates={"Template:infl": "form of [[go]]:\n## past\n## present"})
    assert found == [("form of go:",), ("form of go:", "past"), ("form of go:", "present")]


def test_every_edition_has_a_valid_file() -> None:
    assert {"en", "fr", "ru", "de", "es", "pt", "it", "ja", "zh", "ko", "nl", "pl", "tr", "cs", "ca", "el"} <= set(
        editions()
    )
    for code in editions():
        layout = load(code)
        assert layout.rules
        assert layout.code == code


def test_an_edition_without_a_file_gets_the_generic_rules() -> None:
    senses = extract("==Latviešu==\n===Lietvārds===\n# [[suns]] ir dzīvnieks\n", title="suns", edition="lv")
    assert [(s.language, s.heading, s.glosses) for s in senses] == [("lv", "Lietvārds", ("suns ir dzīvnieks",))]


def test_patterns() -> None:
    arguments = Arguments(["en", "dog", "dogs"], {"t": "animal"}, "title")
    assert compile_pattern("~{2|1}{t; (“$”)}")(arguments) == "dogs (“animal”)"
    assert compile_pattern("{^2} {9|=none} {@} {1..&or}")(arguments) == "Dog none title en, dog or dogs"


@pytest.mark.parametrize("name", speed.HOSTILE)
def test_the_time_grows_as_the_page_does(name: str) -> None:
    """Four times the page takes some four times as long; sixteen times would be quadratic. No figure but the ratio."""
    extract("", title="x", edition="en")
    ratios = (speed.hostile_seconds(name, 40_000) / max(speed.hostile_seconds(name, 10_000), 0.002) for _ in range(5))
    assert any(ratio < 9 for ratio in ratios)


@pytest.mark.parametrize("name", speed.HOSTILE)
def test_hostile_text_is_read_through(name: str) -> None:
    text = PAGE + "# " + speed.HOSTILE[name](20_000) + "\n# last\n"
    found = glosses(text)
    assert len(found) < 20_010
    assert found[-1:] in ([("last",)], [])


def test_a_million_braces() -> None:
    for text in ("{{" * 1_000_000, "{{a|" * 300_000 + "}}" * 300_000):
        assert glosses(PAGE + f"# {text}\n# last\n")[-1] == ("last",)


HEADS = (
    "",
    PAGE + "# ",
    "== x ({{Sprache|Deutsch}}) ==\n{{Bedeutungen}}\n:[1] ",
    "= {{-ru-}} =\n==== Значение ====\n# ",
)


@given(
    st.text(alphabet="{}[]|='<>/#*:;ab \n!-&()", max_size=300),
    st.sampled_from(["en", "de", "es", "pl", "ru", "ko", "zh"]),
)
def test_no_text_is_an_error_and_none_leaves_markup(text: str, edition: str) -> None:
    for head in HEADS:
        for sense in extract(head + text, title="x", edition=edition):
            assert not re.search(r"\[\[|\{\{|'''|<ref\b", sense.glosses[-1])


@given(st.text(alphabet="{}[]|ab", max_size=200))
def test_the_tree_keeps_every_character(text: str) -> None:
    def source(node: object) -> str:
        if isinstance(node, str):
            return node
        assert isinstance(node, Template | Link)
        inner = "|".join("".join(map(source, part)) for part in node.parts)
        return "{" * node.arity + inner + "}" * node.arity if isinstance(node, Template) else f"[[{inner}]]"

    assert "".join(map(source, parse(text))) == text


def test_plain_text() -> None:
    assert plain("a  <b>b</b><br/>c ''d'' &amp; e\u200b") == "a b c d & e"
    assert plain("-{zh-hans:汉;zh-hant:漢}-語 -{字}-") == "汉語 字"
    assert holds_markup("a [[b")
    assert not holds_markup("a [b] {c} | d")


@pytest.mark.data
def test_the_bench(data_folder: Path) -> None:
    """The measures of the bench: exact match of the leaf gloss on whole pages."""
    bench = benchmark("wiktionary_bench")
    tally = bench.Tally()
    for row in bench.rows(data_folder, ["asserted", "pages"]):
        if row.get("kind") != "fragment":
            bench.judge(row, tally, misses=False)
    share = {name: right / asked for name, (right, asked) in tally.sources.items()}
    assert share["literal"] >= 0.98
    assert share["args"] >= 0.85
    assert share["expand"] >= 0.60
    assert share["all"] >= 0.92
    assert tally.precision[0] >= 0.95 * tally.precision[1]
    assert tally.stated[0] >= 0.97 * tally.stated[1]
    assert tally.markup == 0
    for code in editions():
        assert load(code).measured == tuple(tally.editions.get(code, (0, 0))), (
            f"{code}: the edition's file says otherwise"
        )
