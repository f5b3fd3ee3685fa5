"""Options that several commands share.

Before: click. After: the commands.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

store_option = click.option(
    "--store",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("dictsent.db"),
    envvar="DICTSENT_STORE",
    show_envvar=True,
    show_default=True,
    help="The store's file.",
)
runs_option = click.option(
    "--runs",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs"),
    envvar="DICTSENT_RUNS",
    show_envvar=True,
    show_default=True,
    help="The folder of runs.",
)
data_option = click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    envvar="DICTSENT_DATA",
    show_envvar=True,
    help="A folder below which evaluation sets are looked for.",
)
sets_option = click.option(
    "--sets",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    envvar="DICTSENT_DATA",
    show_envvar=True,
    help="A folder below which evaluation sets are looked for.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
