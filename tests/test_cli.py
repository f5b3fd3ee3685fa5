"""The command line: contracts that scripts rely on, and one clear line for each mistake."""

from __future__ import annotations

import json
import lzma
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny import WORDS

Cli = Callable[..., Any]
MANY = "".join(
    f"{w}\ta {v} that lives near the {u}\n" for i, w in enumerate(WORDS) for v, u in [(WORDS[i - 1], WORDS[i - 2])]
)
MANY += "".join(f"{w}\ta {v} made from {u}\n" for i, w in enumerate(WORDS) for v, u in [(WORDS[i - 3], WORDS[i - 5])])


def one_line(result: Any) -> str:
    """The error: one line, no traceback, exit code 1."""
    assert result.exit_code == 1, result.output
    assert "Traceback" not in result.stderr
    lines = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert len(lines) == 1, result.stderr
    return lines[0]


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from dictsent.cli import cli\n"
        "try: cli(['--help'])\nexcept SystemExit: pass\n"
        "heavy = ('torch', 'transformers', 'sklearn', 'datasets', 'scipy')\n"
        "print([m for m in heavy if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "dictsent ingest wiktionary-ja.xml" in done.stdout


def test_every_command_and_option_is_explained() -> None:
    import click

    from dictsent.cli import cli

    context = click.Context(cli)
    commands = [cli.get_command(context, name) for name in cli.list_commands(context)]
    commands += [sub for c in commands if isinstance(c, click.Group) for sub in c.commands.values()]
    for command in commands:
        assert command.help, command.name
        for parameter in command.get_params(context):
            if isinstance(parameter, click.Option) and parameter.name not in ("seed",):
                assert parameter.help, (command.name, parameter.name)


def test_ingest_and_stats_contracts(run_cli: Cli, tmp_path: Path) -> None:
    Path("words.tsv").write_text("cat\ta small animal\ncat\ta whip\nno tab here\ncat\ta whip\n")
    result = run_cli("ingest", "words.tsv", "--lang", "English", "--json", "--rejects", "rejects.jsonl")
    assert result.exit_code == 0, result.output
    (source,) = json.loads(result.stdout)["sources"]
    expected = {
        "source": "words",
        "adapter": "tsv",
        "new": True,
        "entries": 1,
        "definitions": 2,
        "duplicates": 1,
        "rejected": 1,
        "error": None,
    }
    assert expected.items() <= source.items()
    (rejected,) = [json.loads(line) for line in Path("rejects.jsonl").read_text().splitlines()]
    assert rejected == {"source": "words.tsv", "reason": "no tab", "place": "words.tsv, line 3", "text": "no tab here"}
    again = json.loads(run_cli("ingest", "words.tsv", "--lang", "en", "--json").stdout)["sources"][0]
    assert again == {**source, "new": False, "reasons": {}, "languages": {}}
    stats = json.loads(run_cli("stats", "--json").stdout)
    assert stats == {
        "schema_version": 1,
        "languages": {"en": {"entries": 1, "definitions": 2, "name": "English", "median_length": 10.0}},
        "sources": [
            {
                "name": "words",
                "adapter": "tsv",
                "language": "en",
                "entries": 1,
                "definitions": 2,
                "licence": "",
                "median_length": 10.0,
            }
        ],
        "overlaps": [],
    }


def test_a_folder_is_walked_and_each_source_commits_alone(run_cli: Cli) -> None:
    Path("d/sub").mkdir(parents=True)
    Path("d/good.tsv").write_text("cat\tan animal\ndog\tit barks\n")
    Path("d/sub/more.tsv").write_text("cow\tit gives milk\npig\tit is pink\n")
    Path("d/notes.txt").write_text("nothing of interest\n")
    Path("d/broken.xml.xz").write_bytes(lzma.compress(b"<?xml version='1.0'?><LexicalResource>" * 50)[:60])
    result = run_cli("ingest", "d", "missing.tsv", "--lang", "en", "--json")
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert "Traceback" not in result.stderr
    assert sorted(s["source"] for s in answer["sources"] if s["error"] is None) == ["good", "more"]
    assert any("missing.tsv: no such file" in s["error"] for s in answer["sources"] if s["error"])
    assert "d/notes.txt" in answer["unknown"]
    assert json.loads(run_cli("stats", "--json").stdout)["languages"]["en"]["entries"] == 4


