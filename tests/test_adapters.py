"""Every adapter on its samples: tests/adapters/NAME/sample* against expected*.jsonl, whole outputs (golden.py)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from golden import SAMPLES, expectation, reader, reading, samples, source

from dictsent.adapter import identify, installed
from dictsent.languages import standard_tag
from dictsent.records import Entry


def label(sample: Path) -> str:
    return str(sample.relative_to(SAMPLES))


@pytest.mark.parametrize("sample", samples(), ids=label)
def test_sample_is_read_as_expected(sample: Path) -> None:
    expected = [json.loads(line) for line in expectation(sample).read_text(encoding="utf-8").splitlines()]
    assert list(reading(sample)) == expected


@pytest.mark.parametrize("sample", samples(), ids=label)
def test_sample_is_claimed_by_its_adapter_alone(sample: Path) -> None:
    adapters = installed()
    path = source(sample)
    assert identify(str(path), adapters).name == sample.parent.name
    claims = {name for name, adapter in adapters.items() if adapter().matches(path)}
    specific = {name for name in claims if not adapters[name].generic}
    assert specific <= {sample.parent.name}
    assert len(claims - specific) <= 1
    assert path in reader(sample).files(path) or path.is_dir()


@pytest.mark.parametrize("sample", samples(), ids=label)
def test_every_language_is_a_tag_and_no_text_has_markup(sample: Path) -> None:
    for entry in reader(sample).read(str(source(sample))):
        if isinstance(entry, Entry):
            for text in (entry.headword, *(d.text for d in entry.definitions)):
                assert text == text.strip()
                assert not {"<b>", "<i>", "[[", "&amp;", "&quot;"} & set(text.split())
            for tag in (entry.language, *(d.language for d in entry.definitions)):
                assert standard_tag(tag)


def test_every_folder_of_samples_says_where_they_are_from() -> None:
    folders = {sample.parent for sample in samples()}
    assert folders
    assert [f.name for f in folders if not (f / "SOURCE.md").read_text(encoding="utf-8").strip()] == []


def test_every_installed_adapter_has_a_sample_and_a_line_in_the_readme() -> None:
    readme = (Path(__file__).parent.parent / "adapters" / "README.md").read_text(encoding="utf-8")
    built_in = {n for n, a in installed().items() if a.__module__.startswith("dictsent_adapters")}
    assert built_in <= {sample.parent.name for sample in samples()}
    assert {name for name in built_in if f"`{name}`" not in readme} == set()
