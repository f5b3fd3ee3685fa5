"""The model card: what a stranger must know of a model folder, as README.md with the hub's front matter.

Before: the record of a run. After: dictsent.model writes it beside the weights.
"""

from __future__ import annotations

from typing import Any

_METHODS = {
    "defsent": "DefSent (Tsukagoshi et al., ACL 2021): predict the headword with the frozen masked-LM head",
    "defsent-plus": "DefSent+ (Liu, 2024): predict the entry among all entries against frozen entry embeddings",
    "static": "static token vectors fitted on dictionary definitions",
}


def model_card(record: dict[str, Any]) -> str:
    """The card's text, from the record alone."""
    parts = [
        _front_matter(record),
        _title(record),
        _usage(record),
        _training(record),
        _sources(record),
        _scores(record),
    ]
    return "\n".join(part for part in parts if part)


def _front_matter(record: dict[str, Any]) -> str:
    tags = "\n".join(
        f"- {tag}" for tag in ("sentence-transformers", "sentence-similarity", "dictsent", record["method"])
    )
    return (
        f"---\nlanguage: {record['language']}\nlibrary_name: sentence-transformers\n"
        f"pipeline_tag: sentence-similarity\ntags:\n{tags}\n---\n"
    )


def _title(record: dict[str, Any]) -> str:
    notes = "".join(f"\n> {note}\n" for note in record.get("notes", []))
    return f"# A sentence encoder from dictionaries ({record['language']})\n\n{_METHODS[record['method']]}.\n{notes}"


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
        ("seed", record["seed"]),
        ("settings", f"sha256 {record['settings_hash'][:16]}, in full in record.json"),
        ("made", f"{record['created']} with dictsent {record['dictsent']}"),
    ]
    text = "## Training\n\n" + _table(("", ""), rows)
    if record.get("steps"):
        columns = (
            "step",
            "learning rate",
            "definitions",
            "entries",
            "loss first",
            "loss last",
            "matrix",
            "dev",
            "seconds",
        )
        keys = (
            "step",
            "learning_rate",
            "definitions",
            "entries",
            "loss_first",
            "loss_last",
            "matrix",
            "dev",
            "seconds",
        )
        text += "\n" + _table(columns, [tuple(_figure(step[key]) for key in keys) for step in record["steps"]])
    return text


def _sources(record: dict[str, Any]) -> str:
    columns = ("source", "version", "licence", "definitions", "checksum")
    rows = [(s["name"], s["version"], s["licence"], s["definitions"], s["checksum"][:16]) for s in record["sources"]]
    return "## Dictionaries\n\n" + _table(columns, rows)


def _scores(record: dict[str, Any]) -> str:
    scores = record.get("scores", [])
    if not scores:
        return ""
    columns = ("task", "language", "split", "protocol", "text", "metric", "value", "n")
    keys = ("task", "language", "split", "protocol", "variant", "metric", "value", "n")
    return "## Scores\n\n" + _table(columns, [tuple(_figure(score[key]) for key in keys) for score in scores])


def _figure(value: object) -> object:
    return f"{value:.4g}" if isinstance(value, float) else value


def _table(columns: tuple[str, ...], rows: list[Any]) -> str:
    head = f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}\n"
    return head + "".join(f"| {' | '.join(str(cell) for cell in row)} |\n" for row in rows)
