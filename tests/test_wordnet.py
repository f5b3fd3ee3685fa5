"""The three forms of wordnets: counts that must come out to the last one, glosses, damage."""

from __future__ import annotations

import gzip
import lzma
import shutil
import tarfile
from collections import Counter
from pathlib import Path

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from dictsent.errors import SourceError
from dictsent.records import Entry, Example
from dictsent_adapters.wordnet import WordNet
from dictsent_adapters.wordnet.gloss import split_gloss

SAMPLE = Path(__file__).parent / "adapters" / "wordnet" / "sample"
LMF = SAMPLE.with_name("sample-lmf.xml")


def entries(source: Path | str) -> list[Entry]:
    return [record for record in WordNet().read(str(source)) if isinstance(record, Entry)]


@pytest.mark.data
def test_wordnet_3_0_is_whole(data_folder: Path) -> None:
    adapter = WordNet()
    source = data_folder / "dict" / "wordnet-3.0"
    records = list(adapter.read(str(source)))
    assert not [r for r in records if not isinstance(r, Entry)]
    assert not adapter.reading.notes
    found = [r for r in records if isinstance(r, Entry)]
    senses = [(entry.headword.lower(), d) for entry in found for d in entry.definitions]
    # The data files hold 206,978 words. 37 of them repeat a word of their synset but for case ("B" beside "b"): without
    # them there are 206,941 senses. Of the 37, 29 have the other's lexical id and thus its key, 8 a key of their own,
    # which Princeton's own sense index leaves out. As written there are 148,730 headwords, 147,306 without case.
    assert len(senses) == 206_978
    assert len({d.sense for _, d in senses}) == 206_978 - 29
    assert len(found) == len({e.headword for e in found}) == 148_730
    assert len({e.headword.casefold() for e in found}) == 147_306
    assert Counter(d.part_of_speech for _, d in senses) == {
        "noun": 146_347,
        "verb": 25_047,
        "adjective": 30_004,
        "adverb": 5_580,
    }


@pytest.mark.data
def test_words_fold_to_senses_within_their_synsets(data_folder: Path) -> None:
    from dictsent.adapter import Reading
    from dictsent_adapters.wordnet import princeton

    folder = data_folder / "dict" / "wordnet-3.0"
    synsets = [s for file in princeton.data_files(folder) for s in princeton._read_synsets(file, Reading())]
    words = [[princeton._without_marker(w)[0] for w, _ in s.words] for s in synsets if isinstance(s, tuple)]
    assert len(words) == len(synsets) == 117_659
    assert sum(map(len, words)) == 206_978
    assert sum(len({w.lower() for w in synset}) for synset in words) == 206_941


@pytest.mark.data
def test_open_english_wordnet_is_whole(data_folder: Path) -> None:
    adapter = WordNet()
    source = str(data_folder / "dict" / "oewn" / "oewn.xml.xz")
    found = [record for record in adapter.read(source) if isinstance(record, Entry)]
    assert not adapter.reading.counts
    assert adapter.describe(source).licence == "https://creativecommons.org/licenses/by/4.0"
    assert len(found) == 135_997
    assert sum(len(e.definitions) for e in found) == 185_178


@pytest.mark.parametrize(
    ("gloss", "definition", "examples"),
    [
        ("a nap", "a nap", ()),
        ('of the "first" kind; "a first attempt"', 'of the "first" kind', ("a first attempt",)),
        ('the "B" in a word (as in "bad")', 'the "B" in a word (as in "bad")', ()),
        ('one; another one; "x y"; "z"', "one; another one", ("x y", "z")),
        ('worth; "an idea; a good one"- J. Doe; "z"', "worth", (Example("an idea; a good one", source="J. Doe"), "z")),
        ('in a way; "x"; (`thusly\' is rare)', "in a way; (`thusly' is rare)", ("x",)),
        ('be open; e.g. "open doors"', "be open", ("open doors",)),
        ('toed; "long-toed; "five-toed"', "toed", ("long-toed", "five-toed")),
        ('side; "I"m siding"; last one"', "side", ('I"m siding', "last one")),
        ('short; "never closed', "short", ("never closed",)),
        ('closed twice"', "closed twice", ()),
        ('"all of it"', '"all of it"', ()),
        ('go on; "No," he said, "never"', "go on", ('"No," he said, "never"',)),
        ('pad; "block" is a British term', 'pad; "block" is a British term', ()),
        ("ends in a mark;", "ends in a mark", ()),
    ],
)
def test_gloss_is_split(gloss: str, definition: str, examples: tuple[str | Example, ...]) -> None:
    assert split_gloss(gloss) == (definition, tuple(e if isinstance(e, Example) else Example(e) for e in examples))


