"""The model card: what a stranger must know of a model folder, as README.md with the hub's front matter.

Before: the record of a run. After: dictsent.model writes it beside the weights, dictsent.publish sends both to a hub.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCardData

from dictsent.licences import hub_licence

_METHODS = {
    "defsent": "DefSent (Tsukagoshi et al., ACL 2021): predict the headword with the frozen masked-LM head",
    "defsent-plus": "DefSent+ (Liu, 2024): predict the entry among all entries against frozen entry embeddings",
    "static": "static token vectors fitted on dictionary definitions",
}
_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
_HUB_DATA = re.compile(r"https?://huggingface\.co/datasets/([\w.-]+/[\w.-]+)")
_MEASURED = {
    # metric of a score: (the hub's task, its name, the metric's)
    "spearman": ("semantic-similarity", "Semantic Similarity", "spearman_cosine"),
    "mrr": ("word-prediction", "Word Prediction", "mrr"),
    "accuracy": ("text-classification", "Text Classification", "accuracy"),
}


def model_card(record: dict[str, Any]) -> str:
    """The card's text, from the record alone."""
    parts = [
        _front_matter(record),
        _title(record),
        _usage(record),
        _training(record),
        _sources(record),
        _exposure(record),
        _scores(record),
    ]
    return "\n".join(part for part in parts if part)


def _front_matter(record: dict[str, Any]) -> str:
    """The hub's metadata: languages, licence, what it was made of and from, and the main scores as a model index."""
    languages = record["language"].split(",")
    sources = record["sources"]
    results = _results(record)
    licence, licence_name = _licence(sources)
    data = ModelCardData(
        language=languages if len(languages) > 1 else languages[0],
        license=licence,
        license_name=licence_name,
        library_name="sentence-transformers",
        pipeline_tag="sentence-similarity",
        tags=["sentence-transformers", "sentence-similarity", "feature-extraction", "dictsent", record["method"]],
        base_model=_base_model(record["encoder"]),
        datasets=sorted({found[1] for s in sources if (found := _HUB_DATA.match(s["address"] or ""))}) or None,
        model_name=f"{record['method']} ({record['language']})" if results else None,
        eval_results=results or None,
    )
    return f"---\n{data.to_yaml()}\n---\n"


def _licence(sources: list[dict[str, Any]]) -> tuple[str, str | None]:
    """The licence that all dictionaries share, else "other" with their names."""
    named = {hub_licence(source["licence"]) for source in sources}
    if len(named) == 1 and named != {"other"}:
        return named.pop(), None
    stated = sorted({source["licence"] or "not stated" for source in sources})
    return "other", "; ".join(stated) or "not stated"


def _base_model(encoder: dict[str, str]) -> str | None:
    """The checkpoint's hub name, where it is one."""
    name = encoder["name"]
    on_hub = encoder["kind"] == "checkpoint" and _HUB_NAME.fullmatch(name) and not Path(name).exists()
    return name if on_hub else None


def _results(record: dict[str, Any]) -> list[EvalResult]:
    """The main figures: whole sets, not their subsets."""
    kind = ("task", "variant", "protocol")
    return [
        EvalResult(
            task_type=_MEASURED[score["metric"]][0],
            task_name=_MEASURED[score["metric"]][1],
            # The hub takes results of one data set, configuration and split for one: the name tells texts apart.
            dataset_type=re.sub(r"[^a-z0-9]+", "-", " ".join(score[key] for key in kind).lower()).strip("-"),
            dataset_name=f"{score['task']} ({score['variant']}, {score['protocol']})",
            dataset_config=score["language"],
            dataset_split=score["split"],
            metric_type=_MEASURED[score["metric"]][2],
            metric_value=round(float(score["value"]), 4),
        )
        for score in record.get("scores", [])
        if score["metric"] in _MEASURED and "/" not in score["task"] and score["value"] is not None
    ]


def _title(record: dict[str, Any]) -> str:
    notes = "".join(f"\n> {note}\n" for note in record.get("notes", []))
    title = record["language"].replace(",", ", ")
    return f"# A sentence encoder from dictionaries ({title})\n\n{_METHODS[record['method']]}.\n{notes}"


