"""A grid of settings as it is written on a command line: lr=5e-5/4e-5/3e-5,3e-5 combination=cls-amp,mean-amp.

Before: the texts of --grid. After: the same grid that a recipe's TOML gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from dictsent.errors import RecipeError, TrainingError
from dictsent.recipe.checks import check_axis
from dictsent.settings import TrainSettings

_SHORT = {"lr": "learning_rates", "learning_rate": "learning_rates"}


def read_grid(texts: Sequence[str]) -> dict[str, list[Any]]:
    """{field of TrainSettings, or "combination": its values}. A slash stands between the steps of one learning rate.

    Raises:
        TrainingError: no such setting, no such value, one value only.
    """
    known = {f.name for f in fields(TrainSettings)} - {"method", "seed", "trainer", "poolings", "pooler_from"}
    grid: dict[str, list[Any]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        name = _SHORT.get(name.strip(), name.strip().replace("-", "_"))
        if not equals or not values:
            raise TrainingError(
                f"{text!r} is no axis of a grid", where="--grid", hint="NAME=VALUE,VALUE, such as lr=1e-5,2e-5"
            )
        if name in grid:
            raise TrainingError(f"{name} is given twice", where="--grid", hint="give all its values together")
        grid[name] = [_value(name, part.strip()) for part in values.split(",")]
        try:
            check_axis(name, grid[name], known=known, told={}, where="--grid")
        except RecipeError as error:
            hint = "give it as an option of its own" if len(grid[name]) < 2 else error.hint
            raise TrainingError(error.what.partition(";")[0], where=error.where, hint=hint) from error
    if "combination" in grid and {"pooling", "entries"} & grid.keys():
        raise TrainingError("combination is pooling and entries together", where="--grid", hint="leave those out")
    return grid


def _value(name: str, text: str) -> Any:
    """A number or a truth value where it is written like one."""
    if name == "learning_rates":
        return [_number(part) for part in text.split("/")]
    return {"true": True, "false": False}.get(text.lower(), _number(text))


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
