"""Pages about runs and overlaps: self-contained, whole, in three forms."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from dictsent.errors import TaskError
from dictsent.report import write_overlap, write_report
from dictsent.report.tables import Table, to_html, to_latex, to_markdown
from dictsent.tasks.baselines import Tfidf
from dictsent.tasks.isotropy import draw_portrait, write_portrait
from dictsent.tasks.neighbours import draw_queries
from dictsent.tasks.overlap import study

VOID = {"meta", "br", "path", "use", "rect", "image", "line", "circle"}


class Balance(HTMLParser):
    """Every tag that is opened is closed, in order."""

    def __init__(self):
        super().__init__()
        self.open, self.faults = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID and (not self.open or self.open.pop() != tag):
            self.faults.append(tag)


def check_page(text: str) -> None:
    parser = Balance()
    parser.feed(text)
    assert (parser.open, parser.faults) == ([], [])
    assert text.startswith("<!DOCTYPE html>")
    assert 'name="viewport"' in text
    assert not re.search(r'(?:src|href)="(?!#|data:)', text.replace("xlink:href", "href")), "the page fetches something"
    assert "@import" not in text
    assert "url(http" not in text


def score(task, value, **other):
    base = {"language": "en", "split": "test", "protocol": "paper", "variant": "raw", "metric": "spearman", "n": 9}
    return {"task": task, "value": value, **base, **other}


@pytest.fixture
def run_folder(tmp_path: Path):
    def make(name: str, **record) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        steps = [{"step": n, "learning_rate": 1e-3, "loss_last": 7.0 - n, "dev": 0.1 * n} for n in (1, 2)]
        values = {"method": "defsent", "language": "en", "steps": steps, "dev_criterion": "MRR", **record}
        (folder / "record.json").write_text(json.dumps(values), "utf-8")
        return folder

    return make


SCORES = [
    score("STS12", 61.25, interval=[59.0, 63.5]),
    score("STS12", 60.0, variant="raw-unexposed"),
    score("Avg", None),
    score("JSTS", 70.5, language="ja", variant=""),
    score("mini-sts", 40.0, protocol="smoke", variant=""),
    score("words", 0.1234, metric="mrr", variant="entries", protocol="leave-one-out"),
    score("MR", 71.2, metric="accuracy", variant="senteval", protocol="senteval"),
]


def test_a_report_of_two_runs(run_folder, tmp_path):
    pytest.importorskip("matplotlib", reason="the `report` extra is not installed")
    runs = [run_folder("a<b", scores=SCORES), run_folder("two", scores=SCORES[:1])]
    write_report(runs, tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text("utf-8")
    check_page(text)
    assert text.count("<svg") == 2
    for expected in ("a&lt;b", "61.25<br><small>[59.00, 63.50]</small>", "mini-sts (smoke set)", "0.1234", "71.20"):
        assert expected in text
    assert "a&lt;b, without exposed pairs" in text
    assert "nan" not in re.sub(r"<svg.*?</svg>", "", text, flags=re.S).lower()


def test_the_same_runs_give_the_same_page(run_folder, tmp_path):
    pytest.importorskip("matplotlib", reason="the `report` extra is not installed")
    runs = [run_folder("one", scores=SCORES)]
    for name in ("a.html", "b.html"):
        write_report(runs, tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_markdown_and_latex_hold_the_tables(run_folder, tmp_path):
    runs = [run_folder("one", scores=SCORES)]
    write_report(runs, tmp_path / "r.md")
    write_report(runs, tmp_path / "r.tex")
    assert "| one | 61.25 [59.00, 63.50] | - |" in (tmp_path / "r.md").read_text("utf-8")
    assert r"one & 61.25 [59.00, 63.50] & - &" in (tmp_path / "r.tex").read_text("utf-8")


def test_a_run_without_scores_says_how_to_get_them(run_folder, tmp_path):
    pytest.importorskip("matplotlib", reason="the `report` extra is not installed")
    write_report([run_folder("bare", steps=[])], tmp_path / "r.html")
    assert "No scores yet" in (tmp_path / "r.html").read_text("utf-8")


def test_what_is_no_run_and_what_cannot_be_written(run_folder, tmp_path):
    with pytest.raises(TaskError, match=r"no record\.json"):
        write_report([tmp_path], tmp_path / "r.md")
    with pytest.raises(TaskError, match="cannot be written"):
        write_report([run_folder("one")], tmp_path / "nowhere" / "r.md")


def test_text_is_escaped_in_every_form():
    table = Table("50 % of a_b", ("x", "y"), (("<a&b>|c", "1\n[0, 2]"),))
    assert "&lt;a&amp;b&gt;|c" in to_html(table)
    assert "<br><small>[0, 2]</small>" in to_html(table)
    assert "<a&b>\\|c | 1 [0, 2] |" in to_markdown(table)
    assert r"\caption{50 \% of a\_b}" in to_latex(table)
    assert r"<a\&b>|c & 1 [0, 2] \\" in to_latex(table)


class Hashing:
    def __init__(self, seed):
        self.seed = seed

    def encode(self, texts, /):
        seeds = [self.seed + sum(map(ord, text)) for text in texts]
        return np.stack([np.random.default_rng(seed).normal(size=8) for seed in seeds])


def test_an_overlap_page(tmp_path):
    pytest.importorskip("matplotlib", reason="the `report` extra is not installed")
    corpus = [f"sentence number {i} about {i % 5} things" for i in range(80)]
    queries = draw_queries(80, queries=6, samples=2, seed=0)
    systems = [("tf<idf", Tfidf(), lambda *_: None), ("h1", Hashing(1), lambda *_: None), ("h2", Hashing(2), print)]
    result = study(systems, corpus, queries, ks=(3, 10), paraphrases=[("a thing", "things")])
    write_overlap(result, tmp_path / "o.html")
    text = (tmp_path / "o.html").read_text("utf-8")
    check_page(text)
    assert text.count("<svg") == 3
    assert "tf&lt;idf" in text
    assert "N2O, k = 10" in text
    write_overlap(result, tmp_path / "o.tex")
    assert r"\toprule" in (tmp_path / "o.tex").read_text("utf-8")


def test_seeds_stand_as_one_system_with_mean_and_deviation(run_folder, tmp_path):
    folders = [
        run_folder(f"s{seed}", seed=seed, settings={"seed": seed, "pst": 2}, scores=[score("STS-B", 70.0 + seed)])
        for seed in (1, 2, 4)
    ]
    folders.append(run_folder("other", seed=1, settings={"seed": 1, "pst": 3}, scores=[score("STS-B", 50.0)]))
    write_report(folders, tmp_path / "r.md")
    text = (tmp_path / "r.md").read_text("utf-8")
    assert "| s1, 3 seeds | - | - | - | - | - | 72.33 ± 1.53 | - | - |" in text
    assert "±: mean and standard deviation over seeds." in text
    assert text.count("3 seeds") == 1


def test_seeds_scored_on_other_items_have_no_mean(run_folder, tmp_path):
    folders = [run_folder(f"s{n}", seed=n, settings={"seed": n}, scores=[score("STS-B", 70.0, n=n)]) for n in (1, 2)]
    write_report(folders, tmp_path / "r.md")
    assert "2 seeds" not in (tmp_path / "r.md").read_text("utf-8")


def test_figures_without_annotated_data_say_what_they_mean(run_folder, tmp_path):
    found = score("glosses", 0.25, metric="top1", language="sl-en", variant="first definitions", chance=0.0005)
    folder = run_folder("one", scores=[found])
    for suffix in (".md", ".html", ".tex"):
        write_report([folder], tmp_path / f"r{suffix}")
        text = (tmp_path / f"r{suffix}").read_text("utf-8")
        assert "0.2500" in text
        assert "0.0005" in text
        assert "whether the two languages share one space" in text


def test_each_step_has_its_portrait(run_folder, tmp_path):
    pytest.importorskip("matplotlib", reason="the `report` extra is not installed")
    rows = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
    kept = [write_portrait(draw_portrait(rows * scale)) for scale in (1, np.arange(1, 6))]
    steps = [{"step": n, "dev": 0.1, "portrait": portrait} for n, portrait in enumerate(kept, 1)]
    write_report([run_folder("one", steps=steps)], tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text("utf-8")
    check_page(text)
    assert "one, step 1: first two singular directions" in text
    assert "one, step 2: first two principal axes, whitened" in text
    assert kept[0]["svd"] not in text
