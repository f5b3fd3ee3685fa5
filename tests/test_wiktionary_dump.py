"""Dumps as files: compressed, cut or damaged, of the wrong kind, with several workers, and the Japanese sample."""

from __future__ import annotations

import bz2
import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from backports import zstd

from dictsent.adapter import identify, installed
from dictsent.errors import SourceError
from dictsent.records import Entry, Rejected
from dictsent_adapters.wiktionary import Wiktionary
from dictsent_adapters.wiktionary.adapter import WiktionaryOptions
from dictsent_adapters.wiktionary.collect import collect, first_share
from dictsent_adapters.wiktionary.dump import read_head

HERE = Path(__file__).parent
SAMPLE = HERE / "adapters" / "wiktionary" / "sample-en.xml"
JAPANESE = HERE / "wiktionary-ja" / "wiktionary-ja.xml"

HEAD = (
    '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">\n'
    "<siteinfo><sitename>Wiktionary</sitename><dbname>enwiktionary</dbname></siteinfo>\n"
)


def page(title: str, text: str, *, ns: str = "0", more: str = "") -> str:
    number = f"<ns>{ns}</ns>" if ns else ""
    return f"<page><title>{title}</title>{number}{more}<revision><id>1</id><text>{text}</text></revision></page>\n"


def noun(number: int) -> str:
    return page(f"word{number}", f"==English==\n===Noun===\n# The thing number {number}.\n")


def write(path: Path, *pages: str, head: str = HEAD, tail: str = "</mediawiki>\n") -> Path:
    path.write_text(head + "".join(pages) + tail, encoding="utf-8")
    return path


def read(path: Path, **options: Any) -> tuple[list[Entry | Rejected], Wiktionary]:
    adapter = Wiktionary(WiktionaryOptions(**options))
    adapter.describe(str(path))
    return list(adapter.read(str(path))), adapter


def multistream(path: Path, streams: int = 40) -> Path:
    """A bz2 as Wikimedia makes it: the head, streams of pages, the end, each a stream of its own."""
    parts = [HEAD, *("".join(noun(100 * s + p) for p in range(5)) for s in range(streams)), "</mediawiki>\n"]
    path.write_bytes(b"".join(bz2.compress(part.encode()) for part in parts))
    return path


def test_content_decides_whatever_the_name_and_the_compression(tmp_path: Path) -> None:
    data = SAMPLE.read_bytes()
    expected, _ = read(SAMPLE)
    packings: tuple[Callable[[bytes], bytes], ...] = (bytes, bz2.compress, gzip.compress, zstd.compress)
    for name, packed in ((f"words.{number}", pack(data)) for number, pack in enumerate(packings)):
        path = tmp_path / name
        path.write_bytes(packed)
        assert identify(str(path), installed()) is Wiktionary
        assert read(path)[0] == expected


def test_workers_change_neither_result_nor_order(tmp_path: Path) -> None:
    path = multistream(tmp_path / "dump.xml.bz2")
    alone, first = read(path)
    together, second = read(path, jobs=2)
    assert together == alone
    assert len(alone) == 200
    assert second.reading.counts == first.reading.counts
    assert second.reading.done == second.reading.total > 0


