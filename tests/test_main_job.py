"""The user's own commands, from a Wiktionary dump to a score, as a shell script runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dictsent.store import Store

TESTS = Path(__file__).parent


@pytest.mark.slow
def test_from_a_japanese_dump_to_a_score(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("dictsent")
    command = ["bash", str(TESTS / "main_job.sh"), str(script), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    expected = json.loads((TESTS / "wiktionary-ja" / "expected.json").read_text(encoding="utf-8"))
    with Store(tmp_path / "dictsent.db") as store:
        held = store.languages()["ja"]
        for headword, senses in expected["samples"].items():
            (entry,) = store.entries(headword, language="ja")
            assert len(entry.senses) == len(senses), headword
    record = json.loads((tmp_path / "runs/ja-defsent-plus-1/record.json").read_text(encoding="utf-8"))
    # 361 words and 659 senses, and 17 words that are only forms of others.
    assert held == {"entries": 378, "definitions": 676}
    assert record["pairs"]["train"] + record["pairs"]["dev"] + record["pairs"]["test"] > 600
    assert [step["step"] for step in record["steps"]] == [1, 2, 3]
