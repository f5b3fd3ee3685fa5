"""What an adapter makes of a sample, as lines of JSON: the form of tests/adapters/*/expected*.jsonl.

`python tests/golden.py tests/adapters/NAME/sample.EXT` prints it: read it before it becomes the expectation.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

from dictsent.adapter import Adapter, installed
from dictsent.records import Entry

SAMPLES = Path(__file__).parent / "adapters"


def samples() -> list[Path]:
    """Every sample of every adapter: tests/adapters/NAME/sample*, a file or a folder."""
    return sorted(path for folder in SAMPLES.iterdir() if folder.is_dir() for path in folder.glob("sample*"))


def expectation(sample: Path) -> Path:
    """sample.tsv -> expected.jsonl, sample-utf16.tsv -> expected-utf16.jsonl."""
    return sample.with_name(f"expected{sample.name.split('.')[0].removeprefix('sample')}.jsonl")


def source(sample: Path) -> Path:
    """What the adapter is given: the sample, or the one file of a folder that the adapter claims (.ifo, .index)."""
    adapter = installed()[sample.parent.name]()
    if sample.is_file() or adapter.matches(sample):
        return sample
    (claimed,) = (file for file in sample.iterdir() if adapter.matches(file))
    return claimed


def reader(sample: Path) -> Adapter:
    """The adapter the sample's folder is named after, told what options-*.json beside the sample says."""
    adapter = installed()[sample.parent.name]
    options = expectation(sample).with_name(expectation(sample).stem.replace("expected", "options") + ".json")
    return adapter(adapter.Options(**json.loads(options.read_text())) if options.exists() else None)


def reading(sample: Path) -> Iterator[dict[str, Any]]:
    """The dictionary, each entry and reject, and last the counts and notes."""
    adapter, path = reader(sample), str(source(sample))
    yield {"dictionary": plain(adapter.describe(path))}
    for record in adapter.read(path):
        yield {"entry" if isinstance(record, Entry) else "rejected": plain(record)}
    yield {"counts": dict(adapter.reading.counts), "notes": adapter.reading.notes}


def plain(value: Any) -> Any:
    """A record as JSON would hold it, without the fields that have their default value."""
    if is_dataclass(value):
        given = {field: getattr(value, field.name) for field in fields(value)}
        return {f.name: plain(v) for f, v in given.items() if f.default is MISSING or v != f.default}
    return [plain(item) for item in value] if isinstance(value, tuple) else value


if __name__ == "__main__":
    for line in reading(Path(sys.argv[1])):
        sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