@pytest.mark.parametrize("compression", ["plain", "gzip", "bzip2", "one process has no room to unpack"])
def test_workers_bring_back_whole_entries(tmp_path: Path, compression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples, labels, notes, rejects and all: equal to what one process reads."""
    packers: dict[str, Callable[[bytes], bytes]] = {"plain": bytes, "gzip": gzip.compress}
    pack = packers.get(compression, bz2.compress)
    if "room" in compression:
        monkeypatch.setattr("dictsent_adapters.wiktionary.collect.SPARE_ROOM", 1 << 60)
    head, *pages = SAMPLE.read_bytes().replace(b"<page>", b"\0<page>").split(b"\0")
    bad = b"<page><title>bad</title><ns>0</ns>&lol;</page>"
    path = tmp_path / "dump"
    path.write_bytes(b"".join(map(pack, [head, *(bad + b"".join(pages[:-1]) for _ in range(20)), pages[-1]])))
    expected, alone = read(path, all_languages=True)
    found, together = read(path, all_languages=True, jobs=2)
    assert found == expected
    assert sum(isinstance(record, Rejected) for record in found) >= 20
    assert sum(len(d.examples) for e in found if isinstance(e, Entry) for d in e.definitions) > 20
    assert together.reading.counts == alone.reading.counts


@pytest.mark.parametrize("cut", ["plain", "bz2", "gzip", "zstandard", "stream", "crc"])
def test_a_damaged_dump_is_one_error_or_kept_as_far_as_it_goes(tmp_path: Path, cut: str) -> None:
    path = tmp_path / "dump"
    text = (HEAD + "".join(noun(n) for n in range(3000))).encode()
    packers: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstandard": zstd.compress}
    if cut == "plain":
        path.write_bytes(text[:-40])
    elif cut in packers:
        packed = packers[cut](text)
        path.write_bytes(packed[: len(packed) * 2 // 3])
    elif cut == "bz2":
        packed = bz2.compress(text, 1)
        path.write_bytes(packed[: len(packed) * 2 // 3])
    else:
        data = multistream(path).read_bytes()
        broken = bytearray(data[: 2 * len(data) // 3] if cut == "stream" else data)
        broken[len(data) // 2] ^= 0x55 if cut == "crc" else 0
        path.write_bytes(broken)
    with pytest.raises(SourceError, match="truncated"):
        read(path)
    kept, adapter = read(path, keep_going=True)
    assert kept
    assert any("not read" in note for note in adapter.reading.notes)


def test_bad_pages_are_rejected_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    bad = page("bad", "==English==\n===Noun===\n# A @ thing.\n").encode().replace(b"@", b"\xff\xfe")
    entity = page("bomb", "&lol;").encode()
    big = page("big", "==English==\n===Noun===\n# Big.\n" + "word " * 2_200_000).encode()
    path.write_bytes(HEAD.encode() + bad + entity + big + noun(1).encode() + b"</mediawiki>")
    found, _ = read(path)
    assert [r.reason for r in found if isinstance(r, Rejected)] == ["page is not valid XML"] * 2
    assert [e.headword for e in found if isinstance(e, Entry)] == ["big", "word1"]


WRONG = {
    "SQL dump": b"-- MySQL dump 10.19\n--\n-- Host: localhost  Database: jawiktionary\nDROP TABLE IF EXISTS `page`;\n",
    "JSON dump": b'{"index":{"_type":"page","_id":"1"}}\n{"title":"x","wiki":"jawiktionary"}\n',
    "ZIM file": b"ZIM\x04\x06\x00\x01\x00",
    "HTML page": b"<!DOCTYPE html><html><body>404</body></html>",
    "root element": b"<?xml version='1.0'?>\n<rss><channel/></rss>",
    "not XML": b"dog\tan animal\n",
    "document type": b'<!DOCTYPE mediawiki [<!ENTITY a "b">]>\n<mediawiki><page/></mediawiki>',
    "export of frwiki": b"<mediawiki><siteinfo><dbname>frwiki</dbname></siteinfo><page></page></mediawiki>",
    "not UTF-8": '<mediawiki xml:lang="en"></mediawiki>'.encode("utf-16"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_the_wrong_file_is_one_clear_line(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "jawiktionary-latest"
    path.write_bytes(WRONG[kind])
    with pytest.raises(SourceError, match=kind) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("SQL dump", "this is an SQL dump, not an XML export"),
        ("JSON dump", "this is a JSON dump, not an XML export"),
        ("root element", "no adapter recognises this"),
        ("not UTF-8", "no adapter recognises this"),
        ("empty", "the file is empty"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_the_wrong_file_at_the_command_is_one_clear_line(
    run_cli: Callable[..., Any], kind: str, message: str, packed: bool
) -> None:
    path = Path("jawiktionary-latest")
    path.write_bytes(gzip.compress(WRONG.get(kind, b"")) if packed else WRONG.get(kind, b""))
    result = run_cli("ingest", path, "--store", "store.db")
    assert result.exit_code == 1
    assert (message if kind != "empty" or not packed else "no adapter recognises") in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not Path("store.db").exists()


def test_elements_nested_beyond_reason_spoil_their_page_only(tmp_path: Path) -> None:
    path = write(tmp_path / "a", page("deep", "<a>" * 100_000 + "</a>" * 100_000), noun(1), page("nul", "a\x00b"))
    found, _ = read(path)
    assert [r.reason for r in found if isinstance(r, Rejected)] == ["page is not valid XML"] * 2
    assert [e.headword for e in found if isinstance(e, Entry)] == ["word1"]


def test_next_to_nothing_usable_says_what_was_seen(tmp_path: Path) -> None:
    redirects = [page(f"r{n}", "#REDIRECT [[x]]", more='<redirect title="x"/>') for n in range(30)]
    with pytest.raises(SourceError, match="30 redirects"):
        read(write(tmp_path / "a", *redirects))
    foreign = [page(f"f{n}", "==French==\n===Noun===\n# A thing.\n") for n in range(5)]
    path = write(tmp_path / "b", *foreign)
    with pytest.raises(SourceError, match=r"no entries in English.*French 5"):
        read(path)
    assert {e.language for e in read(path, language="fr")[0] if isinstance(e, Entry)} == {"fr"}
    with pytest.raises(SourceError, match="read as the de edition"):
        read(path, edition="de")


def test_the_edition_without_a_dbname(tmp_path: Path) -> None:
    base = '<mediawiki xml:lang="de"><siteinfo><base>http://en.wiktionary.org/wiki/X</base></siteinfo>'
    assert Wiktionary().describe(str(write(tmp_path / "a", noun(1), head=base))).name == "enwiktionary"
    bare = write(tmp_path / "b", noun(1), head='<mediawiki xml:lang="en">')
    assert Wiktionary().describe(str(bare)).name == "enwiktionary"
    unknown = write(tmp_path / "c", noun(1), head="<mediawiki>")
    with pytest.raises(SourceError, match="--edition"):
        read(unknown)
    assert len(read(unknown, edition="en")[0]) == 1
    with pytest.raises(SourceError, match="no edition"):
        read(unknown, edition="../x")


def test_an_old_export_tells_namespaces_by_the_title(tmp_path: Path) -> None:
    head = (
        '<mediawiki version="0.3" xml:lang="en"><siteinfo><dbname>enwiktionary</dbname><namespaces>'
        '<namespace key="0" /><namespace key="10">Template</namespace></namespaces></siteinfo>'
    )
    template = page("Template:size", "big {{{1}}}", ns="")
    word = page("hall", "==English==\n===Noun===\n# A {{size|room}}.\n", ns="")
    found, adapter = read(write(tmp_path / "a", word, template, head=head))
    assert [e.definitions[0].text for e in found if isinstance(e, Entry)] == ["A big room."]
    assert adapter.reading.counts["pages of other namespaces"] == 1


def test_an_edition_without_a_layout_says_so(tmp_path: Path) -> None:
    head = "<mediawiki><siteinfo><dbname>lvwiktionary</dbname></siteinfo>"
    path = write(tmp_path / "a", page("suns", "==Latviešu==\n===Lietvārds===\n# dzīvnieks\n"), head=head)
    found, adapter = read(path)
    assert [e.language for e in found if isinstance(e, Entry)] == ["lv"]
    assert "no layout is known" in adapter.reading.notes[0]


def test_the_japanese_sample_gives_exactly_what_it_holds() -> None:
    expected = json.loads((JAPANESE.parent / "expected.json").read_text(encoding="utf-8"))
    found, adapter = read(JAPANESE)
    entries = {r.headword: r for r in found if isinstance(r, Entry)}
    assert [r for r in found if isinstance(r, Rejected)] == []
    senses = [d for e in entries.values() for d in e.definitions]
    forms = {word: d.form_of for word, e in entries.items() for d in e.definitions if d.form_of}
    japanese = expected["japanese"]
    assert forms == japanese["form_of"]
    assert len(senses) - len(forms) == japanese["senses"]
    assert len(entries) - len(forms) == japanese["headwords"]
    assert sum(bool(d.labels) for d in senses if not d.form_of) == japanese["labelled_senses"]
    assert {d.language for d in senses} == {"ja"}
    assert adapter.reading.counts["pages"] == expected["pages"]["total"]


def test_all_languages_of_the_japanese_sample() -> None:
    expected = json.loads((JAPANESE.parent / "expected.json").read_text(encoding="utf-8"))["other_languages"]
    found, _ = read(JAPANESE, all_languages=True)
    counts = Counter(
        {e.language: 0 for e in found if isinstance(e, Entry)},
    )
    for entry in found:
        if isinstance(entry, Entry):
            counts[entry.language] += sum(not d.form_of for d in entry.definitions)
    assert {code: counts[code] for code in expected} == {code: numbers["senses"] for code, numbers in expected.items()}


@pytest.mark.data
def test_the_real_english_export(data_folder: Path) -> None:
    found, adapter = read(data_folder / "dict" / "wiktionary-xml" / "test-pages-articles.xml.bz2")
    assert adapter.reading.counts["pages"] == 1394
    assert sum(isinstance(r, Entry) for r in found) >= 1200
    assert sum(isinstance(r, Rejected) for r in found) <= 10


def test_both_readings_tell_how_far_they_are(tmp_path: Path) -> None:
    path = multistream(tmp_path / "dump.xml.bz2")
    told: list[int] = []
    collect(path, read_head(path), tmp_path, jobs=1, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == path.stat().st_size
    adapter = Wiktionary()
    records = adapter.read(str(path))
    next(records)
    size = path.stat().st_size
    assert first_share(path) * size - 1 <= adapter.reading.done <= size == adapter.reading.total
    assert len(list(records)) == 199
    assert adapter.reading.done == size


def test_headings_that_name_no_known_language_are_told(tmp_path: Path) -> None:
    strange = page("foo", "==Klingonesque==\n===Noun===\n# A foo.\n")
    path = write(tmp_path / "a", noun(1), strange, page("bar", "==Swahili==\n===Noun===\n# A bar.\n"))
    assert read(path)[1].reading.notes == []
    for told in ({"language": "sw"}, {"all_languages": True}):
        _, adapter = read(path, **told)
        assert "left out: 'Klingonesque' 1" in adapter.reading.notes[0]
        assert adapter.reading.counts["unknown languages"] == 1
    with pytest.raises(SourceError, match=r"no entries in Klingon: .*unknown: 'Klingonesque' 1"):
        read(path, language="tlh")
