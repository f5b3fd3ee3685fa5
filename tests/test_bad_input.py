"""Whatever is wrong with a dictionary, the disk or the moment: one clear line, and the store as it was."""

from __future__ import annotations

import gzip
import json
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SAMPLES = Path(__file__).parent / "adapters"
TEI = (
    '<?xml version="1.0"?><!DOCTYPE TEI [{}]><TEI><teiHeader><fileDesc><titleStmt><title>Irish-English FreeDict'
    " Dictionary</title></titleStmt></fileDesc></teiHeader><text><body><entry><form><orth>cat</orth></form><sense><def>"
    "an animal {}</def></sense></entry></body></text></TEI>"
)
BOMB = '<!ENTITY a "{}">'.format("a" * 50) + "".join(
    f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 12}">' for i in range(8)
)
Cli = Callable[..., Any]


def rows(path: str = "dictsent.db") -> list[tuple[Any, ...]]:
    """All that a store holds, by SQL and after SQLite's own check of the file."""
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        found = [connection.execute(f"SELECT * FROM {t}").fetchall() for t in ("source", "entry", "definition")]
        return [row for table in found for row in table]


@pytest.fixture
def filled(run_cli: Cli) -> Cli:
    Path("good.tsv").write_text("cat\ta pet\ndog\ta bigger pet\n")
    assert run_cli("ingest", "good.tsv", "--lang", "en").exit_code == 0
    return run_cli


def stardict(folder: str, *, words: int = 2, offset: int = 0) -> Path:
    path = Path(folder) / "small.ifo"
    path.parent.mkdir()
    path.write_text(f"StarDict's dict ifo file\nversion=2.4.2\nbookname=Small\nwordcount={words}\nsametypesequence=m\n")
    index = b"cat\0" + struct.pack(">II", 0, 5) + b"dog\0" + struct.pack(">II", offset or 5, 5)
    path.with_suffix(".idx").write_bytes(index)
    path.with_suffix(".dict").write_bytes(b"a petbarks")
    return path


def spoilt(sample: str, name: str, suffix: str) -> Path:
    """A copy of a sample's folder with 8 bytes of one file overwritten."""
    shutil.copytree(SAMPLES / sample, name)
    file = next(Path(name).glob(f"*{suffix}"))
    content = bytearray(file.read_bytes())
    content[60:68] = b"\xff" * 8
    file.write_bytes(content)
    return next(Path(name).glob("*.in[df]*") if suffix == ".dict.dz" else Path(name).glob("*"))


def written(name: str, content: str | bytes) -> Path:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return Path(name)


REFUSED: list[tuple[str, Callable[[], Path], list[str], str]] = [
    ("damaged .dz", lambda: spoilt("dictd/sample", "dz", ".dict.dz"), [], "truncated or damaged; get the file again"),
    ("wrong charset", lambda: written("ru.tsv", "пёс\tсобака\n".encode("cp1251") * 9), [], "neither UTF-8 nor UTF-16"),
    ("XML bomb", lambda: written("a.tei", TEI.format(BOMB, "&i;")), [], "amplification"),
    (
        "external entity",
        lambda: written("b.tei", TEI.format('<!ENTITY x SYSTEM "good.tsv">', "&x;")),
        [],
        "Entity 'x'",
    ),
    ("no language", lambda: written("w.tsv", "a\tb\n"), ["--lang", "xx-nope"], "is no language tag or name"),
    ("unknown language", lambda: written("w.tsv", "a\tb\n"), ["--lang", "Japenese"], "did you mean ja (Japanese)?"),
    ("cut gzip", lambda: written("w.tsv.gz", gzip.compress(b"a\tb\n" * 9999)[:-20]), [], "truncated or damaged"),
    ("only tags that are none", lambda: own_form("klingonese!"), ["--json"], "none of its 1 records can be used"),
]