@given(st.text(alphabet='ab "();,-`I.:', min_size=1).filter(lambda text: text.strip(' ";,:')))
def test_any_gloss_gives_a_definition(gloss: str) -> None:
    definition, examples = split_gloss(gloss)
    assert definition.strip()
    assert all(example.text for example in examples)


def test_missing_parts_and_indexes_are_noted(tmp_path: Path) -> None:
    shutil.copy(SAMPLE / "data.noun", tmp_path)
    adapter = WordNet()
    assert adapter.matches(tmp_path)
    assert list(adapter.read(str(tmp_path)))
    assert adapter.reading.notes == [
        "data.verb is missing: no verbs",
        "data.adj is missing: no adjectives",
        "data.adv is missing: no adverbs",
        "index.noun is missing: senses stand in the order of data.noun",
    ]


def test_one_data_file_is_a_source(tmp_path: Path) -> None:
    adapter = WordNet()
    assert adapter.matches(SAMPLE / "data.adv")
    assert {d.part_of_speech for e in entries(SAMPLE / "data.adv") for d in e.definitions} == {"adverb"}


def test_truncated_data_is_refused(tmp_path: Path) -> None:
    content = (SAMPLE / "data.noun").read_bytes()
    (tmp_path / "data.noun").write_bytes(content[:-40])
    with pytest.raises(SourceError, match="truncated: its last record is not complete"):
        entries(tmp_path)
    shutil.copy(SAMPLE / "index.noun", tmp_path)
    (tmp_path / "data.noun").write_bytes(content[: content.rindex(b"\n", 0, -1) + 1])
    with pytest.raises(SourceError, match=r"1 synsets that index\.noun names are not in it"):
        entries(tmp_path)


def test_a_malformed_index_is_refused(tmp_path: Path) -> None:
    shutil.copy(SAMPLE / "data.adv", tmp_path)
    (tmp_path / "index.adv").write_text("enough r 1 0 1 0 here  \n")
    with pytest.raises(SourceError, match=r"index\.adv, line 1: malformed line"):
        entries(tmp_path)


def test_malformed_records_are_rejected(tmp_path: Path) -> None:
    good = (SAMPLE / "data.adv").read_bytes()
    (tmp_path / "data.adv").write_bytes(good + b"00000001 02 r 05 lost 0 000 | no such words  \n\xff\xfe | x\n")
    rejected = [r for r in WordNet().read(str(tmp_path)) if not isinstance(r, Entry)]
    assert [(r.reason, r.text[:8]) for r in rejected] == [
        ("malformed record", "00000001"),
        ("malformed record", "�� | x"),
    ]


def test_lmf_in_every_wrapping_reads_alike(tmp_path: Path) -> None:
    content = LMF.read_bytes()
    (tmp_path / "a.xml.gz").write_bytes(gzip.compress(content))
    (tmp_path / "a.xml.xz").write_bytes(lzma.compress(content))
    (tmp_path / "a.xml.zst").write_bytes(zstd.compress(content))
    with tarfile.open(tmp_path / "a.tar.xz", "w:xz") as archive:
        archive.add(SAMPLE.with_name("SOURCE.md"), "package/README.md")
        archive.add(LMF, "package/small.xml")
    (tmp_path / "a.tar.zst").write_bytes(zstd.compress(lzma.decompress((tmp_path / "a.tar.xz").read_bytes())))
    expected = entries(LMF)
    assert expected
    for file in tmp_path.iterdir():
        adapter = WordNet()
        assert adapter.matches(file)
        assert adapter.describe(str(file)).title == adapter.describe(str(LMF)).title
        assert entries(file) == expected


def test_an_archive_cannot_write_elsewhere(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(LMF, "package/small.xml")
        archive.add(LMF, "../outside.xml")
    assert WordNet().matches(tmp_path / "a.tar")
    with pytest.raises(SourceError, match="reaches out of its folder"):
        entries(tmp_path / "a.tar")


def test_lexicon_is_chosen_by_language() -> None:
    adapter = WordNet(WordNet.Options(language="ja"))
    assert [r.headword for r in adapter.read(str(LMF)) if isinstance(r, Entry)] == ["例え"]
    with pytest.raises(SourceError, match="no lexicon of the language de; it holds en, ja"):
        list(WordNet(WordNet.Options(language="de")).read(str(LMF)))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("cut.xml", lambda xml: xml[:-600], "no well-formed WN-LMF"),
        ("no-id.xml", lambda xml: xml.replace(b'id="small-en-colour-n"', b""), "no well-formed WN-LMF"),
        ("doctype.xml", lambda xml: xml.replace(b"-1.3.dtd", b"-7.dtd"), "DOCTYPE"),
        (
            "words.xml",
            lambda xml: xml.replace(b"<Definition", b"<Example").replace(b"</Definition", b"</Example"),
            "no def",
        ),
        ("cut.xml.xz", lambda xml: lzma.compress(xml)[:-50], "truncated or damaged"),
        ("cut.xml.gz", lambda xml: gzip.compress(xml)[:-50], "truncated or damaged"),
    ],
)
def test_damaged_lmf_is_refused(tmp_path: Path, name: str, change, message: str) -> None:
    file = tmp_path / name
    file.write_bytes(change(LMF.read_bytes().replace(b" sourceSense", b" n").replace(b' language="fr"', b"")))
    assert WordNet().matches(file) or name.endswith("z")
    with pytest.raises(SourceError, match=message) as raised:
        entries(file)
    assert str(file) in str(raised.value)


