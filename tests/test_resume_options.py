"""`train --resume` with options that are given several times: they are remembered, and compared as they were given."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny import WORDS

from dictsent.checkpoints import COMPLETE
from dictsent.records import Definition, Dictionary, Entry
from dictsent.store import Origin, Store


def put(name: str, licence: str, text: str) -> None:
    records = [
        Entry(
            headword=word,
            language="en",
            definitions=(Definition(text=text.format(WORDS[i - 1], WORDS[i - 2]), language="en"),),
        )
        for i, word in enumerate(WORDS)
    ]
    with Store("dictsent.db", create=True) as store:
        origin = Origin(adapter="tsv", location=name, checksum=name)
        store.ingest(Dictionary(name=name, language="en", licence=licence), records, origin=origin)


@pytest.mark.slow
def test_several_licences_and_preferences_resume(run_cli: Callable[..., Any], tiny_bert: Path) -> None:
    put("one", "CC0-1.0", "a {} that lives near the {}")
    put("two", "WordNet", "a {} that lives near a {}")
    put("three", "all rights reserved", "secretly a {} or a {}")
    fixed = ["--encoder", str(tiny_bert), "--pst", "2", "--epochs", "200", "--checkpoint-minutes", "0"]
    chosen = ["--licence-allow", "cc0", "--licence-allow", "WordNet", "--near", "0.9"]
    chosen += ["--prefer", "two", "--prefer", "one"]
    start = [sys.executable, "-m", "dictsent", "train", *fixed, *chosen]
    process = subprocess.Popen(start, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    while not list(Path("runs").rglob(COMPLETE)) and time.monotonic() < until:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    assert "Traceback" not in process.communicate(timeout=120)[1]
    assert process.returncode == 143
    other = run_cli("train", *fixed, *chosen[:-2], "--resume")
    assert other.exit_code == 1
    assert "--prefer" in other.stderr
    for options in ([*fixed, *chosen], []):  # the same ones again, and none: those it was started with
        again = subprocess.Popen(
            [sys.executable, "-m", "dictsent", "train", *options, "--resume", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if options:
            time.sleep(8)
            again.send_signal(signal.SIGTERM)
            assert again.wait(timeout=120) in (0, 143), again.communicate()
            if again.returncode == 0:
                break
            again.communicate()
    out, err = again.communicate(timeout=300)
    assert again.returncode == 0, err
    record = json.loads(out)
    assert [source["name"] for source in record["sources"]] == ["one", "two"]
