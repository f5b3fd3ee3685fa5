"""`dictsent push`: a finished run to a model hub.

Before: a run's folder. After: its address on the hub.
"""

from __future__ import annotations

from pathlib import Path

import click

from dictsent.cli.options import json_option
from dictsent.cli.show import emit, note


@click.command("push", epilog="Example: dictsent push runs/en-defsent-plus-1 me/defsent-plus-en --private")
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("repo")
@click.option("--private", is_flag=True, help="A new repository is seen by its owner only.")
@click.option("--revision", default="", metavar="BRANCH", help="Push to this branch; it is created if need be.")
@click.option("--message", default="", help="Of the commit. [default: names the run]")
@click.option("--dry-run", is_flag=True, help="Name the files that would be sent, and stop.")
@json_option
def push_command(
    run: Path, repo: str, private: bool, revision: str, message: str, dry_run: bool, as_json: bool
) -> None:
    """Send a finished run to the Hugging Face Hub, or the one $HF_ENDPOINT names, as REPO (OWNER/NAME).

    The repository is created where there is none. The token is the one of `hf auth login`, or $HF_TOKEN. Model,
    entries, record and card are sent, unfinished work never is.
    """
    from dictsent.publish import Destination, check_repo, files_of, publish

    if dry_run:
        check_repo(repo)
        names = files_of(run)
        size = sum((run / name).stat().st_size for name in names)
        if as_json:
            emit({"repo": repo, "files": list(names), "bytes": size})
        else:
            click.echo("\n".join(names))
            note(f"{len(names)} files, {size / 1e6:,.1f} MB, would go to {repo}")
        return
    sent = publish(run, Destination(repo=repo, private=private, revision=revision, message=message))
    if as_json:
        emit({"repo": repo, "url": sent.url, "commit": sent.commit, "files": list(sent.files)})
    else:
        click.echo(f"{len(sent.files)} files are at {sent.url} (commit {sent.commit[:12]})")
