"""The page of finished runs: scores beside each other, PST steps, the entry space, lookups, the records.

Before: dictsent.model's folders. After: a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from dictsent.errors import TaskError
from dictsent.report import plots
from dictsent.report.page import Section, page, plot, write
from dictsent.report.seeds import mean_scores, seed_groups
from dictsent.report.spaces import PORTRAIT, spaces
from dictsent.report.tables import WRITERS, Table, to_html
from dictsent.tasks.data import SEVEN
from dictsent.tasks.unscored import SHOWN, meaning
from dictsent.tasks.words import METRICS

UNEXPOSED, NOT_IN_STORE = "-unexposed", "-not-in-store"
LOOKUPS = 8


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: its folder's name and record."""

    name: str
    folder: Path
    record: Mapping[str, Any]

    def scores(self) -> list[dict[str, Any]]:
        """What `eval` and recipes wrote into the record."""
        return list(self.record.get("scores", []))


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """Runs by their folders, named as shortly as tells them apart. Raises TaskError for a folder without a record."""
    from dictsent.model import read_record

    runs = []
    for folder in folders:
        record = read_record(folder)
        if not record:
            raise TaskError("is no finished run: it has no record.json", where=str(folder))
        short = sum(f.name == folder.name for f in folders) == 1
        runs.append(Run(folder.name if short else str(folder), folder, record))
    return runs


def write_report(folders: Sequence[Path], out: Path) -> None:
    """Write a page about the runs; a .md or .tex file gets the tables only.

    Raises:
        MissingExtraError: matplotlib is not installed. TaskError: a folder is no run, the file cannot be written.
    """
    runs = read_runs(folders)
    tables = score_tables(runs)
    if out.suffix in (".md", ".tex"):
        write(out, "\n".join(map(WRITERS[out.suffix], [*tables, *_step_tables(runs)])))
        return
    sections = [
        Section("Scores", _score_plot(runs) + "".join(map(to_html, tables)) + _missing(tables)),
        Section("Training, step by step", "".join(map(to_html, _step_tables(runs))) + _step_plot(runs)),
        Section("The space of entries", spaces([(run.name, run.folder, run.record) for run in runs])),
        Section("What the models say", "".join(map(_lookups, runs))),
        Section("Records", "".join(map(_record, runs))),
    ]
    names = ", ".join(run.name for run in runs)
    write(out, page("Sentence encoders from dictionaries", f"Runs: {names}.", sections))


def score_tables(runs: Sequence[Run]) -> list[Table]:
    """The papers' tables: English similarity, other sets, word prediction, transfer, and what needs no annotated data.

    Runs that differ in their seed only also stand as one, with mean and deviation. Only tables with figures.
    """
    runs = [*runs, *_systems(runs)]
    tables = [_english(runs), _others(runs), _words(runs), _transfer(runs), _unscored(runs)]
    return [replace(table, notes=(*table.notes, *_seed_note(table))) for table in tables if table is not None]


def _seed_note(table: Table) -> tuple[str, ...]:
    return ("±: mean and standard deviation over seeds.",) if any(" ± " in c for row in table.rows for c in row) else ()


def _systems(runs: Sequence[Run]) -> list[Run]:
    """For each group of seeds a run that holds their means."""
    found = []
    for group in seed_groups([run.record for run in runs]):
        members = [runs[number] for number in group]
        names = {run.record.get("protocol", {}).get("name", "") for run in members}
        common = names.pop() if len(names) == 1 else ""
        name = f"{common or members[0].name}, {len(members)} seeds"
        found.append(Run(name, members[0].folder, {"scores": mean_scores([run.scores() for run in members])}))
    return found


def _pick(run: Run, **wanted: Any) -> dict[str, Any] | None:
    return next((s for s in run.scores() if all(s.get(key) == value for key, value in wanted.items())), None)


