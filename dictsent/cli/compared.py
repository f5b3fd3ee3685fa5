"""What evaluation commands are given: models, sets of pairs, a corpus; and scoring one model after the other.

Before: a command's arguments. After: `eval`, `compare`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dictsent.cli.show import note, working

if TYPE_CHECKING:
    from dictsent.tasks.data import LeftOut
    from dictsent.tasks.embedding import TextEncoder
    from dictsent.tasks.scores import Score


def read_corpus(corpus: Path | None, store: Path | None, language: str, *, limit: int | None = None) -> list[str]:
    """Distinct sentences of a file, or the store's definitions in a language; the first `limit`, which is said."""
    from dictsent.errors import TaskError
    from dictsent.tasks.neighbours import distinct_sentences
    from dictsent.tasks.readers import read_text

    if corpus is not None or store is None:
        texts = distinct_sentences(read_text(corpus).split("\n")) if corpus else []
    else:
        from dictsent.store import Store

        with Store(store) as opened:
            opened.require(language)
            texts = distinct_sentences(row.text for row in opened.definitions(language))
    if not texts:
        raise TaskError("holds no text", where=str(corpus or store))
    if limit and len(texts) > limit:
        note(f"the first {limit:,} of {len(texts):,} texts are taken (--limit)")
    return texts[:limit]


def say_left_out(left_out: Sequence[LeftOut]) -> None:
    """Which sets are not scored and why, one line a reason."""
    reasons: dict[str, list[str]] = {}
    for row in left_out:
        reasons.setdefault(row.reason, []).append(row.set.label)
    for reason, names in reasons.items():
        note(f"left out: {', '.join(names)}: {reason}")


def folders(data: Path | None) -> list[Path]:
    """Where evaluation sets are looked for: --data (or $DICTSENT_DATA), then the cache of `eval fetch`."""
    cache = cache_folder()
    return [folder for folder in ([data] if data else []) + ([cache] if cache.is_dir() else [])]


def cache_folder() -> Path:
    """The folder that `eval fetch` fills."""
    import os

    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "dictsent" / "sets"


def resolve(models: Sequence[str], runs: Path, language: str) -> tuple[list[str], str]:
    """The named models, or the newest finished run; and the language that was given or that the first was made for."""
    from dictsent.languages import find_language

    tag = find_language(language) if language else ""
    if models:
        return list(models), tag or model_language(models[0])
    from dictsent.runs import newest

    folder = newest(runs, language=tag)
    note(f"model: {folder} (the newest finished run)")
    return [str(folder)], tag or model_language(str(folder))


def model_language(name: str) -> str:
    """What a model folder says of its language, in its record or its card; English where it says nothing."""
    import json

    record, card = Path(name) / "record.json", Path(name) / "README.md"
    if record.is_file():
        found = json.loads(record.read_text(encoding="utf-8")).get("language", "")
        if found:
            return str(found)
    if card.is_file():
        for line in card.read_text(encoding="utf-8", errors="replace").split("\n")[1:40]:
            if line.startswith("language:") and line.partition(":")[2].strip():
                return line.partition(":")[2].strip()
    if not Path(name).exists():
        note("no language given: scoring English (--lang names another)")
    else:
        note(f"{name} does not say its language: scoring English (--lang names another)")
    return "en"


def each_model(
    names: Sequence[str],
    language: str,
    work: Callable[[TextEncoder, Callable[[int, int], None]], list[Score]],
) -> dict[str, list[Score]]:
    """Load one model after the other and do the work with it, progress shown; a run's record keeps its scores."""
    from dictsent.model import keep_scores
    from dictsent.tasks.systems import check_name, load_system

    for name in names:
        check_name(name)
    results: dict[str, list[Score]] = {}
    for name in names:
        system = load_system(name, language=language or "en")
        with working(f"embedding with {name}") as bar:
            results[name] = work(system, bar.update)
        if (Path(name) / "record.json").is_file():
            keep_scores(Path(name), [score.to_json() for score in results[name]])
    return results
