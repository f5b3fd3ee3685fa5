"""Formats read by way of pyglossary: recognised without it, refused with the extra's name, damage in one line."""

from __future__ import annotations

import gc
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dictsent.adapter import identify, installed
from dictsent.errors import SourceError
from dictsent.records import Example
from dictsent_adapters import formats
from dictsent_adapters.foreign import foreign_format
from dictsent_adapters.formats import Formats, FormatsOptions, take_apart

SAMPLES = Path(__file__).parent / "adapters" / "formats"
NAMES = {"sample.dsl": "ABBYY Lingvo DSL", "sample-mdict.mdx": "MDict", "sample-xdxf.xdxf": "XDXF"}


@pytest.fixture
def without_pyglossary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "PROGRAM", "a-program-that-nobody-has")


@pytest.mark.usefixtures("without_pyglossary")
@pytest.mark.parametrize(("name", "title"), [*NAMES.items(), ("sample-babylon.bgl", "Babylon BGL")])
def test_without_the_extra_its_name_is_said(run_cli: Callable[..., Any], name: str, title: str) -> None:
    done = run_cli("ingest", SAMPLES / name, "--lang", "en")
    line = f"Error: {SAMPLES / name}: {title} needs the program pyglossary; pip install 'dictsent[formats]'\n"
    assert (done.exit_code, done.stderr) == (1, line)
    assert not Path("dictsent.db").exists()


def test_a_lingvo_dictionary_from_the_shell(run_cli: Callable[..., Any]) -> None:
    assert run_cli("ingest", SAMPLES / "sample.dsl").exit_code == 0
    shown = run_cli("show", "hound").stdout
    assert "dog [en]  (also hound)" in shown
    assert "преследовать [ru]" in shown
    assert "“to dog a thief” следить за вором" in shown


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("cut.bgl", (SAMPLES / "sample-babylon.bgl").read_bytes()[:60], "pyglossary finds no entries in it"),
        ("cut.bgl", (SAMPLES / "sample-babylon.bgl").read_bytes()[:-30], "truncated or damaged: "),
        ("cut.mdx", (SAMPLES / "sample-mdict.mdx").read_bytes()[:700], "pyglossary cannot read it as MDict: "),
        ("cut.mdx", (SAMPLES / "sample-mdict.mdx").read_bytes()[:900], "truncated or damaged: "),
        ("cut.xdxf", b"<xdxf><meta_info/><lexicon><ar><k>cat</k><def>a p", "pyglossary cannot read it as XDXF: "),
    ],
    ids=range(5),
)
def test_what_pyglossary_cannot_read_is_one_line(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    adapter = Formats(FormatsOptions(language="en"))
    with pytest.raises(SourceError, match=message) as caught:
        adapter.describe(str(tmp_path / name)), list(adapter.read(str(tmp_path / name)))
    assert "\n" not in str(caught.value)


def test_a_package_that_pyglossary_lacks_is_named() -> None:
    said = "ModuleNotFoundError: No module named 'icu'\nRun `sudo pip3 install pyicu` to install\n"
    error = formats._explained(said, "Aard 2 (Slob)", Path("a.slob"))
    assert str(error) == "a.slob: to read Aard 2 (Slob), pyglossary needs the package pyicu; pip install pyicu"
    assert str(formats._explained("", "MDict", Path("a"))).startswith(
        "a: pyglossary cannot read it as MDict: no reason"
    )


def test_other_files_are_left_to_other_adapters(tmp_path: Path) -> None:
    others = [p for p in SAMPLES.parent.rglob("*") if p.parent != SAMPLES]
    assert [p for p in others if foreign_format(p)] == []
    with zipfile.ZipFile(tmp_path / "words.zip", "w") as archive:
        archive.writestr("index.json", "{}")
        archive.writestr("term_bank_1.json", "[]")
    (tmp_path / "Some.dictionary" / "Contents").mkdir(parents=True)
    (tmp_path / "Some.dictionary" / "Contents" / "Body.data").write_bytes(b"x")
    shutil.copy(SAMPLES / "sample.dsl", tmp_path / "sample_abrv.dsl")
    found = {p.name: known.name if (known := foreign_format(p)) else "" for p in tmp_path.iterdir()}
    assert found == {"words.zip": "Yomichan", "Some.dictionary": "AppleDictBin", "sample_abrv.dsl": ""}
    assert identify(str(tmp_path / "Some.dictionary"), installed()) is Formats


def test_a_format_may_be_named(tmp_path: Path) -> None:
    file = tmp_path / "dog.txt"
    file.write_text("dog\ta pet\\nthat barks\n", encoding="utf-8")
    with pytest.raises(SourceError, match="nothing tells which format it is; give --format, such as ABBYYLingvoDSL"):
        Formats(FormatsOptions(language="en")).describe(str(file))
    adapter = Formats(FormatsOptions(language="en", format="Tabfile"))
    (entry,) = adapter.read(str(file))
    assert entry.definitions[0].text == "a pet that barks"  # type: ignore[union-attr]


def test_nothing_stays_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "t"))
    (tmp_path / "t").mkdir()
    adapter = Formats()
    assert len(list(adapter.read(str(SAMPLES / "sample.dsl")))) == 5
    del adapter
    gc.collect()
    assert list(tmp_path.iterdir()) == [tmp_path / "t"]
    assert list((tmp_path / "t").iterdir()) == []


def test_articles_are_taken_apart() -> None:
    article = '<p>1) one <span class="ex">He is one. — Он один.</span></p><p>2) two</p><div class="example">Two.</div>'
    one, two = take_apart(article, "word")
    assert (one.text, one.examples) == ("one", (Example("He is one.", "Он один."),))
    assert (two.text, two.examples) == ("two", (Example("Two."),))
    assert [sense.text for sense in take_apart("<p>a</p><p>b</p>", "word")] == ["a", "b"]
    assert [sense.text for sense in take_apart("<p>a</p><p>b</p>", "word", whole=True)] == ["a b"]
    assert take_apart("<p></p>", "word") == []
