"""The page of an N2O study: heat map, distributions, words in common, neighbours that all or only one find.

Before: dictsent.tasks.overlap. After: a file.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from dictsent.report import plots
from dictsent.report.page import Section, page, plot, write
from dictsent.report.tables import WRITERS, Table, to_html
from dictsent.tasks.overlap import Study

EXAMPLES = 4


def write_overlap(study: Study, out: Path) -> None:
    """Write the page; a .md or .tex file gets the tables only.

    Raises:
        MissingExtraError: matplotlib is not installed. TaskError: the file cannot be written.
    """
    tables = [_overlaps(study, k) for k in study.overlap.ks] + [_systems(study)]
    if out.suffix in (".md", ".tex"):
        write(out, "\n".join(map(WRITERS[out.suffix], tables)))
        return
    k = study.overlap.ks[-1]
    samples, queries = study.queries.shape
    names = study.overlap.names
    heat = plot(plots.heat_map(names, study.overlap.mean(k)), f"Overlap of the {k} nearest neighbours")
    tokens = {name: (t.mean, t.low, t.high) for name, t in study.tokens.items()}
    sections = [
        Section("Overlap", heat + "".join(map(to_html, tables[:-1])) + _stability(study)),
        Section("Distributions", _distributions(study) if len(names) > 2 else ""),
        Section(
            "Words in common",
            plot(plots.intervals(tokens, "share of the query's words"), "Mean over queries, 95 % interval")
            + to_html(tables[-1]),
        ),
        Section("Neighbours that all find, and that only one finds", _examples(study)),
    ]
    lead = (
        f"{len(names)} encoders, {len(study.corpus):,} distinct sentences, {samples} samples of {queries} queries. "
        "N2O (Lin and Smith, 2019): what part of their nearest neighbours do two encoders share?"
    )
    if study.recall:
        found = ", ".join(f"{name} {value:.3f}" for name, value in study.recall.items())
        lead += f" Approximate search, the part of the true neighbours it finds: {found}."
    write(out, page("Nearest neighbour overlap", lead, sections))


def _overlaps(study: Study, k: int) -> Table:
    mean, spread = study.overlap.mean(k), study.overlap.deviation(k)
    names = study.overlap.names
    rows = tuple(
        (name, *("1" if i == j else f"{mean[i, j]:.3f} ± {spread[i, j]:.3f}" for j in range(len(names))))
        for i, name in enumerate(names)
    )
    return Table(f"N2O, k = {k}: mean and standard deviation over samples of queries", ("", *names), rows)


def _systems(study: Study) -> Table:
    rows = []
    for name, tokens in study.tokens.items():
        found = study.paraphrases.get(name)
        cells = (f"{found.mrr:.3f}", f"{found.top}/{found.n}", f"{found.top5}/{found.n}") if found else ("-", "-", "-")
        rows.append((name, f"{tokens.mean:.3f}", *cells))
    columns = ("encoder", "words in common", "paraphrases: MRR", "at rank 1", "within 5")
    return Table("Words a query shares with its neighbours; the query-paraphrase test", columns, tuple(rows))


def _stability(study: Study) -> str:
    found = study.overlap.stability(study.overlap.ks[-1])
    said = [f"across {kind}: {s[0]:.3f} on average, {s[1]:.3f} at least" for kind, s in found.items() if s]
    return (
        f'<p class="note">Rank stability (Spearman between the lists of pairs) {"; ".join(said)}.</p>' if said else ""
    )


def _distributions(study: Study) -> str:
    values = study.overlap.against_others(study.overlap.ks[-1])
    return plot(plots.distributions(values, "N2O with each other encoder"), "Each encoder against all others")


def _examples(study: Study) -> str:
    shared = sorted(study.shared(), key=lambda s: (not s.popular, sum(map(len, s.outliers.values())) == 0))
    parts = []
    for one in shared[:EXAMPLES]:
        rows = [("all", "", study.corpus[i]) for i in one.popular[:3]]
        rows += [(name, str(rank), study.corpus[i]) for name, found in one.outliers.items() for rank, i in found[:1]]
        if rows:
            table = Table("“all”: within the 5 nearest of all", ("encoder", "rank", "sentence"), tuple(rows), left=3)
            parts.append(f"<h3>{escape(study.corpus[one.query])}</h3>{to_html(table)}")
    return "".join(parts)
