"""One training by however many processes started this: python scale_job.py ENCODER METHOD OUT [FIELD=JSON ...]."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from test_training import MANY, settings_for

from dictsent import ranks
from dictsent.encoder import Encoder
from dictsent.train import Hooks, train


def main() -> None:
    """Train, and let the first process save what came out."""
    folder, method, out, *told = sys.argv[1:]
    ranks.join()
    scored: list[int] = []
    hooks = Hooks(scorer=lambda trained: scored.append(ranks.rank()) or {"": float(len(trained.log))})
    more = {key: json.loads(value) for key, value in (text.split("=", 1) for text in told)}
    if "trainer" in more:
        more["trainer"] = tuple(more["trainer"])
    trained = train(Encoder.load(folder), MANY, settings_for(method, **more), hooks)
    assert all(rank == 0 for rank in scored)
    state = dict(trained.encoder.backbone.state_dict())
    if trained.space is not None and trained.pooler is not None:
        state |= {"matrix": trained.space.matrix} | {f"pooler.{k}": v for k, v in trained.pooler.state_dict().items()}
    torch.save({"state": state, "log": [log.as_dict() for log in trained.log]}, Path(out) / f"{ranks.rank()}.pt")
    ranks.leave()


if __name__ == "__main__":
    main()
