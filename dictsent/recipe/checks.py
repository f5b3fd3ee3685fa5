"""The form of a recipe, checked to the key: names, kinds of values, what excludes what.

Before: dictsent.recipe.settings parsed the TOML. After: a Recipe of which every training can be begun.
"""

from __future__ import annotations

import difflib
import math
import types
from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields, replace
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from dictsent.errors import RecipeError, TrainingError
from dictsent.languages import find_language
from dictsent.recipe.settings import COMBINATION, STEP, Recipe, Source, System, grid_points, settled
from dictsent.settings import EntryKind, Method, Pooling, TrainSettings, defaults, words
from dictsent.tasks.data import SEVEN, registry

BASELINES = ("tfidf",)
FOUND = ("wordnet-3.0",)
AVERAGE, TRANSFER_AVERAGE = "Avg", "Avg transfer"
TRANSFER = ("MR", "CR", "SUBJ", "MPQA", "SST-2", "TREC", "MRPC")
RANKED = ("MRR", "Top1", "Top3", "Top10")


def read_recipe(table: Mapping[str, Any], *, where: str) -> Recipe:
    """Check every key and value. Raises RecipeError."""
    values = dict(table)
    for key, kind in (("source", Source), ("system", System)):
        rows = values.get(key, [])
        if not isinstance(rows, list) or not rows:
            raise RecipeError(f"it needs at least one [[{key}]]", where=where)
        values[key] = tuple(_record(kind, row, f"{where}: [[{key}]] {i}") for i, row in enumerate(rows, 1))
    values["expect"] = _bounds(values.get("expect", {}), where)
    if isinstance(values.get("seeds"), list):
        values["seeds"] = tuple(values["seeds"])
    recipe: Recipe = _with_shared_settings(_record(Recipe, values, where))
    find_language(recipe.language)
    _check_seeds(recipe, where)
    for source in recipe.source:
        _check_source(source, where)
    for system in recipe.system:
        _check_system(system, recipe, where)
    _check_names(recipe, where)
    _check_expectations(recipe, where)
    return recipe


def _with_shared_settings(recipe: Recipe) -> Recipe:
    """What stands under [train] holds for every training, unless its own train or grid says otherwise."""
    systems = []
    for system in recipe.system:
        own = {*system.train, *system.grid, *(("pooling", "entries") if COMBINATION in system.grid else ())}
        shared = {key: value for key, value in recipe.train.items() if key not in own}
        systems.append(replace(system, train={**shared, **system.train}) if system.method else system)
    return replace(recipe, system=tuple(systems))


def _record(kind: Any, values: Any, where: str) -> Any:
    if not isinstance(values, Mapping):
        raise RecipeError("it must be a table", where=where)
    known = {f.name: f for f in fields(kind)}
    for key in values:
        _require_known(key, known, where, retired={"seed": "it is seeds = [0] now"})
    needed = [n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING and n not in values]
    if needed:
        raise RecipeError(f"{needed[0]!r} is missing", where=where)
    _check_values(kind, values, where)
    return kind(**values)


def _require_known(
    key: str, known: Collection[str], where: str, *, retired: Mapping[str, str] | None = None, what: str = "key"
) -> None:
    if key in known:
        return
    near = difflib.get_close_matches(key, known, n=1)
    hint = (retired or {}).get(key) or (f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}")
    raise RecipeError(f"unknown {what} {key!r}", where=where, hint=hint)


