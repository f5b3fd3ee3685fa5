"""Finding WordNet 3.0 on a stranger's machine.

Before: a recipe that asks for it. After: a folder of data files for the wordnet adapter, or the wn library's lexicon.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dictsent.errors import SourceError

DEBIAN = Path("/usr/share/wordnet")
_PACKAGE = "wordnet-base"
_LEXICON = "omw-en:1.4"
_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Places:
    """Where to look: `named` is what $DICTSENT_WORDNET says ("" if unset), `cache` a folder for what is fetched."""

    named: str
    cache: Path


def find_wordnet(places: Places, notify: Callable[[str], None]) -> str:
    """A source the wordnet adapter reads, tried in order; a line for each place that failed.

    $DICTSENT_WORDNET, /usr/share/wordnet, Debian's package (downloaded and unpacked, not installed), the wn library's
    download.

    Raises:
        SourceError: none of them has it.
    """
    ways: tuple[tuple[str, Callable[[], str]], ...] = (
        ("$DICTSENT_WORDNET", lambda: _folder(Path(places.named)) if places.named else _fail("it is not set")),
        (str(DEBIAN), lambda: _folder(DEBIAN)),
        (f"Debian's package {_PACKAGE}", lambda: _from_debian(places.cache)),
        (f"wn download {_LEXICON}", _from_wn),
    )
    for name, way in ways:
        try:
            found = way()
        except (OSError, SourceError, subprocess.SubprocessError) as error:
            notify(f"WordNet: not from {name}: {_first_line(error)}")
        else:
            notify(f"WordNet: {found}")
            return found
    raise SourceError(
        "WordNet 3.0 was found nowhere",
        hint="set DICTSENT_WORDNET to a folder with data.noun, data.verb, data.adj, data.adv",
    )


def _fail(reason: str) -> str:
    raise SourceError(reason)


def _folder(path: Path) -> str:
    if not (path / "data.noun").is_file():
        raise SourceError(f"there is no data.noun in {path}")
    return str(path)


def _from_debian(cache: Path) -> str:
    target = cache / _PACKAGE
    unpacked = target / "usr/share/wordnet"
    if not (unpacked / "data.noun").is_file():
        target.mkdir(parents=True, exist_ok=True)
        _run(["apt-get", "download", _PACKAGE], target)
        package = next(target.glob("*.deb"))
        _run(["dpkg-deb", "-x", package.name, "."], target)
    return _folder(unpacked)


def _run(command: list[str], folder: Path) -> None:
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.CalledProcessError as error:
        raise SourceError(f"{command[0]} failed: {error.stderr.strip() or error.returncode}") from error


def _from_wn() -> str:
    import wn

    try:
        wn.download(_LEXICON, progress_handler=None)
    except Exception as error:
        # The library lets whatever its HTTP client raises through; any of it means that this way failed.
        raise SourceError(str(error)) from error
    return f"wn:{_LEXICON}"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
