"""Damaged, lying and hostile dictionaries: one clear error or a counted reject, never a traceback. And round trips."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dictsent.adapter import Adapter, installed
from dictsent.errors import SourceError
from dictsent.records import Definition, Dictionary, Entry, Example, Rejected
from dictsent_adapters.article import parse_article, parse_glossed_article
from dictsent_adapters.cedict import Cedict
from dictsent_adapters.csv import Csv, CsvOptions
from dictsent_adapters.dictd import Dictd, DictdOptions
from dictsent_adapters.jmdict import JMdict
from dictsent_adapters.jsonl import Jsonl, JsonlOptions, dictionary_to_json, entry_to_json
from dictsent_adapters.markup import markup_to_text
from dictsent_adapters.omw import Omw
from dictsent_adapters.stardict import StarDict, StarDictOptions
from dictsent_adapters.streams import LINE_LIMIT
from dictsent_adapters.tei import Tei

SAMPLES = Path(__file__).parent / "adapters"


def records(adapter: Adapter, source: Path) -> list[Entry | Rejected]:
    return list(adapter.read(str(source)))


def describe_and_read(adapter: type[Adapter], source: Path) -> list[Entry | Rejected]:
    adapter().describe(str(source))
    return records(adapter(), source)


def reasons(adapter: Adapter, source: Path) -> list[str]:
    return [record.reason for record in records(adapter, source) if isinstance(record, Rejected)]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.binary(max_size=400),
    start=st.sampled_from([b"", b"\x1f\x8b", b"<?xml", b"PK\x03\x04", b"{", b"\xff\xfe"]),
)
def test_no_adapter_fails_at_the_sight_of_anything(tmp_path: Path, content: bytes, start: bytes) -> None:
    for suffix in (".tsv", ".index", ".ifo", ".zip", ".xml.gz"):
        file = tmp_path / f"any{suffix}"
        file.write_bytes(start + content)
        for adapter in installed().values():
            assert adapter().matches(file) in (True, False)
    for adapter in installed().values():
        assert adapter().matches(tmp_path) in (True, False)


TEI = b"""<?xml version="1.0"?><!DOCTYPE TEI [%s]><TEI><teiHeader><fileDesc><titleStmt><title>Irish-English FreeDict
Dictionary</title></titleStmt></fileDesc></teiHeader><text><body><entry><form><orth>cat</orth></form>
<sense><def>an animal %s</def></sense></entry></body></text></TEI>"""
BOMB = b'<!ENTITY a "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">' + b"".join(
    b'<!ENTITY %c "%s">' % (98 + i, b"&%c;" % (97 + i) * 12) for i in range(8)
)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TEI % (BOMB, b"&i;"), "amplification"),
        (TEI % (b'<!ENTITY secret SYSTEM "secret.txt">', b"&secret;"), "no well-formed XML: Entity 'secret'"),
        ((TEI % (b"", b""))[:-30], "no well-formed XML"),
        (TEI % (b"", b"x" * (11 << 20)), "no well-formed XML.*too long"),
        ((TEI % (b"", b"")).replace(b"<def>an animal </def>", b""), "no definitions or translations"),
        ((TEI % (b"", b"")).replace(b"teiHeader", b"head"), "has no teiHeader"),
    ],
)
def test_hostile_xml_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "secret.txt").write_text("SECRET")
    file = tmp_path / "some.tei"
    file.write_bytes(content)
    assert Tei().matches(file)
    with pytest.raises(SourceError, match=message):
        describe_and_read(Tei, file)


def test_a_bomb_in_jmdict_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "jmdict.xml"
    file.write_bytes(
        b'<?xml version="1.0"?><!DOCTYPE JMdict [%s]><JMdict><entry><r_ele><reb>x</reb></r_ele>'
        b"<sense><gloss>&i;</gloss></sense></entry></JMdict>" % BOMB
    )
    with pytest.raises(SourceError, match="amplification"):
        records(JMdict(), file)


@pytest.fixture
def stardict(tmp_path: Path) -> Path:
    shutil.copytree(SAMPLES / "stardict" / "sample", tmp_path / "sample")
    return tmp_path / "sample" / "small.ifo"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda ifo: ifo.with_suffix(".dict.dz").unlink(), "its .dict file is missing"),
        (lambda ifo: ifo.with_suffix(".idx").unlink(), "its .idx file is missing"),
        (lambda ifo: cut(ifo.with_suffix(".dict.dz"), 12), "truncated or damaged"),
        (lambda ifo: spoil(ifo.with_suffix(".dict.dz"), 40), "truncated or damaged"),
        (lambda ifo: cut(ifo.with_suffix(".idx"), 3), "truncated within a record"),
        (lambda ifo: ifo.with_suffix(".idx").write_bytes(b"x" * 200_000), "is no index"),
    ],
)
def test_damaged_stardict_is_refused(stardict: Path, change: Callable[[Path], None], message: str) -> None:
    change(stardict)
    with pytest.raises(SourceError, match=message):
        records(StarDict(StarDictOptions(language="en")), stardict)


def test_stardict_needs_a_language(stardict: Path) -> None:
    with pytest.raises(SourceError, match="nothing tells the language; give --lang"):
        records(StarDict(), stardict)


def cut(file: Path, size: int) -> None:
    file.write_bytes(file.read_bytes()[:-size])


def spoil(file: Path, place: int) -> None:
    content = bytearray(file.read_bytes())
    content[place : place + 8] = b"\xff" * 8
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda index: index.with_suffix(".dict.dz").unlink(), "its text is missing"),
        (lambda index: cut(index.with_suffix(".dict.dz"), 12), "truncated or damaged"),
        (lambda index: spoil(index.with_suffix(".dict.dz"), 60), "truncated or damaged"),
    ],
)
def test_damaged_dictd_is_refused(tmp_path: Path, change: Callable[[Path], None], message: str) -> None:
    shutil.copytree(SAMPLES / "dictd" / "sample", tmp_path / "sample")
    index = tmp_path / "sample" / "small.index"
    change(index)
    assert Dictd().matches(index)
    with pytest.raises(SourceError, match=message):
        records(Dictd(DictdOptions(language="en")), index)


def test_dictd_reads_plain_text_and_whole_articles(tmp_path: Path) -> None:
    packed = SAMPLES / "dictd" / "sample" / "small.dict.dz"
    (tmp_path / "small.dict").write_bytes(gzip.decompress(packed.read_bytes()))
    shutil.copy(packed.with_name("small.index"), tmp_path)
    index = tmp_path / "small.index"
    assert records(Dictd(), index) == records(Dictd(), packed.with_name("small.index"))
    assert Dictd().files(index) == [index, tmp_path / "small.dict"]
    whole = {r.headword: r for r in records(Dictd(DictdOptions(whole=True)), index) if isinstance(r, Entry)}
    assert whole["bug"].definitions[0].text == "An unwanted property of a program. More about it."


def test_a_wrong_charset_is_rejected_line_by_line() -> None:
    adapter = Dictd(DictdOptions(language="de", encoding="utf-8"))
    assert reasons(adapter, SAMPLES / "dictd" / "sample-latin1" / "kleines-deu-eng.index") == ["not UTF-8"]


def test_a_long_line_is_a_reject(tmp_path: Path) -> None:
    long = "x" * (2 * LINE_LIMIT)
    for adapter, good in [
        (Jsonl(JsonlOptions(language="en")), '{"word": "a", "definition": "b"}'),
        (Csv(CsvOptions(language="en", delimiter=",")), "a,b"),
        (Cedict(), "貓 猫 [mao1] /cat/"),
        (JMdict(), "猫 [ねこ] /(n) cat/"),
    ]:
        file = tmp_path / "long.txt"
        file.write_text(f"{good}\n{long}\n{good}\n", encoding="utf-8")
        assert reasons(adapter, file) == ["line too long"]
    file.write_text(f"# a\tcat\n00001740-n\tcat:lemma\ta\n00001740-n\tcat:def\t0\tb\n{long}\n", encoding="utf-8")
    assert reasons(Omw(), file) == ["line too long"]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ('a,b\nc,"never closed\nd,e\n', {}, "line 2: a quote is never closed; close it"),
        ("only one column\nhere\n", {}, "no delimiter found"),
        ("a,b\n", {"language": ""}, "language of its headwords is not known"),
    ],
)
def test_bad_csv_is_refused(tmp_path: Path, text: str, options: dict[str, str], message: str) -> None:
    file = tmp_path / "words.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError, match=message):
        records(Csv(CsvOptions(**{"language": "en", **options})), file)


def test_csv_can_do_without_quotes(tmp_path: Path) -> None:
    file = tmp_path / "words.csv"
    file.write_text('a|"b\nc|d "e"\n', encoding="utf-8")
    found = records(Csv(CsvOptions(language="en", quote="none", delimiter="|")), file)
    assert [e.definitions[0].text for e in found if isinstance(e, Entry)] == ['"b', 'd "e"']


def test_omw_without_definitions_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "wn-data-fra.tab"
    file.write_text("# WOLF\tfra\thttps://example.org\tCeCILL-C\n00001740-n\tfra:lemma\tentité\n", encoding="utf-8")
    with pytest.raises(SourceError, match="no definitions in this file"):
        records(Omw(), file)


def test_anybodys_json_lines_by_a_mapping(tmp_path: Path) -> None:
    file = tmp_path / "words.jsonl"
    objects = [
        {"word": "cat", "pos": "Noun", "senses": [{"gloss": "a pet", "ex": ["It sleeps."]}, {"gloss": " "}]},
        {"word": "dog", "definition": "not this", "senses": [{"gloss": ["a big pet", "a fool"]}]},
        {"word": "none", "senses": []},
    ]
    file.write_text("\n".join(map(json.dumps, objects)), encoding="utf-8")
    options = JsonlOptions(
        language="en", headword="word", definition="senses.gloss", part_of_speech="pos", example="senses.ex"
    )
    cat, dog, none = records(Jsonl(options), file)
    pet = Definition(text="a pet", language="en", part_of_speech="noun", examples=(Example("It sleeps."),))
    assert isinstance(cat, Entry)
    assert isinstance(dog, Entry)
    assert cat.definitions == (pet,)
    assert [d.text for d in dog.definitions] == ["a big pet", "a fool"]
    assert none == Rejected("no definition", "words.jsonl, line 3", '{"word": "none", "senses": []}')


@pytest.mark.parametrize(
    ("first", "message"),
    [
        ('{"dictsent": 2, "dictionary": {"name": "x", "language": "en"}}', "a newer dictsent"),
        ('{"dictsent": 1, "dictionary": {"language": "en"}}', "names no dictionary"),
        ('{"headword": "a", "definitions": [{"text": "b"}]}', "nothing tells the language"),
        ('{"x": 1}\n{"y": 2}', "2 of 2 lines cannot be used"),
        ("[" * 5000, "1 of 1 lines cannot be used, most because of: not JSON"),
    ],
)
def test_bad_json_lines_are_refused(tmp_path: Path, first: str, message: str) -> None:
    file = tmp_path / "words.jsonl"
    file.write_text(first + "\n", encoding="utf-8")
    with pytest.raises(SourceError, match=message):
        describe_and_read(Jsonl, file)


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
some = text.filter(str.strip)
examples = st.builds(Example, some, text, text)
definitions = st.builds(
    Definition,
    text=some,
    language=st.sampled_from(["en", "pt-BR", "zh-Hant"]),
    part_of_speech=text,
    sense=text,
    ili=text,
    examples=st.lists(examples, max_size=2).map(tuple),
    labels=st.lists(some, max_size=2).map(tuple),
    form_of=text,
    etymology=st.integers(0, 9),
    translation=st.booleans(),
)
entries = st.builds(
    Entry,
    headword=some,
    language=st.sampled_from(["en", "pt-BR"]),
    definitions=st.lists(definitions, min_size=1, max_size=3).map(tuple),
    spellings=st.lists(some, max_size=2).map(tuple),
    place=some,
)
dictionaries = st.builds(Dictionary, name=some, language=st.just("mul"), title=text, version=text, licence=text)


@given(dictionary=dictionaries, exported=st.lists(entries, min_size=1, max_size=4))
def test_the_own_form_comes_back_whole(
    tmp_path_factory: pytest.TempPathFactory, dictionary: Dictionary, exported: list[Entry]
) -> None:
    file = tmp_path_factory.mktemp("own") / "export.jsonl"
    lines = [dictionary_to_json(dictionary), *map(entry_to_json, exported)]
    content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    file.write_text(content, encoding="utf-8", newline="")
    assert Jsonl().matches(file)
    assert Jsonl().describe(str(file)) == dictionary
    assert records(Jsonl(), file) == exported


@pytest.mark.parametrize(
    ("article", "headword", "expected"),
    [
        ("cat\n1. a pet\n2. a tackle\n", "cat", ["a pet", "a tackle"]),
        ("cat\n1. a pet\n3. not the third\n", "cat", ["a pet 3. not the third"]),
        ("the text alone, of 2. no senses", "cat", ["the text alone, of 2. no senses"]),
        ("cathedral, not a cat\n", "cat", ["cathedral, not a cat"]),
        ("cat /kat/ <n>\nKatze <fem>, Kater <masc>\n", "cat", ["Katze, Kater"]),
        ("", "cat", []),
        ("cat", "cat", []),
        ("1. a pet\n", "1", ["a pet"]),
    ],
)
def test_articles_are_taken_apart(article: str, headword: str, expected: list[str]) -> None:
    assert [sense.text for sense in parse_article(article, headword).senses] == expected


@settings(deadline=None)
@given(st.text(alphabet='ab1.)\n \\/<>[]{}":;,n°', max_size=60), st.sampled_from(["a", "b1", "?", "ab a"]))
def test_any_article_is_taken_apart(article: str, headword: str) -> None:
    for sense in parse_article(article, headword).senses:
        assert sense.text.strip()


@pytest.mark.parametrize("unit", ["\n", " ", "[", "(", '"', "/", "\\", "<", "{", "1.\n", "[syn:", '; "a', "x|", "<n>"])
def test_long_hostile_articles_are_read_in_linear_time(unit: str) -> None:
    article = parse_article(f"cat {unit * 60_000} end", "cat")
    assert all(sense.text for sense in article.senses)
    markup_to_text(unit * 60_000)


@pytest.mark.parametrize(
    ("markup", "plain"),
    [
        ("<p>one<br>two</p><p>three</p>", "one\ntwo\n\nthree"),
        ("a &lt;b&gt; &amp; c", "a <b> & c"),
        ("<ul><li>a</li><li>b</li></ul>tail", "a\nb\n\ntail"),
        ("<k>cat</k>a <b>pet</b><script>x</script>", "a pet"),
        ("\x01<b>x</b><!-- y -->", "x"),
    ],
)
def test_markup_becomes_text(markup: str, plain: str) -> None:
    assert markup_to_text(markup) == plain


@pytest.mark.data
def test_counts_of_the_real_files(data_folder: Path) -> None:
    folder = data_folder / "dict"
    expected = {
        "ell": 18_136,
        "ita": 13_356,
        "ind": 12_862,
        "glg": 8_703,
        "cat": 7_673,
        "bul": 4_969,
        "slv": 3_177,
        "eus": 2_088,
    }
    found = {}
    for file in folder.glob("omw/*/wn-data-*.tab"):
        if (code := file.stem.removeprefix("wn-data-")) in expected:
            adapter = Omw()
            records(adapter, file)
            found[code] = adapter.reading.counts["definition rows"]
    assert found == expected
    swahili = records(Tei(), folder / "freedict-tei" / "swh-eng" / "swh-eng.tei")
    assert sum(len(r.definitions) for r in swahili if isinstance(r, Entry)) == 2_399
    for name in ("gle-eng", "srp-eng"):
        adapter = Tei()
        read = records(adapter, folder / "freedict-tei" / name / f"{name}.tei")
        assert all(d.translation for r in read if isinstance(r, Entry) for d in r.definitions)
        assert adapter.reading.notes[-1].startswith("holds translations only")


def test_wikdict_articles_hold_translations_and_meanings() -> None:
    text = (
        "membre /mɑ̃bʁ/ <n, masc>\n1. Mitglied <neut>\nChacune des personnes d’un corps\n"
        "2. Glied, Gliedmaße 2.\nPartie du corps\n 3.\nSexe\n3. Element\n"
    )
    article = parse_glossed_article(text, "membre")
    assert article.headword == "membre"
    assert [(sense.part_of_speech, sense.text, sense.glosses) for sense in article.senses] == [
        ("n", "Mitglied", ("Chacune des personnes d’un corps",)),
        ("n", "Glied, Gliedmaße", ("Partie du corps", "Sexe")),
        ("n", "Element", ()),
    ]
    assert parse_glossed_article("fosse\nGrube\n", "fosse").senses[0].text == "Grube"
    assert parse_glossed_article("10e /di/ <adj>\n10.\n", "10e").senses[0].text == "10."
    assert parse_glossed_article("fosse\n", "fosse").senses == ()