def _figure(score: Mapping[str, Any] | None, digits: int = 2) -> str:
    if score is None or score.get("value") is None:
        return "-"
    text = f"{score['value']:.{digits}f}"
    if "deviation" in score:
        return f"{text} ± {score['deviation']:.{digits}f}"
    bounds = score.get("interval")
    return f"{text}\n[{bounds[0]:.{digits}f}, {bounds[1]:.{digits}f}]" if bounds else text


def _english(runs: Sequence[Run]) -> Table | None:
    rows, kinds = [], []
    for run in runs:
        found = [
            s for s in run.scores() if s["language"] == "en" and s["metric"] == "spearman" and s["split"] == "test"
        ]
        for unexposed in (False, True):
            mine = {s["task"]: s for s in found if s["variant"].endswith(UNEXPOSED) == unexposed}
            if any(task in mine for task in SEVEN):
                kinds += [s["variant"] for s in mine.values() if not unexposed and s["task"] in SEVEN[:6]]
                name = f"{run.name}, without exposed pairs" if unexposed else run.name
                rows.append((name, *(_figure(mine.get(task)) for task in (*SEVEN, "Avg"))))
    if not rows:
        return None
    text = " and ".join(dict.fromkeys(kinds)) or "raw"
    return Table(f"Sentence similarity, English: Spearman x100 ({text} text)", ("run", *SEVEN, "Avg"), tuple(rows))


def _others(runs: Sequence[Run]) -> Table | None:
    keys: dict[tuple[str, str, str, str], None] = {}
    for run in runs:
        for s in run.scores():
            english = s["language"] == "en" and s["task"] in (*SEVEN, "Avg")
            if s["metric"] == "spearman" and not english and "/" not in s["task"]:
                keys[s["task"], s["language"], s["split"], s["protocol"]] = None
    rows = []
    for task, language, split, protocol in keys:
        picked = [_pick(run, task=task, language=language, split=split, metric="spearman") for run in runs]
        name = f"{task} (smoke set)" if protocol == "smoke" else task
        n = next((f"{s['n']:,}" for s in picked if s), "")
        rows.append((name, language, split, n, *map(_figure, picked)))
    columns = ("set", "language", "split", "pairs", *(run.name for run in runs))
    return Table("Sentence similarity, other sets: Spearman x100", columns, tuple(rows), left=3) if rows else None


def _words(runs: Sequence[Run]) -> Table | None:
    rows = []
    for run in runs:
        mine = [s for s in run.scores() if s["task"] == "words"]
        for variant, split in dict.fromkeys((s["variant"], s["split"]) for s in mine):
            found = {s["metric"]: s for s in mine if (s["variant"], s["split"]) == (variant, split)}
            n = next(iter(found.values()))["n"]
            cells = (_figure(found.get(m), 1 if m == "median_rank" else 4) for m in METRICS)
            rows.append((run.name, variant, split, f"{n:,}", *cells))
    return Table("Word prediction", ("run", "ranked", "split", "n", *METRICS), tuple(rows), left=3) if rows else None


def _transfer(runs: Sequence[Run]) -> Table | None:
    mine = {run.name: [s for s in run.scores() if s["metric"] == "accuracy"] for run in runs}
    tasks = list(dict.fromkeys(s["task"] for scores in mine.values() for s in scores))
    rows = []
    for name, scores in mine.items():
        for protocol in dict.fromkeys(s["protocol"] for s in scores):
            found = {s["task"]: s for s in scores if s["protocol"] == protocol}
            rows.append((name, protocol, *(_figure(found.get(task)) for task in tasks)))
    return Table("Transfer: accuracy x100", ("run", "protocol", *tasks), tuple(rows), left=2) if rows else None


