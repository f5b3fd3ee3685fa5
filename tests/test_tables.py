"""Plain tables: columns, headers, encodings, and the input that is no table at all. Detokenising beside it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dictsent.errors import SourceError
from dictsent.records import Entry, Rejected
from dictsent_adapters.noraset import Noraset
from dictsent_adapters.oxford import Oxford
from dictsent_adapters.streams import LINE_LIMIT
from dictsent_adapters.table import TableOptions
from dictsent_adapters.tokenised import detokenise
from dictsent_adapters.tsv import Tsv


def read(file: Path, **options: str) -> list[tuple[str, str] | str]:
    adapter = Tsv(TableOptions(**{"language": "en", **options}))
    records = adapter.read(str(file))
    return [r.reason if isinstance(r, Rejected) else (r.headword, r.definitions[0].text) for r in records]


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("a\tb\n", {}, [("a", "b")]),
        ("word\tdefinition\na\tb\n", {}, [("a", "b")]),
        ("word\tdefinition\na\tb\n", {"header": "no"}, [("word", "definition"), ("a", "b")]),
        ("x\ty\na\tb\n", {"header": "yes"}, [("a", "b")]),
        ("id\tnoun\ta\tb\n", {"headword": "3", "definition": "4"}, [("a", "b")]),
        ("n\tGloss\tTerm\n1\tb\ta\n", {}, [("a", "b")]),
        ("n\tbody\thead\n1\tb\ta\n", {"headword": "Head", "definition": "body"}, [("a", "b")]),
        ("b\ta\n", {"headword": "2"}, [("a", "b")]),
    ],
)
def test_columns_are_found(tmp_path: Path, text: str, options: dict[str, str], expected: list[tuple[str, str]]) -> None:
    file = tmp_path / "words.tsv"
    file.write_text(text, encoding="utf-8")
    assert Tsv().matches(file)
    assert read(file, **options) == expected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "gzip"])
def test_encodings_are_found(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "words.tsv"
    text = "naïve\twithout experience\r\n猫\ta cat\r\n"
    file.write_bytes(gzip.compress(text.encode()) if encoding == "gzip" else text.encode(encoding))
    assert Tsv().matches(file)
    assert read(file) == [("naïve", "without experience"), ("猫", "a cat")]


def test_another_encoding_has_to_be_given(tmp_path: Path) -> None:
    file = tmp_path / "words.tsv"
    file.write_bytes("пёс\tсобака\nкот\tживотное\n".encode("cp1251"))
    with pytest.raises(SourceError, match="neither UTF-8 nor UTF-16; give --encoding"):
        read(file)
    assert read(file, encoding="cp1251") == [("пёс", "собака"), ("кот", "животное")]
    with pytest.raises(SourceError, match="'klingon' is no encoding"):
        read(file, encoding="klingon")
    file.write_bytes("a\tb\n".encode("utf-16") + b"\x00\xd8\x00")
    with pytest.raises(SourceError, match="not UTF-16"):
        read(file)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("just prose\non lines\na\tb\n", {}, "2 of 3 lines cannot be used, most because of: no tab"),
        ("a\tb\n", {"language": ""}, "language of its headwords is not known; give --lang"),
        ("word\tdefinition\n", {}, "holds a header and nothing else"),
        ("word\tmeaning\na\tb\n", {"definition": "gloss"}, "no column 'gloss'; its first row has word, meaning"),
        ("a\tb\n", {"definition": "5"}, "1 of 1 lines cannot be used, most because of: too few columns"),
        ("\n\n", {}, "holds no rows"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, text: str, options: dict[str, str], message: str) -> None:
    file = tmp_path / "words.tsv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError, match=message):
        read(file, **options)


def test_a_long_line_is_not_read_whole(tmp_path: Path) -> None:
    import tracemalloc

    file = tmp_path / "words.tsv"
    with file.open("wb") as out:
        out.write(b"a\tb\n")
        for _ in range(50):
            out.write(b"x" * LINE_LIMIT)
        out.write(b"\nc\td\n")
    assert Tsv().matches(file)
    tracemalloc.start()
    assert read(file) == [("a", "b"), "line too long", ("c", "d")]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * LINE_LIMIT


def test_a_wrong_file_of_any_size_is_given_up_early(tmp_path: Path) -> None:
    file = tmp_path / "prose.txt"
    file.write_text("a line of prose\n" * 100_000, encoding="utf-8")
    adapter = Tsv(TableOptions(language="en"))
    with pytest.raises(SourceError, match="1000 of 1000"):
        list(adapter.read(str(file)))


words = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\x85"), min_size=1)
cells = words.map(str.strip).filter(bool)


@given(st.lists(st.tuples(cells, cells), min_size=1))
def test_any_rows_come_back(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]) -> None:
    file = tmp_path_factory.mktemp("rows") / "words.tsv"
    file.write_text("".join(f"{a}\t{b}\n" for a, b in rows), encoding="utf-8", newline="")
    text = file.read_text(encoding="utf-8")
    expected = [
        (a.removeprefix("\ufeff") if text.startswith("\ufeff") and i == 0 else a, b) for i, (a, b) in enumerate(rows)
    ]
    if expected[0][0].strip():
        assert read(file, header="no") == [(a.strip(), b) for a, b in expected]


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("a lamp ( of glass ) , still lit ; it 's bright .", "en", "a lamp (of glass), still lit; it's bright."),
        ("pluriel de l ’ entrée", "fr", "pluriel de l’entrée"),
        ("qu' on pose", "fr", "qu'on pose"),
        ("the dogs ' tails", "en", "the dogs' tails"),
        ("貨幣 として 使う CD player の 金属 片", "ja", "貨幣として使うCD playerの金属片"),
    ],
)
def test_text_is_detokenised(text: str, language: str, expected: str) -> None:
    assert detokenise(text, language) == expected


def test_noraset_needs_a_language(tmp_path: Path) -> None:
    folder = tmp_path / "Unknown"
    folder.mkdir()
    (folder / "train.txt").write_text("lune\tNOUN\tWiktionary\tastre\n", encoding="utf-8")
    assert Noraset().matches(folder)
    with pytest.raises(SourceError, match="nothing tells the language"):
        list(Noraset().read(str(folder)))
    (tmp_path / "French").mkdir()
    folder = folder.rename(tmp_path / "French" / "Omega")
    assert Noraset().describe(str(folder)).language == "fr"
    assert Noraset().describe(str(folder)).name == "french-omega"


def test_oxford_rows_in_several_forms_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "train.txt"
    file.write_text("a%oxford.0\tpos\toxford\tb\n" * 6000 + "not a row\n" * 7000, encoding="utf-8")
    with pytest.raises(SourceError, match="7000 of 13000 lines are in another form than the first"):
        list(Oxford().read(str(file)))
    (tmp_path / "README").write_text("about the data", encoding="utf-8")
    assert Oxford().files(tmp_path) == [file]
    with pytest.raises(SourceError, match="in none of the three forms"):
        list(Oxford().read(str(tmp_path / "README")))


def test_a_table_of_three_columns_is_not_taken_for_oxford(tmp_path: Path) -> None:
    file = tmp_path / "words.tsv"
    file.write_text("run\tto run quickly\tverb\njump\tto jump up\tverb\n", encoding="utf-8")
    assert not Oxford().matches(file)
    file.write_text("run\thow to run\tto run fast\njump\tjump up\tto jump high\n", encoding="utf-8")
    assert not Oxford().matches(file)
    file.write_text("run\the ran off; he runs\tgo fast\njump\tjump up\tleave the ground\n", encoding="utf-8")
    assert Oxford().matches(file)


@pytest.mark.data
def test_definition_modelling_data_is_whole(data_folder: Path) -> None:
    folder = data_folder / "dict" / "msml"
    japanese = Noraset()
    records = list(japanese.read(str(folder / "Japanese" / "WordNet" / "2-reconstructed-downsampled")))
    assert len(records) == 23_513 + 2_993 + 2_956
    assert all(isinstance(record, Entry) and record.language == "ja" for record in records)