def test_entities_of_a_lexicon_are_not_expanded(tmp_path: Path) -> None:
    bomb = b'<!ENTITY a "aaaaaaaaaa">' + b"".join(
        b'<!ENTITY %c "%s">' % (98 + i, b"&%c;" % (97 + i) * 10) for i in range(9)
    )
    text = LMF.read_bytes().replace(b'-1.3.dtd">', b'-1.3.dtd" [' + bomb + b"]>").replace(b"paint of", b"&j; of")
    (tmp_path / "bomb.xml").write_bytes(text)
    with pytest.raises(SourceError, match="DOCTYPE"):
        entries(tmp_path / "bomb.xml")


def test_a_lexicon_of_the_users_own_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import wn

    monkeypatch.setattr(wn.config, "_data_directory", wn.config.data_directory)
    monkeypatch.setattr(wn.config, "_dbpath", wn.config.database_path)
    wn.config.data_directory = tmp_path
    with pytest.raises(SourceError, match=r"python -m wn download small-en:1\.2"):
        WordNet().describe("wn:small-en:1.2")
    lexicon = tmp_path / "small.xml"
    lost = '<Sense id="small-en-asleep-a-2" synset="small-en-9-a"/>'
    lexicon.write_text(LMF.read_text(encoding="utf-8").replace(lost, ""), encoding="utf-8")
    wn.add(lexicon, progress_handler=None)
    with pytest.raises(SourceError, match=r"holds small-en:1\.2, small-ja:1; python -m wn download oewn:2025"):
        WordNet().describe("wn:oewn:2025")
    adapter = WordNet()
    from_file = [e for e in entries(LMF) if e.language == "en"]
    assert adapter.describe("wn:small-en:1.2").title == 'Small "English" wordnet for tests'
    read = [e for e in adapter.read("wn:small-en:1.2") if isinstance(e, Entry)]
    assert sorted(read, key=lambda e: e.place) == sorted(from_file, key=lambda e: e.place)
    assert adapter.checksum("wn:small-en:1.2") != adapter.checksum("wn:small-ja:1")
    for connection in wn._db.pool.values():
        connection.close()
    wn._db.pool.clear()


@pytest.mark.data
def test_interlingual_numbers_follow_the_data_files(data_folder: Path) -> None:
    from dictsent_adapters import interlingual

    folder = data_folder / "dict" / "wordnet-3.0"
    offsets = {
        part: [int(line[:8]) for line in (folder / f"data.{name}").read_text().splitlines() if line[0] != " "]
        for part, name in (("a", "adj"), ("r", "adv"), ("v", "verb"), ("n", "noun"))
    }
    packed = Path(interlingual.__file__).with_suffix(".bin").read_bytes()
    unpacked = interlingual.unpack_offsets(packed)
    assert len(unpacked) == 117_659
    assert {part: [o for o, p in unpacked if p == part] for part in offsets} == offsets
    assert interlingual.unpack_offsets(interlingual.pack_offsets(offsets)) == unpacked


@pytest.mark.data
def test_interlingual_ids_agree_with_open_english_wordnet(data_folder: Path) -> None:
    """The senses of the two wordnets meet at their definitions: wherever one gloss has one id in both, they agree."""

    def glosses(source: Path) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for entry in entries(source):
            for definition in entry.definitions:
                if definition.ili and definition.part_of_speech == "noun":
                    found.setdefault(f"{entry.headword}: {definition.text}", set()).add(definition.ili)
        return {gloss: ids for gloss, ids in found.items() if len(ids) == 1}

    ours, theirs = glosses(data_folder / "dict" / "wordnet-3.0"), glosses(data_folder / "dict" / "oewn" / "oewn.xml.xz")
    both = ours.keys() & theirs.keys()
    assert len(both) > 50_000
    assert sum(ours[gloss] == theirs[gloss] for gloss in both) > 0.999 * len(both)
