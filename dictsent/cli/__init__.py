"""The command line: parse, call the library, show. click and rich live here only.

Commands import the library's heavy parts when they run, so that `--help` is quick.
"""

from dictsent.cli.main import cli, main

__all__ = ["cli", "main"]