def _unscored(runs: Sequence[Run]) -> Table | None:
    """What needs no people's scores: a row a figure, with what it means."""
    keys: dict[tuple[str, str, str, str], tuple[int, float | None]] = {}
    for kind in SHOWN:
        for s in (s for run in runs for s in run.scores() if (s["task"], s["metric"]) == kind and s["task"] != "words"):
            keys.setdefault((*kind, s["language"], s["variant"]), (s["n"], s.get("chance")))
    rows = []
    for (task, metric, language, variant), (n, chance) in keys.items():
        wanted = {"task": task, "metric": metric, "language": language, "variant": variant}
        cells = (_figure(_pick(run, **wanted), 4) for run in runs)
        low = "" if chance is None else f"{chance:.4f}"
        rows.append((f"{task} {metric.replace('_', ' ')}", language, variant, f"{n:,}", *cells, low))
    columns = ("measure", "language", "of", "n", *(run.name for run in runs), "by chance")
    said = dict.fromkeys(f"{task} {metric.replace('_', ' ')}: {meaning(task, metric)}" for task, metric, _, _ in keys)
    return (
        Table("Figures that need no annotated data", columns, tuple(rows), left=3, notes=tuple(said)) if rows else None
    )


def _missing(tables: Sequence[Table]) -> str:
    return "" if tables else '<p class="note">No scores yet: `dictsent eval sts RUN` writes them into the record.</p>'


def _score_plot(runs: Sequence[Run]) -> str:
    rows: dict[str, list[float | None]] = {}
    for run in runs:
        found = [_pick(run, task=task, language="en", metric="spearman", split="test") for task in (*SEVEN, "Avg")]
        if any(s for s in found if s and s["task"] != "Avg"):
            rows[run.name] = [s["value"] if s else None for s in found]
    return plot(plots.bars((*SEVEN, "Avg"), rows, "Spearman x100"), "English similarity sets") if rows else ""


def _step_tables(runs: Sequence[Run]) -> list[Table]:
    tables = []
    for run in runs:
        logs = run.record.get("steps", [])
        columns = list(dict.fromkeys(key for log in logs for key, value in log.items() if _is_plain(value)))
        if logs:
            rows = tuple(tuple(_plain(log.get(key)) for key in columns) for log in logs)
            names = tuple(key.replace("_", " ") for key in columns)
            tables.append(Table(f"{run.name}: steps; dev is {run.record.get('dev_criterion', '')}", names, rows))
    return tables


def _is_plain(value: object) -> bool:
    return not isinstance(value, dict | list)


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else "" if value is None else str(value)


def _step_plot(runs: Sequence[Run]) -> str:
    lines = {
        run.name: [log["dev"] for log in run.record.get("steps", []) if log.get("dev") is not None] for run in runs
    }
    lines = {name: line for name, line in lines.items() if len(line) > 1}
    return plot(plots.steps(lines, "dev criterion"), "The dev criterion over PST steps") if lines else ""


def _lookups(run: Run) -> str:
    """The nearest words to held-out definitions (DefSent, Tables 6 and 7)."""
    rows = lookups(run)
    if not rows:
        return ""
    table = Table(f"{run.name}: held-out definitions and the words found", ("definition", "headword", "found"), rows, 3)
    return to_html(table)


def lookups(run: Run, *, most: int = LOOKUPS) -> tuple[tuple[str, str, str], ...]:
    """(definition, headword, five nearest names) of test queries; empty for a run without entries."""
    from dictsent.model import Model

    if run.record.get("method") != "defsent-plus":
        return ()
    model = Model.load(run.folder)
    if model.space is None:
        return ()
    queries = [q for q in model.space.queries if q.split == "test"]
    queries = queries[:: max(1, len(queries) // most)][:most]
    if not queries:
        return ()
    found = model.space.nearest(model.entry_vectors([q.definition for q in queries]), 5)
    names = [", ".join(" / ".join(model.space.names[row]) for row, _ in rows) for rows in found]
    return tuple((q.definition, q.headword, said) for q, said in zip(queries, names, strict=True))


def _record(run: Run) -> str:
    steps = [{k: v for k, v in log.items() if k != PORTRAIT} for log in run.record.get("steps", [])]
    shown = {k: v for k, v in run.record.items() if k != "scores"} | {"steps": steps}
    text = json.dumps(shown, ensure_ascii=False, indent=2)
    return f"<details><summary>{escape(run.name)}</summary><pre>{escape(text)}</pre></details>\n"