def _usage(record: dict[str, Any]) -> str:
    lines = [
        "## Use\n",
        "```python",
        "from sentence_transformers import SentenceTransformer",
        "",
        'model = SentenceTransformer("path/to/this/folder")',
        'vectors = model.encode(["A sentence.", "Another one."])',
        "```",
    ]
    if record["method"] != "static":
        lines.append(
            "\n`AutoModel` and `AutoModelForMaskedLM` load the same folder with the same token states. A loading report"
            " that names a missing pooler can be ignored: sentence vectors do not go through it."
        )
    return "\n".join(lines) + "\n"


def _training(record: dict[str, Any]) -> str:
    pairs = record["pairs"]
    rows = [
        ("encoder", record["encoder"]["name"]),
        ("definitions", f"{pairs['train']:,} train, {pairs['dev']:,} dev, {pairs['test']:,} test (split by headword)"),
        ("seed", _seed(record)),
        ("settings", f"sha256 {record['settings_hash'][:16]}, in full in record.json"),
        ("made", f"{record['created']} with dictsent {record['dictsent']}"),
    ]
    text = "## Training\n\n" + _table(("", ""), rows)
    if record.get("steps"):
        columns = ("step", "learning rate", "definitions", "entries", "loss first", "loss last", "matrix", "pooler")
        keys = tuple(column.replace(" ", "_") for column in columns)
        shown = [tuple(_figure(step[key]) for key in (*keys, "dev", "seconds")) for step in record["steps"]]
        text += "\n" + _table((*columns, "dev", "seconds"), shown)
        text += f"\ndev: {record.get('dev_criterion', 'none')}. Each step trains the original encoder anew against"
        text += " entries that the step before built.\n" if len(record["steps"]) > 1 else " its targets.\n"
    return text


def _seed(record: dict[str, Any]) -> str:
    """The seed, and where several were trained, which ones and what became of them."""
    protocol = record.get("protocol")
    if not protocol:
        return str(record["seed"])
    text = f"{record['seed']}, of {', '.join(map(str, protocol['seeds']))}"
    if protocol.get("builders"):
        text += (
            f"; the entries of the steps after the first were built by seed {', '.join(map(str, protocol['builders']))}"
        )
    if protocol.get("point"):
        text += "; of a grid: " + ", ".join(f"{key} {_plain(value)}" for key, value in protocol["point"].items())
    return text


def _plain(value: Any) -> str:
    return (
        "/".join(f"{v:g}" if isinstance(v, float) else str(v) for v in value)
        if isinstance(value, list | tuple)
        else str(value)
    )


def _sources(record: dict[str, Any]) -> str:
    columns = ("source", "version", "licence", "definitions", "checksum")
    rows = [(s["name"], s["version"], s["licence"], s["definitions"], s["checksum"][:16]) for s in record["sources"]]
    text = "## Dictionaries\n\n" + _table(columns, rows)
    credited = [_line(f"- {s['name']}: {s['attribution']}") for s in record["sources"] if s.get("attribution")]
    return text + ("\n" + "\n".join(credited) + "\n" if credited else "")


def _exposure(record: dict[str, Any]) -> str:
    """What of the evaluation texts the training saw."""
    left_out = record["pairs"].get("left_out", {}).get("excluded by text")
    if left_out is not None:
        said = f"{left_out:,} definitions that are sentences of evaluation sets were left out of the training."
    else:
        said = "Definitions that are sentences of evaluation sets were not left out of the training."
    if any(
        "-unexposed" in score["variant"] or "-not-in-store" in score["variant"] for score in record.get("scores", [])
    ):
        said += (
            " Scores whose text ends in -unexposed leave out the files made of WordNet's glosses, those in"
            " -not-in-store all pairs that hold a definition of the dictionaries."
        )
    return f"## Exposure\n\n{said}\n"


def _scores(record: dict[str, Any]) -> str:
    scores = record.get("scores", [])
    if not scores:
        return ""
    columns = ("task", "language", "split", "protocol", "text", "metric", "value", "n")
    keys = ("task", "language", "split", "protocol", "variant", "metric", "value", "n")
    return "## Scores\n\n" + _table(columns, [tuple(_figure(score[key]) for key in keys) for score in scores])


def _figure(value: object) -> object:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else value


def _table(columns: tuple[str, ...], rows: list[Any]) -> str:
    head = f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}\n"
    return head + "".join(f"| {' | '.join(_cell(cell) for cell in row)} |\n" for row in rows)


def _cell(value: object) -> str:
    return _line(str(value)).replace("|", "\\|")


def _line(text: str) -> str:
    return " ".join(text.split())