def own_form(language: str) -> Path:
    lines = [
        {"dictsent": 1, "dictionary": {"name": "x", "language": "mul"}},
        {"headword": "cat", "language": language, "definitions": [{"text": "a pet", "language": "en"}]},
    ]
    return written("own.jsonl", "".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize(("make", "more", "message"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED])
def test_a_bad_source_is_one_line_and_changes_nothing(
    filled: Cli, make: Callable[[], Path], more: list[str], message: str
) -> None:
    before = rows()
    path = make()
    done = filled("ingest", path, *(more or ["--lang", "en"]))
    assert done.exit_code == 1
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert message in line
    assert "Traceback" not in done.stderr
    assert rows() == before


def test_offsets_beyond_the_file_are_rejects(filled: Cli) -> None:
    done = filled("ingest", stardict("beyond", offset=2**31), "--lang", "en", "--rejects", "rejects.jsonl")
    assert done.exit_code == 0
    assert "rejected: 1 offset beyond the file" in done.stderr
    assert json.loads(Path("rejects.jsonl").read_text())["reason"] == "offset beyond the file"
    assert "cat" in filled("show", "cat").stdout


def test_a_tag_that_is_no_language_is_a_reject(filled: Cli) -> None:
    written("words.tsv", "word\tdefinition\tlanguage\nowl\tit flies\ten\nhibou\til vole\tqqqqqqqqq\n")
    done = filled("ingest", "words.tsv", "--rejects", "rejects.jsonl")
    assert "rejected: 1 not a language tag" in done.stderr
    assert json.loads(Path("rejects.jsonl").read_text())["text"] == "qqqqqqqqq: hibou"
    assert "it flies" in filled("show", "owl").stdout


def test_an_ifo_that_lies_is_told(filled: Cli) -> None:
    done = filled("ingest", stardict("lying", words=1_000_000), "--lang", "en")
    assert done.exit_code == 0
    assert "note: the .ifo speaks of 1000000 words, the .idx holds 2" in done.stderr


def test_duplicate_keys_are_rejects(filled: Cli) -> None:
    good = '{"headword": "owl", "definition": "it flies"}\n'
    twice = '{"headword": "cat", "headword": "owl", "definition": "it hoots"}\n'
    done = filled("ingest", written("twice.jsonl", good + twice + good), "--lang", "en")
    assert "gave 1 definitions of 1 entries; 1 more were in the store already, 1 records rejected" in done.stderr
    assert "rejected: 1 duplicate keys" in done.stderr


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "..\\..\\x", "small.dict/../../x", "\x00"])
def test_a_name_that_is_a_path_stays_a_name(filled: Cli, name: str) -> None:
    lines = [
        {"dictsent": 1, "dictionary": {"name": name, "language": "en"}},
        {"headword": name, "language": "en", "definitions": [{"text": "a pet", "language": "en"}]},
    ]
    there = sorted(Path().resolve().parent.rglob("*"))
    assert filled("ingest", written("own.jsonl", "\n".join(map(json.dumps, lines)))).exit_code in (0, 1)
    for form in ("defsent", "jsonl"):
        filled("export", "--to", form, "--out", f"out-{form}")
    new = {path.name for path in Path().resolve().parent.rglob("*")} - {path.name for path in there}
    assert new <= {"own.jsonl", "out-defsent", "out-jsonl", "train.txt", "valid.txt", "test.txt"}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "dictsent", *arguments]


def test_a_file_system_that_takes_no_more(filled: Cli) -> None:
    before = rows()
    written("many.tsv", "".join(f"word{i}\ta meaning of the word number {i}\n" for i in range(60_000)))

    def small() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, 2 << 20))

    done = subprocess.run(
        command("ingest", "many.tsv", "--lang", "en"), preexec_fn=small, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "Error: dictsent.db: the disk cannot be read or takes no more (disk I/O error)" in done.stderr
    assert "Traceback" not in done.stderr
    assert rows() == before
    assert filled("ingest", "many.tsv", "--lang", "en").exit_code == 0


def test_two_ingests_at_once_into_one_store(run_cli: Cli) -> None:
    for name in ("one", "two"):
        written(f"{name}.tsv", "".join(f"{name}{i}\ta meaning of the word number {i}\n" for i in range(30_000)))
    running = [
        subprocess.Popen(command("ingest", f"{name}.tsv", "--lang", "en"), stderr=subprocess.PIPE, text=True)
        for name in ("one", "two")
    ]
    said = [process.communicate(timeout=120)[1] for process in running]
    kept = [process.returncode == 0 for process in running]
    assert any(kept)
    for fine, text in zip(kept, said, strict=True):
        assert fine or "another process is writing to this store; wait for it" in text
        assert "Traceback" not in text
    assert len([row for row in rows() if len(row) == 5]) == 30_000 * sum(kept)


@pytest.mark.slow
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_line_of_a_gigabyte_takes_no_memory(run_cli: Cli, packed: bool) -> None:
    file = Path("long.tsv.gz" if packed else "long.tsv")
    with gzip.open(file, "wb", 1) if packed else file.open("wb") as out:
        out.write(b"cat\ta pet\ndog\t")
        for _ in range(1024):
            out.write(b"x" * (1 << 20))
        out.write(b"\nowl\tit flies\n")
    started = time.monotonic()
    script = (
        "import resource, runpy, sys; sys.argv[0] = 'dictsent'\n"
        "try: runpy.run_module('dictsent', run_name='__main__')\n"
        "finally: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "ingest", str(file), "--lang", "en"], capture_output=True, text=True, check=False
    )
    assert "gave 2 definitions of 2 entries; 0 more were in the store already, 1 records rejected" in done.stderr
    assert "rejected: 1 line too long" in done.stderr
    assert int(done.stdout.split()[-1]) < 250_000  # KiB
    assert time.monotonic() - started < 300
