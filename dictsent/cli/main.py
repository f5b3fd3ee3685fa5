"""The command group and the one place where errors become a line and an exit code.

Before: the shell. After: a command's module.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import traceback
from typing import Any

import click

from dictsent import __version__
from dictsent.errors import DictsentError

_COMMANDS = {
    # name: module, in the order of the work
    "ingest": "ingest",
    "adapters": "look",
    "sources": "look",
    "show": "look",
    "search": "store",
    "licences": "store",
    "diff": "store",
    "merge": "store",
    "stats": "look",
    "remove": "look",
    "export": "exporting",
    "train": "train",
    "runs": "runs",
    "encode": "encode",
    "lookup": "lookup",
    "eval": "measures",
    "compare": "comparison",
    "report": "comparison",
    "run": "run",
    "push": "push",
}


_QUIET = {
    # What libraries print while they load is not for users: what matters of it becomes an error or a note of ours.
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "true",
}


class _Terminated(BaseException):
    """SIGTERM arrived."""


class Commands(click.Group):
    """Loads a command's module when it is asked for, and turns errors into one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands in the order of the work."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"dictsent.cli.{_COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a user's mistake is one line on stderr, never a traceback."""
        try:
            return super().invoke(ctx)
        except DictsentError as error:
            if not error.elsewhere:
                click.echo(f"Error: {error}", err=True)
            if error.__cause__ is not None and ctx.params.get("debug"):
                traceback.print_exception(error, file=sys.stderr)
            ctx.exit(1)
        except KeyboardInterrupt:
            click.echo("Interrupted: what was unfinished was not kept.", err=True)
            ctx.exit(130)
        except _Terminated:
            click.echo("Terminated: what was unfinished was not kept.", err=True)
            ctx.exit(143)
        except MemoryError:
            click.echo("Error: out of memory; lower --batch-size or --limit", err=True)
            ctx.exit(1)


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dictsent")
@click.option("--debug", is_flag=True, help="Show the traceback behind an error.")
def cli(debug: bool) -> None:
    """Dictionaries in, sentence encoders out.

    \b
    dictsent ingest wiktionary-ja.xml
    dictsent train --lang ja --method defsent-plus --pst 3
    dictsent eval sts
    """


def main() -> None:
    """Entry point of the `dictsent` script."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    signal.signal(signal.SIGTERM, _on_sigterm)
    cli()


def _on_sigterm(*_: object) -> None:
    raise _Terminated
