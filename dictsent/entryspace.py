"""EntrySpace: entries <-> rows of a frozen matrix built from their definitions.

Before: dictsent.pairs and an encoder's `embed`. After: dictsent.objective trains against the rows.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor

from dictsent.errors import TrainingError
from dictsent.ranks import Embed, first, sharded
from dictsent.records import Pair
from dictsent.settings import Isotropy

_ITERATIONS = 1000
_BLOCK = 8_192
_TEXTS = 2**18
"""Definitions whose vectors are in memory at once."""


@dataclass(frozen=True, slots=True)
class EntrySpace:
    """The frozen entry matrix of DefSent+ (section 3): a row is the mean of its definitions' vectors.

    Attributes:
        names: the headwords of each row; several where synonyms were merged.
        matrix: `(n, dim)` float32.
        row_of: entry id -> row.
        own_rows: `(q, dim)`: for each of `queries`, its entry's row built without the queried definition.
        queries: held-out pairs whose entry has another definition.
        circular: held-out pairs by split that are left out because their entry has no other definition.
        definitions: the distinct definitions of each row.
        languages: of each row's headwords; empty where all are of one language.
        note: what was done to the matrix ("ica: 166 iterations, factor 0.31").
    """

    names: tuple[tuple[str, ...], ...]
    matrix: Tensor
    row_of: dict[int, int]
    own_rows: Tensor
    queries: tuple[Pair, ...]
    circular: dict[str, int] = field(default_factory=dict)
    note: str = ""
    definitions: tuple[tuple[str, ...], ...] = ()
    languages: tuple[str, ...] = ()

    def rows(self, entries: Sequence[int]) -> Tensor:
        """Row numbers of entry ids `(len(entries),)`."""
        return torch.tensor([self.row_of[e] for e in entries], dtype=torch.long)

    def transformed(self, isotropy: Isotropy, *, seed: int = 42) -> EntrySpace:
        """The same entries after ICA or ZCA; the fit sees the matrix only, `own_rows` follow.

        METHODS, "Candidate matrices": standardised, whitened and (ICA) rotated, then scaled to the standard deviation
        the matrix had before, whatever the whitening convention.
        """
        if isotropy == "none":
            return self
        rows = self.matrix.numpy()
        # Fitted once: processes would get in one another's way, and may differ in the last digit.
        fitted = first(lambda: fit_isotropy(rows, isotropy, seed=seed))
        matrix, own = fitted.apply(rows), fitted.apply(self.own_rows.numpy())
        return replace(self, matrix=torch.from_numpy(matrix), own_rows=torch.from_numpy(own), note=fitted.note)

    def nearest(self, vectors: Tensor, k: int, *, language: str = "") -> list[list[tuple[int, float]]]:
        """The k rows (of one language) of the largest products with each vector `(q, dim)`, best first."""
        products = vectors @ self.matrix.T
        if language and self.languages:
            wanted = torch.tensor([tag == language for tag in self.languages])
            k = min(k, int(wanted.sum()))
            products[:, ~wanted] = -torch.inf
        values, rows = products.topk(min(k, len(self.matrix)), dim=1)
        return [list(zip(r.tolist(), v.tolist(), strict=True)) for r, v in zip(rows, values, strict=True)]


def build(
    pairs: Sequence[Pair],
    *,
    embed: Embed,
    held_out: Sequence[Pair] = (),
    merge_synonyms: bool = False,
) -> EntrySpace:
    """The entry space of `pairs` (held-out ones included), each distinct definition embedded once, by one process.

    Raises:
        TrainingError: the encoder gives vectors that are not finite.
    """
    texts = {text: i for i, text in enumerate(dict.fromkeys(p.definition for p in pairs))}
    row_of, names = _rows(pairs, merge_synonyms=merge_synonyms)
    numbers = np.unique(np.fromiter((row_of[p.entry] * len(texts) + texts[p.definition] for p in pairs), np.int64))
    members = np.stack(np.divmod(numbers, max(1, len(texts))), axis=1)
    counts = np.bincount(members[:, 0], minlength=len(names))
    queries = [p for p in held_out if counts[row_of[p.entry]] > 1]
    said = np.fromiter((texts[p.definition] for p in queries), np.int64, len(queries))
    listed = list(texts)
    sums, of_queries = _summed(listed, members, said, rows=len(names), embed=embed)
    own = torch.tensor([row_of[p.entry] for p in queries], dtype=torch.long)
    sizes = torch.from_numpy(counts).unsqueeze(1)
    return EntrySpace(
        names=names,
        matrix=sums / sizes,
        row_of=row_of,
        own_rows=(sums[own] - of_queries) / (sizes[own] - 1),
        queries=tuple(queries),
        circular=dict(Counter(p.split for p in held_out if counts[row_of[p.entry]] <= 1)),
        definitions=_definitions(members, listed, counts),
    )


def _summed(
    texts: Sequence[str], members: NDArray[np.int64], asked: NDArray[np.int64], *, rows: int, embed: Embed
) -> tuple[Tensor, Tensor]:
    """The sum of each row's vectors `(rows, dim)`, and the vectors of the texts that are asked for.

    Vectors of a block of texts at a time are in memory, not of all.

    Args:
        members: `(n, 2)`, row and text.
    """
    members = members[np.argsort(members[:, 1], kind="stable")]
    sums, found = torch.zeros(0), torch.zeros(0)
    for start in range(0, max(1, len(texts)), _TEXTS):
        vectors = sharded(embed, texts[start : start + _TEXTS])
        if not bool(torch.isfinite(vectors).all()):
            raise TrainingError(
                "the encoder gives vectors that are not finite", hint="lower the learning rate of the step before"
            )
        if not start:
            sums, found = torch.zeros((rows, vectors.shape[1])), torch.zeros((len(asked), vectors.shape[1]))
        head, tail = np.searchsorted(members[:, 1], (start, start + _TEXTS))
        here = torch.from_numpy(members[head:tail])
        sums.index_add_(0, here[:, 0], vectors[here[:, 1] - start])
        places = np.flatnonzero((asked >= start) & (asked < start + _TEXTS))
        found[places] = vectors[asked[places] - start]
    return sums, found


def _definitions(
    members: NDArray[np.int64], texts: Sequence[str], counts: NDArray[np.int64]
) -> tuple[tuple[str, ...], ...]:
    said = iter(members[:, 1].tolist())
    return tuple(tuple(texts[i] for i in islice(said, count)) for count in counts.tolist())


def _rows(pairs: Sequence[Pair], *, merge_synonyms: bool) -> tuple[dict[int, int], tuple[tuple[str, ...], ...]]:
    """Rows of entries; with `merge_synonyms`, entries of one set of definitions and one split share a row."""
    headwords = {pair.entry: pair.headword for pair in pairs}
    if not merge_synonyms:
        return {entry: row for row, entry in enumerate(headwords)}, tuple((word,) for word in headwords.values())
    definitions: dict[int, set[str]] = {}
    for pair in pairs:
        definitions.setdefault(pair.entry, {pair.split}).add(f"\t{pair.definition}")
    groups: dict[object, list[int]] = {}
    for entry in headwords:
        groups.setdefault(frozenset(definitions[entry]), []).append(entry)
    row_of = {entry: row for row, group in enumerate(groups.values()) for entry in group}
    return row_of, tuple(tuple(headwords[e] for e in group) for group in groups.values())


def save_space(space: EntrySpace, folder: Path) -> None:
    """Write entries.safetensors and entries.jsonl."""
    tensors = {"matrix": space.matrix.contiguous(), "own_rows": space.own_rows.contiguous()}
    save_file(tensors, folder / "entries.safetensors")
    ids: list[list[int]] = [[] for _ in space.names]
    for entry, row in space.row_of.items():
        ids[row].append(entry)
    with (folder / "entries.jsonl").open("w", encoding="utf-8") as file:
        header = {"circular": space.circular, "note": space.note, "queries": len(space.queries)}
        file.write(json.dumps(header) + "\n")
        tags: list[tuple[str, ...]] = [(tag,) for tag in space.languages] or [()] * len(ids)
        for names, entries, texts, tag in zip(space.names, ids, space.definitions, tags, strict=True):
            line = [names, entries, texts, *tag]
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
        for query in space.queries:
            said = [query.entry, query.headword, query.definition, query.split]
            file.write(json.dumps(said, ensure_ascii=False) + "\n")


def load_space(folder: Path) -> EntrySpace | None:
    """The entry space that `save_space` wrote; None where there is none."""
    path = folder / "entries.jsonl"
    if not path.is_file():
        return None
    tensors = load_file(folder / "entries.safetensors")
    with path.open(encoding="utf-8") as file:
        header = json.loads(next(file))
        rows = [json.loads(next(file)) for _ in range(len(tensors["matrix"]))]
        queries = tuple(Pair(*json.loads(line)) for line in file)
    return EntrySpace(
        names=tuple(tuple(row[0]) for row in rows),
        matrix=tensors["matrix"],
        row_of={entry: row for row, said in enumerate(rows) for entry in said[1]},
        own_rows=tensors["own_rows"],
        queries=queries,
        circular=header["circular"],
        note=header["note"],
        definitions=tuple(tuple(row[2]) for row in rows),
        languages=tuple(row[3] for row in rows if len(row) > 3),
    )


@dataclass(frozen=True, slots=True)
class Affine:
    """x -> (x - centre) @ matrix, and what it is."""

    centre: NDArray[np.float64]
    matrix: NDArray[np.float64]
    note: str

    def apply(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """`(n, dim)`, reckoned in float64 block by block."""
        moved = np.empty_like(rows)
        for start in range(0, len(rows), _BLOCK):
            moved[start : start + _BLOCK] = (rows[start : start + _BLOCK] - self.centre) @ self.matrix
        return moved


def fit_isotropy(
    rows: NDArray[np.float32], isotropy: Isotropy, *, seed: int = 42, dtype: type[np.floating[Any]] = np.float32
) -> Affine:
    """What makes `rows` `(n, dim)` isotropic (METHODS, "Candidate matrices").

    ICA is fitted in float32, with half the memory: the same components as in float64 (benchmarks/training_scale.py).
    Where that overflows it is fitted in float64.

    Raises:
        TrainingError: ICA of fewer rows than dimensions, or ICA that overflows.
    """
    return _fit_ica(rows, seed, dtype) if isotropy == "ica" else _fit_zca(rows)


def _standardised(
    rows: NDArray[np.float32], dtype: type[np.floating[Any]]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[Any]]:
    centre = rows.mean(axis=0, dtype=np.float64)
    scale = rows.std(axis=0, dtype=np.float64)
    scale[scale == 0] = 1.0
    standard = rows.astype(dtype)
    standard -= centre.astype(dtype)
    standard /= scale.astype(dtype)
    return centre, scale, standard


def _fit_ica(rows: NDArray[np.float32], seed: int, dtype: type[np.floating[Any]]) -> Affine:
    from sklearn.decomposition import FastICA
    from sklearn.exceptions import ConvergenceWarning

    if len(rows) <= rows.shape[1]:
        raise TrainingError(
            f"ICA needs more entries ({len(rows)}) than dimensions ({rows.shape[1]})", hint="use --isotropy none"
        )
    centre, scale, standard = _standardised(rows, dtype)
    ica = FastICA(
        n_components=rows.shape[1],
        fun="logcosh",
        max_iter=_ITERATIONS,
        tol=1e-4,
        whiten="unit-variance",
        random_state=seed,
    )
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", RuntimeWarning)
            ica.fit(standard)
    except (ValueError, np.linalg.LinAlgError) as error:
        if dtype is np.float32:
            return _fit_ica(rows, seed, np.float64)
        raise TrainingError(
            "ICA of the entry matrix overflows, in float64 too", hint="use --isotropy zca or none"
        ) from error
    unmixing = ica.components_.T.astype(np.float64) / scale[:, None]
    # `standard` has mean zero up to rounding, so the fit's own mean is left out.
    ended = f"{ica.n_iter_} iterations" + (" without convergence" if ica.n_iter_ >= _ITERATIONS else "")
    ended += "" if dtype is np.float32 else " in float64"
    return _scaled(rows, centre, unmixing, f"ica: {ended}")


def _fit_zca(rows: NDArray[np.float32]) -> Affine:
    centre, scale, standard = _standardised(rows, np.float64)
    values, vectors = np.linalg.eigh(np.cov(standard, rowvar=False))
    floor = values.max() * 1e-10
    whitening = (vectors / np.sqrt(np.maximum(values, floor))) @ vectors.T
    return _scaled(rows, centre, whitening / scale[:, None], "zca")


def _scaled(rows: NDArray[np.float32], centre: NDArray[np.float64], matrix: NDArray[np.float64], note: str) -> Affine:
    plain = Affine(centre, matrix, note)
    factor = float(rows.std(dtype=np.float64) / plain.apply(rows).std(dtype=np.float64))
    return Affine(centre, matrix * factor, f"{note}, factor {factor:.4g}")
