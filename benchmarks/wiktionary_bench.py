"""Senses of `dictsent_adapters.wiktionary.extract` against wikitext with the senses expected of it.

usage: python benchmarks/wiktionary_bench.py [FOLDER] [--edition XX] [--misses] [--recorded] [--fragments]

FOLDER holds wiktionary-bench/ (default: $DICTSENT_TEST_DATA). A sense is right when a leaf gloss of the output
equals the expected one after white-space folding; precision is counted on rows whose senses are given completely.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dictsent_adapters.wiktionary import Sense, extract

MARKUP = re.compile(r"\[\[|\{\{|<ref|'''|\|")


@dataclass
class Tally:
    """Counts over rows: per gloss source and edition (right, asked), precision, language and part of speech."""

    sources: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    editions: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    precision: list[int] = field(default_factory=lambda: [0, 0])
    stated: list[int] = field(default_factory=lambda: [0, 0])
    examples: list[int] = field(default_factory=lambda: [0, 0])
    forms: list[int] = field(default_factory=lambda: [0, 0])
    markup: int = 0
    outputs: int = 0


def fold(text: str) -> str:
    """White space folded."""
    return " ".join(text.split())


def rows(folder: Path, names: list[str]) -> Iterator[dict[str, Any]]:
    """The rows of the named files."""
    for name in names:
        with (folder / "wiktionary-bench" / f"{name}.jsonl").open(encoding="utf-8") as file:
            for line in file:
                yield {"file": name, **json.loads(line)}


def judge(row: dict[str, Any], tally: Tally, *, misses: bool) -> None:
    """Extract one row and count what is right."""
    senses = extract(
        row["wikitext"], title=row["title"], edition=row["edition"], templates=row.get("templates") or None
    )
    left = Counter(fold(sense.glosses[-1]) for sense in senses)
    by_gloss: dict[str, list[Sense]] = defaultdict(list)
    for sense in senses:
        by_gloss[fold(sense.glosses[-1])].append(sense)
        tally.outputs += 1
        tally.markup += any(bool(MARKUP.search(gloss)) for gloss in sense.glosses)
    wrong = []
    for expected in row["expected"]:
        gloss = fold(expected["glosses"][-1])
        right = left[gloss] > 0
        left[gloss] -= right
        for counts in (tally.sources[expected["gloss_source"]], tally.editions[row["edition"]], tally.sources["all"]):
            counts[0] += right
            counts[1] += 1
        if right:
            wrong += judge_heading(expected, by_gloss[gloss].pop(0), tally)
        else:
            wrong.append(f"MISS {expected['gloss_source']}: {expected['glosses']}")
    whole = row.get("complete") or set(row.get("complete_entries") or []) >= {e.get("entry") for e in row["expected"]}
    if whole and row["file"] != "pages" and row.get("complete_entries") != []:
        extra = [gloss for gloss, count in left.items() for _ in range(count)]
        tally.precision[0] += len(senses) - len(extra)
        tally.precision[1] += len(senses)
        wrong += [f"EXTRA {gloss}" for gloss in extra]
    if misses and wrong:
        show(row, wrong, senses)


def judge_heading(expected: dict[str, Any], sense: Sense, tally: Tally) -> list[str]:
    """Count language, part of speech, examples and lemma of one right sense; say what is wrong."""
    wrong = []
    for key, got in (("lang_code", sense.language), ("pos", sense.part_of_speech or "unknown")):
        if expected.get(key):
            tally.stated[0] += got == expected[key]
            tally.stated[1] += 1
            if got != expected[key]:
                wrong.append(f"{key} {got!r} for {expected[key]!r} in {expected['glosses'][-1][:40]!r}")
    texts = {fold(example.text) for example in sense.examples}
    for example in expected.get("examples") or []:
        good = fold(example["text"]) in texts
        tally.examples[0] += good
        tally.examples[1] += 1
        if not good:
            wrong.append(f"EXAMPLE {example} not in {sense.examples}")
    if lemmas := expected.get("form_of") or expected.get("alt_of") or []:
        lemma = lemmas[0]["word"]
        tally.forms[0] += sense.form_of == lemma
        tally.forms[1] += 1
        if sense.form_of != lemma:
            wrong.append(f"FORM {sense.form_of!r} for {lemma!r}")
    return wrong


def show(row: dict[str, Any], wrong: list[str], senses: list[Sense]) -> None:
    """One faulty row, for reading."""
    print("#####", row["file"], row.get("id"), row["edition"], row["title"])
    for line in wrong:
        print("   ", line)
    print("    GOT", [(sense.glosses[-1], sense.labels) for sense in senses][:12])


def report(tally: Tally) -> None:
    """All figures with n beside each."""
    for name, (right, asked) in sorted(tally.sources.items()):
        print(f"{name:10} {right / asked:.3f}  n={asked}")
    for name, counts in (
        ("precision", tally.precision),
        ("lang+pos", tally.stated),
        ("examples", tally.examples),
        ("form_of", tally.forms),
    ):
        print(f"{name:10} {counts[0] / max(1, counts[1]):.3f}  n={counts[1]}")
    print(f"markup in {tally.markup} of {tally.outputs} senses")
    for name, (right, asked) in sorted(tally.editions.items(), key=lambda item: -item[1][1]):
        print(f"  {name:8} {right / asked:.3f}  n={asked}")


def main() -> None:
    """Read the arguments, run the bench."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=os.environ.get("DICTSENT_TEST_DATA"))
    parser.add_argument("--edition", default="")
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--recorded", action="store_true", help="the extractor's own output, asserted by nobody")
    parser.add_argument("--fragments", action="store_true", help="fragments too, not only whole pages")
    options = parser.parse_args()
    if not options.folder:
        sys.exit("give the folder that holds wiktionary-bench/, or set DICTSENT_TEST_DATA")
    tally = Tally()
    for row in rows(Path(options.folder), ["recorded"] if options.recorded else ["asserted", "pages"]):
        if options.edition not in ("", row["edition"]) or (row.get("kind") == "fragment" and not options.fragments):
            continue
        judge(row, tally, misses=options.misses)
    report(tally)


if __name__ == "__main__":
    main()
