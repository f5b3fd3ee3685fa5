"""Recipe records from TOML: one file, one experiment. Unknown keys are errors.

Before: a file below recipes/ or a user's own. After: dictsent.recipe.execution runs it.
"""

from __future__ import annotations

import difflib
import itertools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

from dictsent.errors import RecipeError

Evaluation = Literal["", "cls", "mean", "max", "prompt"]
Criterion = Literal["", "words", "sts"]
STEP = " step "
"""In [expect] and in tables a step of a training is "SYSTEM step 2"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A dictionary: a path, or `find = "wordnet-3.0"` for what a stranger's machine has.

    `ask` says what to put at the path where the data is not public; it is shown where nothing lies there.
    """

    path: str = ""
    find: str = ""
    language: str = ""
    ask: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A row of the final table: a baseline, an encoder as it is, or one that is trained.

    Attributes:
        train: fields of TrainSettings.
        grid: fields of TrainSettings, or "combination" ("cls-amp": pooling and entries together), each with its values;
            the best point by the dev criterion is the system.
        evaluation: pooling when it is scored; "" for the one it was trained with, or the encoder's own.
        criterion: what chooses among points and seeds: word prediction on dev headwords, or an STS dev set; "" for the
            first where headwords are held out.
        ask: what to put at the path `encoder` where it is on no hub.
    """

    name: str
    baseline: str = ""
    encoder: str = ""
    method: str = ""
    train: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, list[Any]] = field(default_factory=dict)
    evaluation: Evaluation = ""
    criterion: Criterion = ""
    ask: str = ""

    @property
    def points(self) -> tuple[dict[str, Any], ...]:
        """The fields of TrainSettings of every training: one, or one for each point of the grid."""
        told = {key: settled(key, value) for key, value in self.train.items()}
        return tuple(told | point for point in grid_points(self.grid))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One experiment.

    Attributes:
        seeds: every training is done with each; scores are their means.
        limit: definitions the trained systems see (all splits together); None for all. Scratch encoders are built from
            the training headwords' whole text.
        dedup: "paper": entries that differ in case only are one (dictsent.pairs).
        transfer: this many of the seeds, the first ones, are also scored on the SentEval tasks.
        train: fields of TrainSettings for every training that does not say otherwise.
        expect: {system: {score: (least, most)}}; a system may be one step of it, "DefSent+ step 1"; a score is a column
            of the table ("STS-B", "Avg", "MRR").
        paper: the tables that the expected scores are from.
    """

    title: str
    language: str
    source: tuple[Source, ...]
    system: tuple[System, ...]
    seeds: tuple[int, ...] = (0,)
    split: Literal["hash", "none"] = "hash"
    limit: int | None = None
    form_of: bool = False
    dedup: Literal["exact", "paper"] = "exact"
    transfer: int = 0
    train: dict[str, Any] = field(default_factory=dict)
    expect: dict[str, dict[str, tuple[float, float]]] = field(default_factory=dict)
    paper: str = ""

    @property
    def seed(self) -> int:
        """The first seed; scratch encoders are built with it."""
        return self.seeds[0]


def load_recipe(name: str) -> Recipe:
    """A recipe file, or one of the package's own by its name. Raises RecipeError, naming key and file."""
    from dictsent.recipe.checks import read_recipe

    path, own = Path(name), own_recipes()
    try:
        if path.is_file():
            text = path.read_text(encoding="utf-8")
        elif name in own:
            text = own[name].read_text(encoding="utf-8")
        else:
            near = difflib.get_close_matches(name, own, n=1)
            hint = f"did you mean {near[0]}?" if near else "`dictsent run --list` names the package's own"
            raise RecipeError("there is no such recipe", where=name, hint=hint)
        return read_recipe(tomllib.loads(text), where=name)
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"it is not TOML: {error}", where=name) from error
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(f"it cannot be read: {error}", where=name) from error


def own_recipes() -> dict[str, Traversable]:
    """The recipe files that come with the package by name: "quickstart", "defsent/bert-base"."""
    found: dict[str, Traversable] = {}
    waiting = [("", files("dictsent").joinpath("recipes"))]
    while waiting:
        prefix, folder = waiting.pop()
        for item in folder.iterdir():
            if item.is_dir():
                waiting.append((f"{prefix}{item.name}/", item))
            elif item.name.endswith(".toml"):
                found[prefix + item.name.removesuffix(".toml")] = item
    return dict(sorted(found.items(), key=lambda named: (named[0].count("/"), named[0])))


def asked_for(recipe: Recipe) -> dict[str, str]:
    """What the user must supply: by path, what to put there."""
    asked = [(s.path, s.ask) for s in recipe.source] + [(s.encoder, s.ask) for s in recipe.system]
    return {path: ask for path, ask in asked if ask}


def require_supplied(recipe: Recipe) -> None:
    """Raise RecipeError where something that a recipe asks its user for does not lie where it says."""
    missing = {path: ask for path, ask in asked_for(recipe).items() if not Path(path).exists()}
    if missing:
        wanted = "; ".join(f"put at {path}: {ask}" for path, ask in missing.items())
        raise RecipeError("it needs what you must supply", where=recipe.title, hint=wanted)


def grid_points(grid: Mapping[str, Sequence[Any]]) -> tuple[dict[str, Any], ...]:
    """Every combination of a grid's values as fields of TrainSettings; one empty point of an empty grid."""
    axes = [[_fields_of(key, value) for value in values] for key, values in grid.items()]
    return tuple({k: v for part in parts for k, v in part.items()} for parts in itertools.product(*axes))


def _fields_of(key: str, value: Any) -> dict[str, Any]:
    if key == COMBINATION:
        pooling, _, entries = value.partition("-")
        return {"pooling": pooling, "entries": entries}
    return {key: settled(key, value)}


COMBINATION = "combination"


def settled(key: str, value: Any) -> Any:
    """A TOML value as TrainSettings has it: lists are tuples, one learning rate is a list of one."""
    if key == "learning_rates" and isinstance(value, int | float) and not isinstance(value, bool):
        return (float(value),)
    return tuple(value) if isinstance(value, list) else value
