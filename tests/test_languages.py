"""Languages: one key for each, full tags kept, names, suggestions; no script's text is damaged."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dictsent.errors import LanguageError
from dictsent.languages import display_name, find_language, key_language, standard_tag
from dictsent.records import Definition, Dictionary, Entry, comparison_form, fold_space
from dictsent.store import Origin, Store


@pytest.mark.parametrize(
    ("tag", "standard", "key", "name"),
    [
        ("eng", "en", "en", "English"),
        ("en-Latn", "en", "en", "English"),
        ("jpn", "ja", "ja", "Japanese"),
        ("ja-Hira", "ja-Hira", "ja", "Japanese"),
        ("ja-Latn", "ja-Latn", "ja-Latn", "Japanese (Latin)"),
        ("cmn", "zh", "zh", "Chinese"),
        ("cmn-Hans", "zh-Hans", "zh", "Chinese"),
        ("zh-TW", "zh-TW", "zh-Hant", "Chinese (Traditional)"),
        ("zh-Hant-HK", "zh-Hant-HK", "zh-Hant", "Chinese (Traditional)"),
        ("zsm", "ms", "ms", "Malay"),
        ("arb", "ar", "ar", "Arabic"),
        ("arz", "arz", "arz", "Egyptian Arabic"),
        ("swh", "sw", "sw", "Swahili"),
        ("pt_br", "pt-BR", "pt", "Portuguese"),
        ("sr-Latn", "sr-Latn", "sr-Latn", "Serbian (Latin)"),
        ("sr-Cyrl", "sr-Cyrl", "sr", "Serbian"),
        ("uz-AF", "uz-AF", "uz-Arab", "Uzbek (Arabic)"),
        ("kor-Hang", "ko-Hang", "ko", "Korean"),
        ("iw", "he", "he", "Hebrew"),
        ("ang", "ang", "ang", "Old English"),
        ("mul", "mul", "mul", "Several languages"),
    ],
)
def test_tags(tag: str, standard: str, key: str, name: str) -> None:
    assert (standard_tag(tag), key_language(tag)) == (standard, key)
    assert display_name(key) == name
    assert key_language(key) == key


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Japanese", "ja"),
        ("japanese", "ja"),
        ("日本語", "ja"),
        ("Deutsch", "de"),
        ("Brazilian Portuguese", "pt"),
        ("pt-BR", "pt"),
        ("Mandarin Chinese", "zh"),
        ("ARB", "ar"),
    ],
)
def test_what_people_type(text: str, key: str) -> None:
    assert find_language(text) == key


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("Japnese", r"did you mean ja \(Japanese\)"),
        ("jp", r"did you mean ja \(Japanese\)"),
        ("gr", r"did you mean el \(Greek\)"),
        ("cz", r"did you mean cs \(Czech\)"),
        ("qwertyish", "give a BCP-47 tag"),
        ("zzz", "give a BCP-47 tag"),
        ("", "give a BCP-47 tag"),
        ("\x00", "give a BCP-47 tag"),
    ],
)
def test_an_unknown_language_suggests_the_nearest(text: str, hint: str) -> None:
    with pytest.raises(LanguageError, match=hint):
        find_language(text)


WORDS = [
    ("pt-BR", "cão", "animal que ladra"),
    ("fa", "می‌خواهم", "«می‌خواهم» یعنی خواستن"),
    ("he", "חָתוּל", "\u200fחיה (קטנה)\u200f."),
    ("ar", "كِتَابٌ", "مَا يُقْرَأُ"),
    ("hi", "क्‍ष", "एक व्यंजन"),
    ("vi", "tiếng Việt", "ngôn ngữ"),
    ("ja", "ｶﾌｪ", "ＣＤを聞く店"),
    ("th", "น้ำ", "ของเหลว"),
    ("yo", "ọ̀rẹ́", "ẹni tí a mọ̀"),
    ("en", "o’clock", "‘by the’ clock"),
]


def test_every_script_comes_back_as_it_was_written(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db", create=True) as store:
        entries = [
            Entry(headword=word, language=tag, definitions=(Definition(text=text, language=tag),))
            for tag, word, text in WORDS
        ]
        store.ingest(
            Dictionary(name="all", language="mul"), entries, origin=Origin(adapter="x", location="", checksum="x")
        )
        for tag, word, text in WORDS:
            (view,) = store.entries(word, language=key_language(tag))
            assert view.headword == unicodedata.normalize("NFC", word)
            assert view.senses[0].text == unicodedata.normalize("NFC", text)
            assert [(row.headword, row.text) for row in store.definitions(key_language(tag))] == [
                (view.headword, view.senses[0].text)
            ]
        assert store.entries("cão", language="pt")[0].senses[0].seen[0].tag == "pt-BR"


@given(st.text(max_size=20))
def test_only_spaces_and_composition_change_in_stored_text(text: str) -> None:
    stored = fold_space(text)
    assert "".join(stored.split()) == "".join(unicodedata.normalize("NFC", text).split())
    assert fold_space(stored) == stored
    assert comparison_form(comparison_form(text)) == comparison_form(text)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("it’s", "it's", True),
        ("ＣＤ", "CD", True),
        ("ｶﾌｪ", "カフェ", True),
        ("cafe\u0301", "café", True),
        ("soft\u00adhyphen", "softhyphen", True),
        ("\u200fחתול", "חתול", True),
        ("خانه‌ها", "خانهها", False),  # the joiner is part of Persian spelling
        ("かき", "がき", False),
        ("Polish", "polish", False),
        ("a cat", "a cat.", False),
    ],
)
def test_what_counts_as_the_same_text(one: str, other: str, same: bool) -> None:
    assert (comparison_form(one) == comparison_form(other)) is same


def test_brazilian_words_are_found_under_portuguese(run_cli: Callable[..., Any]) -> None:
    Path("words.tsv").write_text("cão\tanimal que ladra\ngato\tanimal que mia\n", encoding="utf-8")
    assert run_cli("ingest", "words.tsv", "--lang", "pt-BR").exit_code == 0
    for language in ("pt", "pt-BR", "por", "Portuguese"):
        shown = json.loads(run_cli("show", "cão", "--lang", language, "--json").stdout)
        assert [entry["language"] for entry in shown["entries"]] == ["pt"]
    assert "Portuguese" in run_cli("stats").stdout


def test_the_region_of_a_definition_is_kept_and_comes_back(run_cli: Callable[..., Any]) -> None:
    Path("words.tsv").write_text("dog\tcão, animal que ladra\n", encoding="utf-8")
    assert run_cli("ingest", "words.tsv", "--lang", "en-GB", "--definition-language", "pt").exit_code == 0
    own = [
        {"dictsent": 1, "dictionary": {"name": "own", "language": "en"}},
        {"headword": "dog", "language": "en", "definitions": [{"text": "cão, animal que ladra", "language": "pt-BR"}]},
    ]
    Path("own.jsonl").write_text("".join(json.dumps(line) + "\n" for line in own))
    assert "0 definitions" not in run_cli("ingest", "own.jsonl").stderr
    (entry,) = json.loads(run_cli("show", "dog", "--json").stdout)["entries"]
    (sense,) = entry["senses"]
    assert (sense["language"], [(s["tag"], s["definition_tag"]) for s in sense["seen"]]) == (
        "pt",
        [("en-GB", ""), ("", "pt-BR")],
    )
    assert "own · written in pt-BR" in run_cli("show", "dog").stdout
    for form in ("jsonl", "parquet"):
        assert run_cli("export", "--to", form, "--out", f"all.{form}").exit_code == 0
        assert run_cli("ingest", f"all.{form}", "--store", f"{form}.db").exit_code == 0
        assert run_cli("diff", "dictsent.db", f"{form}.db", "--exit-code").exit_code == 0