def test_dry_run_and_failure_leave_no_store_behind(run_cli: Cli) -> None:
    Path("words.tsv").write_text("cat\tan animal\n")
    assert run_cli("ingest", "words.tsv", "--lang", "en", "--dry-run").exit_code == 0
    assert run_cli("ingest", "words.tsv").exit_code == 1
    assert [p.name for p in Path().iterdir()] == ["words.tsv"]


def test_standard_input(run_cli: Cli) -> None:
    result = run_cli("ingest", "-", "--lang", "en", input="cat\tan animal\ndog\tit barks\n")
    assert result.exit_code == 0, result.output
    assert "an animal" in run_cli("show", "cat").stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["ingest", "nothing.tsv"], "nothing.tsv: no such file or folder"),
        (["ingest", "empty.tsv"], "empty.tsv: the file is empty"),
        (["ingest", "words.tsv", "--adapter", "wordnt"], "did you mean wordnet?"),
        (["ingest", "words.tsv", "--adapter", "wordnet", "--lang", "en"], "words.tsv"),
        (["ingest", "words.tsv"], "--lang"),
        (["ingest", "words.tsv", "--lang", "qwertyish"], "qwertyish"),
        (["ingest", "prose.bin"], "no adapter recognises this"),
        (["ingest", "cut.xml.xz", "--adapter", "wordnet"], "cut.xml.xz"),
        (["stats"], "there is no store here; make one with `dictsent ingest PATH`"),
        (["stats", "--store", "words.tsv"], "this is no dictsent store"),
        (["train", "--lang", "en"], "there is no store here"),
        (["eval", "sts"], "no finished run"),
        (["eval", "sts", "no-such-model"], "no-such-model"),
        (["run", "nothing.toml"], "there is no such recipe"),
    ],
)
def test_mistakes_are_one_line(run_cli: Cli, arguments: list[str], expected: str) -> None:
    Path("words.tsv").write_text("cat\tan animal\ndog\tit barks\n")
    Path("empty.tsv").write_text("")
    Path("prose.bin").write_bytes(bytes(range(256)) * 8)
    Path("cut.xml.xz").write_bytes(lzma.compress(os.urandom(4000))[:2000])
    assert expected in one_line(run_cli(*arguments))


def test_mistakes_about_languages_and_models(run_cli: Cli, tiny_bert: Path) -> None:
    Path("words.tsv").write_text("cat\tan animal\ndog\tit barks\n")
    run_cli("ingest", "words.tsv", "--lang", "en")
    assert "holds no Japanese entries" in one_line(run_cli("train", "--lang", "ja"))
    assert "definitions are left to train on" in one_line(run_cli("train", "--encoder", tiny_bert))
    sqlite3.connect("dictsent.db").execute("PRAGMA user_version = 99").connection.close()
    assert "schema version 99" in one_line(run_cli("stats"))


