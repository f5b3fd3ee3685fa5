"""Runs that differ in their seed only, as one system: mean and standard deviation of every score.

Before: finished runs' records. After: the tables of dictsent.report.runs, as the papers print them.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

_KIND = ("task", "language", "split", "protocol", "variant", "metric")


def seed_groups(records: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Numbers of the records, two or more each, that tell of one system under different seeds."""
    groups: dict[str, list[int]] = {}
    for number, record in enumerate(records):
        groups.setdefault(_system(record), []).append(number)
    return [
        group for group in groups.values() if len(group) > 1 and len({_seed(records[i]) for i in group}) == len(group)
    ]


def _seed(record: Mapping[str, Any]) -> str:
    return json.dumps([record.get("seed"), record.get("settings", {}).get("seed")])


def _system(record: Mapping[str, Any]) -> str:
    settings = {key: value for key, value in record.get("settings", {}).items() if key != "seed"}
    pairs = record.get("pairs", {}).get("settings")
    told = [record.get("method"), record.get("language"), record.get("encoder"), settings, pairs]
    return json.dumps(told, sort_keys=True)


def mean_scores(runs: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """The scores that every run has on the same number of items, as their mean with the sample `deviation`."""
    kinds = [{tuple(score[key] for key in _KIND): score for score in scores} for scores in runs]
    found = []
    for kind, score in kinds[0].items():
        same = [other[kind] for other in kinds if kind in other and other[kind]["n"] == score["n"]]
        known = [one["value"] for one in same if one["value"] is not None]
        if len(known) == len(runs):
            mean = {"value": statistics.fmean(known), "deviation": statistics.stdev(known)}
            found.append({key: value for key, value in score.items() if key != "interval"} | mean)
    return found
