"""Recipe records from TOML: one file, one experiment. Unknown keys are errors.

Before: a file below recipes/ or a user's own. After: dictsent.recipe.execution runs it.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from dictsent.errors import RecipeError, TrainingError
from dictsent.languages import find_language
from dictsent.settings import TrainSettings

BASELINES = ("tfidf",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A dictionary: a path, or `find = "wordnet-3.0"` for what a stranger's machine has."""

    path: str = ""
    find: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A row of the final table: a baseline, an encoder as it is, or one that is trained.

    `train` holds fields of TrainSettings.
    """

    name: str
    baseline: str = ""
    encoder: str = ""
    method: str = ""
    train: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One experiment.

    Attributes:
        limit: definitions the trained systems see (all splits together); None for all. Scratch encoders are built from
            the training headwords' whole text.
        expect: {system: {score: [least, most]}}; a score is a column of the table ("STS-B", "Avg", "MRR").
    """

    title: str
    language: str
    source: tuple[Source, ...]
    system: tuple[System, ...]
    seed: int = 0
    split: Literal["hash", "none"] = "hash"
    limit: int | None = None
    form_of: bool = False
    expect: dict[str, dict[str, tuple[float, float]]] = field(default_factory=dict)
    paper: str = ""


def load_recipe(name: str) -> Recipe:
    """A recipe file, or one of the package's own by its name. Raises RecipeError, naming key and file."""
    path = Path(name)
    own = files("dictsent").joinpath("recipes", f"{name}.toml")
    try:
        text = path.read_text(encoding="utf-8") if path.is_file() else own.read_text(encoding="utf-8")
    except OSError:
        known = sorted(p.name.removesuffix(".toml") for p in own_recipes())
        raise RecipeError("there is no such recipe", where=name, hint=f"the package has {', '.join(known)}") from None
    try:
        return read_recipe(tomllib.loads(text), where=name)
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"it is not TOML: {error}", where=name) from error


def own_recipes() -> list[Any]:
    """The recipe files that come with the package."""
    return [p for p in files("dictsent").joinpath("recipes").iterdir() if p.name.endswith(".toml")]


def read_recipe(table: Mapping[str, Any], *, where: str) -> Recipe:
    """Check every key and value. Raises RecipeError."""
    values = dict(table)
    for key, kind in (("source", Source), ("system", System)):
        rows = values.get(key, [])
        if not isinstance(rows, list) or not rows:
            raise RecipeError(f"it needs at least one [[{key}]]", where=where)
        values[key] = tuple(_record(kind, row, f"{where}: [[{key}]] {i}") for i, row in enumerate(rows, 1))
    recipe: Recipe = _record(Recipe, values, where)
    find_language(recipe.language)
    if recipe.split not in ("hash", "none"):
        raise RecipeError(f'split is "hash" or "none", not {recipe.split!r}', where=where)
    for source in recipe.source:
        if bool(source.path) == bool(source.find):
            raise RecipeError("a source has either a path or find", where=where)
    for system in recipe.system:
        _check_system(system, where)
    _check_expectations(recipe, where)
    return recipe


def _record(kind: Any, values: Mapping[str, Any], where: str) -> Any:
    known = {f.name: f for f in fields(kind)}
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            raise RecipeError(f"unknown key {key!r}", where=where, hint=f"did you mean {near[0]}?" if near else "")
    needed = [n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING and n not in values]
    if needed:
        raise RecipeError(f"{needed[0]!r} is missing", where=where)
    return kind(**values)


def _check_system(system: System, where: str) -> None:
    place = f"{where}: system {system.name!r}"
    if bool(system.baseline) == bool(system.encoder):
        raise RecipeError("a system has either a baseline or an encoder", where=place)
    if system.baseline and system.baseline not in BASELINES:
        raise RecipeError(
            f"no baseline is named {system.baseline!r}", where=place, hint=f"known: {', '.join(BASELINES)}"
        )
    if system.train and not system.method:
        raise RecipeError("train settings need a method", where=place)
    if not system.method:
        return
    known = {f.name for f in fields(TrainSettings)} - {"method", "seed"}
    for key in system.train:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            raise RecipeError(f"unknown key {key!r}", where=place, hint=f"did you mean {near[0]}?" if near else "")
    told = {k: tuple(v) if isinstance(v, list) else v for k, v in system.train.items()}
    try:
        TrainSettings(**{"method": system.method, "pooling": "mean", **told})  # type: ignore[arg-type]
    except TrainingError as error:
        raise RecipeError(error.what, where=place, hint=error.hint) from error


def _check_expectations(recipe: Recipe, where: str) -> None:
    names = {system.name for system in recipe.system}
    for system, bounds in recipe.expect.items():
        if system not in names:
            raise RecipeError(f"[expect] names a system that is not there: {system!r}", where=where)
        for score, bound in bounds.items():
            if not isinstance(bound, list) or len(bound) != 2 or bound[0] > bound[1]:
                raise RecipeError(f"[expect] {system}.{score} must be [least, most]", where=where)