def test_train_says_what_stands_in_its_way(run_cli: Cli, tiny_bert: Path, tmp_path: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    Path("words.tsv").write_text(MANY)
    run_cli("ingest", "words.tsv", "--lang", "en")
    AutoModel.from_pretrained(tiny_bert).save_pretrained("headless")
    AutoTokenizer.from_pretrained(tiny_bert).save_pretrained("headless")
    message = one_line(run_cli("train", "--method", "defsent", "--encoder", "headless"))
    assert "no usable masked-LM head" in message
    assert "--method defsent-plus" in message
    assert "cannot be loaded" in one_line(run_cli("train", "--no-fallback"))
    Path("used").mkdir()
    Path("used/file").write_text("x")
    assert "the output folder is in use" in one_line(run_cli("train", "--encoder", tiny_bert, "--out", "used"))
    assert "belong to DefSent+" in one_line(
        run_cli("train", "--method", "defsent", "--encoder", tiny_bert, "--pst", "2")
    )
    assert "weighted pooling needs token weights" in one_line(
        run_cli("train", "--encoder", tiny_bert, "--pooling", "weighted")
    )
    assert "no defsent on static vectors" in one_line(
        run_cli("train", "--method", "defsent", "--encoder", "scratch:static")
    )


def test_a_head_that_knows_nothing_is_refused(run_cli: Cli, tiny_bert: Path) -> None:
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    Path("words.tsv").write_text(MANY)
    run_cli("ingest", "words.tsv", "--lang", "en")
    model = AutoModelForMaskedLM.from_pretrained(tiny_bert)
    model.init_weights()
    for parameter in model.cls.parameters():
        parameter.data.normal_()
    model.save_pretrained("random")
    AutoTokenizer.from_pretrained(tiny_bert).save_pretrained("random")
    message = one_line(run_cli("train", "--method", "defsent", "--encoder", "random"))
    assert "no better than chance" in message
    assert run_cli("train", "--method", "defsent-plus", "--pst", "1", "--encoder", "random").exit_code == 0


def test_exposed_definitions_are_left_out_when_asked(run_cli: Cli, tiny_bert: Path) -> None:
    Path("words.tsv").write_text(MANY)
    run_cli("ingest", "words.tsv", "--lang", "en")
    train = ("train", "--encoder", tiny_bert, "--pst", "1", "--split", "none", "--exclude-exposed", "sts")
    assert "no STS set to compare with" in one_line(run_cli(*train))
    Path("data/stsbenchmark-raw").mkdir(parents=True)
    exposed = MANY.splitlines()[0].partition("\t")[2]
    row = f"main-news\theadlines\t2015\t0001\t2.5\t{exposed.upper()}!\tSomething else.\n"
    other = "main-news\theadlines\t2015\t0002\t4.0\tOne thing.\tAnother thing.\n"
    for split in ("train", "dev", "test"):
        Path(f"data/stsbenchmark-raw/sts-{split}.csv").write_text(row + other)
    result = run_cli(*train, "--sets", "data", "--json")
    assert result.exit_code == 0, result.output
    pairs = json.loads(result.stdout)["pairs"]
    assert pairs["left_out"]["excluded by text"] == 1
    assert pairs["train"] == len(MANY.splitlines()) - 1


def test_from_dictionary_to_scores(run_cli: Cli, tiny_bert: Path) -> None:
    Path("words.tsv").write_text(MANY)
    run_cli("ingest", "words.tsv", "--lang", "en")
    for arguments in (["--method", "defsent"], ["--method", "defsent-plus", "--pst", "2"]):
        result = run_cli("train", "--encoder", tiny_bert, "--json", *arguments)
        assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert record["run"] == "runs/en-defsent-plus-1"
    assert [step["step"] for step in record["steps"]] == [1, 2]
    assert record["sources"][0]["checksum"]
    result = run_cli("eval", "sts", "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["model"] == "runs/en-defsent-plus-1"
    assert {"task", "language", "split", "protocol", "variant", "metric", "value", "n"} <= answer["scores"][0].keys()
    assert [s["task"] for s in answer["scores"]] == ["mini-sts"]
    assert "runs/en-defsent-plus-1" in run_cli("eval", "sts").stderr.splitlines()[0]
    assert run_cli("eval").stdout == run_cli("eval", "sts").stdout
    vectors = json.loads(run_cli("encode", "--json", input="a cat\na dog\n").stdout)["vectors"]
    assert (len(vectors), len(vectors[0])) == (2, 24)
    card = Path("runs/en-defsent-plus-1/README.md").read_text()
    assert card.startswith("---\nlanguage: en\n")
    assert "words" in card


def test_interrupted_at_any_time_nothing_is_half_written(tmp_path: Path) -> None:
    big = tmp_path / "big.tsv"
    with big.open("w") as file:
        for i in range(600_000):
            file.write(f"word{i}\tthe meaning of the word with the number {i}\n")
    command = [sys.executable, "-m", "dictsent", "ingest", str(big), "--lang", "en", "--store", str(tmp_path / "s.db")]
    for stop, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        while not (tmp_path / "s.db-wal").exists() and process.poll() is None:
            time.sleep(0.02)
        time.sleep(0.4)
        process.send_signal(stop)
        _, said = process.communicate(timeout=60)
        assert process.returncode == code, said
        assert "Traceback" not in said
        assert not (tmp_path / "s.db").exists()


def test_the_package_ships_schema_and_recipes() -> None:
    root = Path(__file__).parents[1]
    for name in ("schema.sql", "recipes"):
        assert (root / "dictsent" / name).is_symlink()
        assert (root / "dictsent" / name).resolve() == root / name
    assert shutil.which("bash")
