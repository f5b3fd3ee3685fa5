"""Sending a finished run to a model hub, by huggingface_hub.

Before: dictsent.model wrote the folder and its card. After: anyone loads it by its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import HfApi, get_token
from huggingface_hub.errors import (
    HfHubHTTPError,
    HFValidationError,
    LocalTokenNotFoundError,
    OfflineModeIsEnabled,
)
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

from dictsent.errors import PublishError

NEEDED = ("record.json", "README.md", "modules.json")
"""What every finished run holds."""
_CLIENTS = ("httpx", "httpx2", "httpcore", "httpcore2")
"""The packages whose errors huggingface_hub, by its version, lets through where the network fails."""
_LEFT_OUT = [".*", "*/.*", "*.partial"]
"""Unfinished work lies beside a run, not in it; hidden and partial files are nobody's either way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where to.

    Attributes:
        repo: "owner/name", or "name" for the token's owner.
        private: create it for its owner only; an existing one stays as it is.
        revision: a branch, which is created where there is none; "" for the main one.
        message: of the commit; "" for one that names the run.
    """

    repo: str
    private: bool = False
    revision: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Published:
    """The repository's address, the commit and the files sent, by their paths in the folder."""

    url: str
    commit: str
    files: tuple[str, ...]


def publish(folder: Path, to: Destination, *, api: HfApi | None = None) -> Published:
    """Create the repository if need be and send the run's files in one commit.

    Args:
        api: the client; by default the one that the hub's own settings make (HF_ENDPOINT, HF_TOKEN, its login).

    Raises:
        PublishError: no finished run, no such name, no token, no way to the hub, or the hub says no.
    """
    sent = files_of(folder)
    check_repo(to.repo)
    api = api or HfApi()
    if not (api.token or get_token()):
        raise PublishError("there is no token to write with", where=to.repo, hint="`hf auth login`, or set HF_TOKEN")
    with _clear_errors(to.repo):
        name = api.create_repo(to.repo, private=to.private or None, exist_ok=True).repo_id
        if to.revision:
            api.create_branch(name, branch=to.revision, exist_ok=True)
        commit = api.upload_folder(
            repo_id=name,
            folder_path=folder,
            revision=to.revision or None,
            commit_message=to.message or f"Model {folder.resolve().name}, trained with dictsent",
            ignore_patterns=_LEFT_OUT,
        )
    return Published(f"{api.endpoint}/{name}", commit.oid, sent)


def files_of(folder: Path) -> tuple[str, ...]:
    """The files of a finished run that are sent. Raises PublishError where the folder is none."""
    unfinished = folder.with_name(f".{folder.name}.work").is_dir()
    if unfinished and not folder.is_dir():
        raise PublishError("the run is not finished", where=str(folder), hint="`dictsent train --resume` goes on")
    if not folder.is_dir():
        raise PublishError("there is no such run", where=str(folder), hint="`dictsent runs` lists those there are")
    missing = [name for name in NEEDED if not (folder / name).is_file()]
    if missing:
        hint = "a run is a folder that `dictsent train` left"
        raise PublishError(f"this is no finished run: it holds no {missing[0]}", where=str(folder), hint=hint)
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return tuple(sorted(p.as_posix() for p in paths if not any(part.startswith(".") for part in p.parts)
                        and not p.name.endswith(".partial")))  # fmt: skip


def check_repo(repo: str) -> None:
    """Raise PublishError where no repository can have this name."""
    try:
        validate_repo_id(repo)
    except HFValidationError as error:
        hint = "OWNER/NAME of letters, digits, -, _ and ., at most 96 of them"
        raise PublishError("no repository can be named so", where=repo, hint=hint) from error


@contextmanager
def _clear_errors(repo: str) -> Iterator[None]:
    try:
        yield
    except OfflineModeIsEnabled as error:
        raise PublishError("the hub is switched off", where=repo, hint="unset HF_HUB_OFFLINE") from error
    except LocalTokenNotFoundError as error:
        raise PublishError("there is no token to write with", where=repo, hint="`hf auth login`") from error
    except HfHubHTTPError as error:
        raise _refused(repo, error) from error
    except ValueError as error:
        # The client raises plain ones with what the hub says of the card's metadata.
        raise PublishError(f"the hub does not take it: {_first(str(error))}", where=repo) from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in _CLIENTS:
            raise
        raise PublishError(f"the hub is not reached: {_first(str(error))}", where=repo, hint="try again") from error


def _refused(repo: str, error: HfHubHTTPError) -> PublishError:
    status = error.response.status_code if error.response is not None else 0
    said = error.server_message or _first(str(error))
    if status == 401:
        return PublishError("the hub does not know the token", where=repo, hint="`hf auth login`, or set HF_TOKEN")
    if status == 403:
        return PublishError(
            f"the token may not write there ({_first(said)})", where=repo, hint="use one that may write"
        )
    return PublishError(f"the hub answers {status or 'with an error'}: {_first(said)}", where=repo)


def _first(text: str) -> str:
    return (text.strip().splitlines() or ["no reason given"])[0][:200]
