"""`dictsent encode`.

Before: a model folder or hub name. After: vectors.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from dictsent.cli.options import json_option, runs_option
from dictsent.cli.show import emit, note


@click.command("encode", epilog="Example: dictsent encode --model runs/en-defsent-1 sentences.txt --out vectors.npy")
@click.argument("sentences", type=click.File("r", encoding="utf-8"), default="-")
@click.option("--model", type=click.Path(path_type=Path), help="A model folder or hub name. [default: the newest run]")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write an .npy matrix here.")
@runs_option
@json_option
def encode_command(sentences: Any, model: Path | None, out: Path | None, runs: Path, as_json: bool) -> None:
    """Turn sentences, one a line, into vectors: tab-separated figures, --json, or an .npy file."""
    import numpy as np

    from dictsent.model import text_encoder
    from dictsent.runs import newest

    lines = [line.rstrip("\r\n") for line in sentences]
    if model is None:
        model = newest(runs)
        note(f"Model: {model}")
    vectors = text_encoder(str(model)).encode(lines)
    if out is not None:
        np.save(out, vectors)
        note(f"{len(lines):,} vectors of {vectors.shape[1]} figures in {out}")
    elif as_json:
        emit({"model": str(model), "vectors": vectors.tolist()})
    else:
        for row in vectors:
            sys.stdout.write("\t".join(f"{value:.6g}" for value in row) + "\n")