def _check_values(kind: Any, values: Mapping[str, Any], where: str) -> None:
    hints = get_type_hints(kind)
    for key, value in values.items():
        if not _fits(value, hints[key]):
            raise RecipeError(f"{key} must be {_named(hints[key])}, not {value!r}", where=where)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a TOML value is of an annotated kind: an integer is a number, a truth value is not."""
    origin, of = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin is Literal:
        return value in of and type(value) in {type(word) for word in of}
    if origin in (Union, types.UnionType):
        return any(_fits(value, kind) for kind in of)
    if origin is tuple:
        whole = of[1:] == (Ellipsis,) or len(of) == len(value)
        return isinstance(value, tuple) and whole and all(_fits(item, of[0]) for item in value)
    if origin is list:
        return isinstance(value, list) and all(_fits(item, of[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(_fits(item, of[1]) for item in value.values())
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return type(value) is hint


_WORDS = {str: "text", int: "a whole number", bool: "true or false", float: "a number"}


def _named(hint: Any) -> str:
    origin, of = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " or ".join(f'"{word}"' for word in of if word)
    if origin in (Union, types.UnionType):
        return " or ".join(_named(kind) for kind in of if kind is not type(None))
    if origin is tuple:
        return f"a list, each {_named(of[0])}"
    return "a list" if origin is list else "a table" if origin is dict else _WORDS.get(hint, str(hint))


def _check_seeds(recipe: Recipe, where: str) -> None:
    if not recipe.seeds or len(set(recipe.seeds)) < len(recipe.seeds) or min(recipe.seeds) < 0:
        raise RecipeError("seeds are different whole numbers from 0 on, at least one", where=where)
    if not 0 <= recipe.transfer <= len(recipe.seeds):
        raise RecipeError(f"transfer is how many of the {len(recipe.seeds)} seeds, not {recipe.transfer}", where=where)
    if recipe.limit is not None and recipe.limit < 1:
        raise RecipeError("limit is at least 1", where=where)


def _check_source(source: Source, where: str) -> None:
    if bool(source.path) == bool(source.find):
        raise RecipeError("a source has either a path or find", where=where)
    if source.find:
        _require_known(source.find, FOUND, where, what="find")
    if source.ask and not source.path:
        raise RecipeError("ask belongs to a path", where=where)
    if source.language:
        find_language(source.language)


def _check_names(recipe: Recipe, where: str) -> None:
    names = [system.name for system in recipe.system]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise RecipeError(f"two systems are named {twice!r}", where=where)


def _check_system(system: System, recipe: Recipe, where: str) -> None:
    place = f"{where}: system {system.name!r}"
    if bool(system.baseline) == bool(system.encoder):
        raise RecipeError("a system has either a baseline or an encoder", where=place)
    if system.baseline:
        _require_known(system.baseline, BASELINES, place, what="baseline")
    if system.ask and not system.encoder:
        raise RecipeError("ask belongs to an encoder", where=place)
    if system.evaluation and system.baseline:
        raise RecipeError("evaluation is the pooling of an encoder, which a baseline has not", where=place)
    if system.criterion == "words" and recipe.split == "none":
        raise RecipeError('criterion = "words" needs dev headwords: split = "hash"', where=place)
    if system.method:
        _require_known(system.method, words(Method), place, what="method")
        _check_training(system, place)
        return
    for key in ("train", "grid", "criterion"):
        if getattr(system, key):
            raise RecipeError(f"{key} needs a method", where=place)


def _check_training(system: System, where: str) -> None:
    known = {f.name for f in fields(TrainSettings)} - {"method", "seed"}
    hints = get_type_hints(TrainSettings)
    for key, value in system.train.items():
        _require_known(key, known, where, retired={"seed": "seeds stand at the top of the recipe"})
        if not _fits(settled(key, value), hints[key]):
            raise RecipeError(f"{key} must be {_named(hints[key])}, not {value!r}", where=where)
    for key, values in system.grid.items():
        check_axis(key, values, known=known, told=system.train, where=where)
    if {COMBINATION, "pooling"} <= system.grid.keys() or {COMBINATION, "entries"} <= system.grid.keys():
        raise RecipeError(f"{COMBINATION} is pooling and entries together; leave those out", where=where)
    for point in system.points:
        try:
            usual = defaults(system.method)  # type: ignore[arg-type]
            TrainSettings(**{"method": system.method, "pooling": "mean", **usual, **point})
        except TrainingError as error:
            raise RecipeError(error.what, where=where, hint=error.hint) from error


def check_axis(key: str, values: Any, *, known: Collection[str], told: Mapping[str, Any], where: str) -> None:
    """One field of a grid and its values. Raises RecipeError."""
    _require_known(key, [*sorted(known), COMBINATION], where, retired={"lr": "did you mean learning_rates?"})
    if len(values) < 2:
        raise RecipeError(f"a grid has at least two points, {key} has {len(values)}; put the value under train",
                          where=where)  # fmt: skip
    both = told.keys() & ({"pooling", "entries"} if key == COMBINATION else {key})
    if both:
        raise RecipeError(f"{min(both)} stands in train and in grid", where=where)
    hints = get_type_hints(TrainSettings)
    for value in values:
        if key == COMBINATION:
            _check_combination(value, where)
        elif not _fits(settled(key, value), hints[key]):
            raise RecipeError(f"grid {key} holds {value!r}, which is not {_named(hints[key])}", where=where)
    if any(a == b for i, a in enumerate(grid_points({key: values})) for b in grid_points({key: values})[:i]):
        raise RecipeError(f"grid {key} holds a value twice", where=where)


def _check_combination(value: Any, where: str) -> None:
    pooling, dash, entries = value.partition("-") if isinstance(value, str) else ("", "", "")
    if not dash or pooling not in words(Pooling) or entries not in words(EntryKind):
        hint = f"{' or '.join(words(Pooling))}, a dash, {' or '.join(words(EntryKind))}: cls-amp"
        raise RecipeError(f"{value!r} is no combination", where=where, hint=hint)


def _bounds(expect: Any, where: str) -> dict[str, dict[str, tuple[float, float]]]:
    if not isinstance(expect, dict) or not all(isinstance(scores, dict) for scores in expect.values()):
        raise RecipeError('[expect] has a table for each system: [expect."DefSent+"]', where=where)
    return {
        system: {score: _pair(bound, f"{system}.{score}", where) for score, bound in scores.items()}
        for system, scores in expect.items()
    }


def _pair(bound: Any, name: str, where: str) -> tuple[float, float]:
    if not isinstance(bound, list) or len(bound) != 2 or not all(_fits(v, float) for v in bound) or bound[0] > bound[1]:
        raise RecipeError(f"[expect] {name} must be [least, most]", where=where)
    return float(bound[0]), float(bound[1])


def _check_expectations(recipe: Recipe, where: str) -> None:
    """Every expected score is one that the table can have."""
    rows = {system.name: system for system in recipe.system}
    for system in recipe.system:
        usual = defaults(system.method).get("pst", 1) if system.method else 0  # type: ignore[arg-type]
        steps = max(int(point.get("pst", usual)) for point in system.points)
        rows |= {f"{system.name}{STEP}{step}": system for step in range(1, steps + 1)}
    for name, bounds in recipe.expect.items():
        if name not in rows:
            raise RecipeError(f"[expect] names a system that is not there: {name!r}", where=where)
        known = known_columns(transfer=recipe.transfer > 0)
        for score in bounds:
            _require_known(score, known, f"{where}: [expect] {name}", what="score")


def known_columns(*, transfer: bool) -> tuple[str, ...]:
    """The columns that a recipe's table can have."""
    similarity = [*SEVEN, AVERAGE, *(pair_set.name for pair_set in registry())]
    ranked = [column for name in RANKED for column in (name, f"{name} own")]
    transferred = (*TRANSFER, TRANSFER_AVERAGE) if transfer else ()
    return tuple(dict.fromkeys([*similarity, *(f"{name} unexposed" for name in similarity), *ranked, *transferred]))
