"""Pairs in columns: like tuples of Pair, and chosen exactly as the plain way of choosing does."""

from __future__ import annotations

import hashlib
import pickle
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dictsent.errors import PairsError
from dictsent.pairs import Pairs, PairSettings, Rows, letters, select, split_of
from dictsent.pairs.columns import Texts
from dictsent.records import Definition, Dictionary, Entry, Pair
from dictsent.store import Origin, Store

words = st.sampled_from(["cat", "Cat", "dog", "грач", "猫", "e\u0301", "a b"])
pairs_of = st.builds(
    Pair, st.integers(-(2**63), 2**63 - 1), words, st.text(max_size=9), st.sampled_from(["train", "dev", "test"])
)


@given(st.lists(pairs_of, max_size=12), st.lists(pairs_of, max_size=4), st.slices(12))
def test_rows_are_like_a_tuple(pairs: list[Pair], others: list[Pair], part: slice) -> None:
    rows = Rows.of(pairs)
    assert len(rows) == len(pairs)
    assert tuple(rows) == tuple(pairs)
    assert rows == pairs
    assert [rows[i] for i in range(-len(rows), len(rows))] == [pairs[i] for i in range(-len(pairs), len(pairs))]
    assert rows[part] == pairs[part]
    assert rows + tuple(others) == pairs + others
    assert tuple(others) + rows == others + pairs
    assert rows[1:] + rows[:1] == pairs[1:] + pairs[:1]
    assert list(reversed(rows)) == pairs[::-1]
    assert pickle.loads(pickle.dumps(rows)) == rows
    assert (rows == Rows.of(others)) is (pairs == others)


@given(st.lists(st.text(max_size=9) | st.just("\ud800")), st.integers(1, 30))
def test_texts_are_found_again_in_memory_and_on_disk(texts: list[str], spill: int) -> None:
    kept = Texts(spill=spill)
    ends, found = [0], []
    for text in texts:
        ends.append(kept.add(text))
        found.append(kept.text(ends[-2], ends[-1]))
    again = pickle.loads(pickle.dumps(kept))
    for made in (kept, again):
        assert [made.text(start, end) for start, end in pairwise(ends)] == texts == found


def test_no_room_for_texts_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/no/such/folder")
    kept = Texts(spill=4)
    with pytest.raises(PairsError, match="cannot be kept: No such file") as caught:
        kept.add("four or more")
    assert "TMPDIR" in str(caught.value.hint)


def test_a_row_beyond_the_end_is_an_index_error() -> None:
    rows = Rows.of([Pair(1, "cat", "a pet")])
    assert rows != "cat"
    with pytest.raises(IndexError):
        rows[1]
    assert Pairs((rows[0],), (), ()).all() == (rows[0],)


def plainly(rows: list[tuple[int, str, str]], limit: int | None, exclude: set[str], *, paper: bool) -> list[list[Pair]]:
    """Pairs by lists and sets of texts: what select does in columns and digests."""
    merged: dict[str, tuple[int, str]] = {}
    pairs: list[Pair] = []
    for entry, headword, text in rows:
        if paper:
            entry, headword = merged.setdefault(headword.casefold(), (entry, headword))
        if not paper or not any((p.entry, p.definition) == (entry, text) for p in pairs):
            pairs.append(Pair(entry, headword, text, split_of(headword)))
    if limit is not None and len(pairs) > limit:
        sizes = Counter(p.entry for p in pairs)
        word = {p.entry: p.headword.casefold().encode() for p in pairs}
        room, kept = limit, set()
        for entry in sorted(sizes, key=lambda e: (hashlib.blake2b(word[e], digest_size=8).digest(), e)):
            room -= sizes[entry]
            if room < 0:
                break
            kept.add(entry)
        pairs = [p for p in pairs if p.entry in kept]
    pairs = [p for p in pairs if letters(p.definition) not in exclude]
    held = {letters(p.definition) for p in pairs if p.split != "train"}
    train = [p for p in pairs if p.split == "train" and letters(p.definition) not in held]
    return [train, *([p for p in pairs if p.split == split] for split in ("dev", "test"))]


meanings = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 8)), min_size=1, max_size=60)


@settings(max_examples=40, deadline=None)
@given(meanings, st.one_of(st.none(), st.integers(1, 60)), st.booleans(), st.booleans())
def test_what_is_chosen_is_what_the_plain_way_chooses(
    tmp_path_factory: pytest.TempPathFactory,
    meanings: list[tuple[int, int]],
    limit: int | None,
    leaving_out: bool,
    paper: bool,
) -> None:
    path: Path = tmp_path_factory.mktemp("store") / "store.db"
    entries = [
        Entry(
            headword=f"{'Ww'[n % 2]}ord{n // 2}",
            language="en",
            definitions=(Definition(text=f"Meaning, {'no. ' * (m % 2)}{m}", language="en"),),
        )
        for n, m in meanings
    ]
    exclude = {letters("meaning 4")} if leaving_out else set()
    with Store(path, create=True) as store:
        store.ingest(
            Dictionary(name="x", language="en"), entries, origin=Origin(adapter="tsv", location="x", checksum="x")
        )
        rows = [(row.entry, row.headword, row.text) for row in store.definitions("en")]
        how = PairSettings(language="en", limit=limit, dedup="paper" if paper else "exact")
        found = select(store, how, exclude=exclude)
    expected = plainly(rows, limit, exclude, paper=paper)
    assert [list(found.train), list(found.dev), list(found.test)] == expected
    assert len(rows) == len(found.all()) + sum(found.left_out.values())
