"""A user's own file of sentence pairs, its columns told by their names or their content.

Before: `dictsent eval sts --pairs FILE`. After: dictsent.evaluate scores it like a set of the registry.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable
from pathlib import Path

from dictsent.errors import TaskError
from dictsent.tasks.data import Copy, Form, PairSet
from dictsent.tasks.readers import SentencePairs, Subset, lines, load_file, read_text

SCORE = ("score", "gold", "label", "similarity", "relatedness_score", "relatedness", "similarity_score")
FIRST = ("sentence1", "sentence_1", "sentence_a", "sentence1_text", "text1", "text_a", "s1", "first", "premise")
SECOND = ("sentence2", "sentence_2", "sentence_b", "sentence2_text", "text2", "text_b", "s2", "second", "hypothesis")


def own_pairs(path: Path, *, language: str) -> SentencePairs:
    """Read a file of pairs: tab- or comma-separated with a header or not, or JSON records.

    Without a header: score, first, second, or first, second, score, whichever column holds numbers.

    Raises:
        TaskError: it cannot be read, or its columns cannot be told.
    """
    form = guess_form(path)
    subset: Subset = load_file(path, form)
    row = PairSet(
        name=path.stem,
        language=language,
        scale=(-math.inf, math.inf),
        split="test",
        pairs={},
        origin="created",
        licence="the user's",
        source=str(path),
        forms=(form,),
    )
    copy = Copy(set=row, split="test", variant="own", form=form, files={"": path})
    notes = tuple(f"row left out at {row.place}: {row.reason}" for row in subset.rejected[:3])
    return SentencePairs(copy=copy, subsets=(subset,), notes=notes)


def guess_form(path: Path) -> Form:
    """The form of a file from its first lines. Raises TaskError where it cannot be told."""
    text = read_text(path)
    if text.lstrip()[:1] in ("{", "["):
        return _json_form(path, text)
    first = next((line for line in lines(text) if line.strip()), "")
    delimiter = next((name for name, mark in (("tab", "\t"), ("comma", ","), ("semicolon", ";")) if mark in first), "")
    if not delimiter:
        raise TaskError("has no columns", where=f"{path}:1", hint="score, sentence 1, sentence 2 separated by tabs")
    quoting = delimiter != "tab"
    mark = {"tab": "\t", "comma": ",", "semicolon": ";"}[delimiter]
    record = next(csv.reader(io.StringIO(text), delimiter=mark)) if quoting else first.split(mark)
    header = {name.strip().lower(): name.strip() for name in record}
    if all(set(names) & set(header) for names in (SCORE, FIRST, SECOND)):
        score, one, two = (_known(names, header) for names in (SCORE, FIRST, SECOND))
        return Form(
            reader="columns", paths={}, score=score, first=one, second=two, delimiter=delimiter, header=True,
            quoting=quoting,
        )  # fmt: skip
    return _numbered_form(path, record, delimiter, quoting)


def _numbered_form(path: Path, record: list[str], delimiter: str, quoting: bool) -> Form:
    for score, one, two in ((0, 1, 2), (2, 0, 1)):
        if len(record) > 2 and _is_number(record[score]) and not _is_number(record[one]):
            return Form(
                reader="columns", paths={}, score=score, first=one, second=two, delimiter=delimiter, quoting=quoting
            )
    raise TaskError(
        f"its columns cannot be told from the first line: {record[:4]}",
        where=str(path),
        hint="name them score, sentence1, sentence2, or give score, sentence 1, sentence 2 without a header",
    )


def _json_form(path: Path, text: str) -> Form:
    try:
        stripped = text.strip()
        record = json.loads(stripped)[0] if stripped.startswith("[") else json.loads(stripped.split("\n", 1)[0])
    except (json.JSONDecodeError, IndexError) as error:
        raise TaskError(f"not JSON: {error}", where=str(path)) from None
    keys = {str(key).lower(): str(key) for key in record} if isinstance(record, dict) else {}
    if not all(set(names) & set(keys) for names in (SCORE, FIRST, SECOND)):
        raise TaskError(f"no keys for score and two sentences among {list(record)[:6]}", where=str(path))
    score, one, two = (_known(names, keys) for names in (SCORE, FIRST, SECOND))
    return Form(reader="json", paths={}, score=score, first=one, second=two)


def _known(names: Iterable[str], found: dict[str, str]) -> str:
    return next(found[name] for name in names if name in found)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return not text.strip()
