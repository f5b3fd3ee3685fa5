"""`adapters`, `sources`, `show`, `stats`, `remove`: what there is.

Before: dictsent.store. After: a terminal.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from dictsent.cli.options import json_option, store_option
from dictsent.cli.show import emit, note, table
from dictsent.store import EntryView, Store


@click.command("adapters")
@json_option
def adapters_command(as_json: bool) -> None:
    """List the dictionary formats that can be read."""
    from dictsent.adapter import installed, option_fields

    found = installed()
    if as_json:
        rows = {n: {"summary": a.summary, "generic": a.generic, "prefix": a.prefix} for n, a in found.items()}
        emit({"adapters": rows})
        return
    table(
        ["adapter", "reads", "options"],
        [
            (n, a.summary, " ".join(f"--{f.metadata['name'] or f.name}" for f in option_fields(a)))
            for n, a in found.items()
        ],
        left=3,
    )


@click.command("sources")
@store_option
@json_option
def sources_command(store: Path, as_json: bool) -> None:
    """List the dictionaries in the store."""
    with Store(store) as opened:
        rows = opened.sources()
    if as_json:
        emit({"sources": [asdict(row) for row in rows]})
        return
    columns = [
        "source",
        "adapter",
        "language",
        "version",
        "licence",
        "entries",
        "definitions",
        "duplicates",
        "rejected",
    ]
    table(
        columns,
        [
            (r.name, r.adapter, r.language, r.version, r.licence, r.entries, r.definitions, r.duplicates, r.rejected)
            for r in rows
        ],
        left=5,
    )


@click.command("stats")
@store_option
@json_option
def stats_command(store: Path, as_json: bool) -> None:
    """Count entries and definitions by language and source, and what sources share."""
    from dictsent.languages import display_name

    with Store(store) as opened:
        languages, sources = opened.languages(), opened.sources()
        (by_language, by_source), shared = opened.median_lengths(), opened.overlaps()
    if as_json:
        keys = ("name", "adapter", "language", "entries", "definitions", "licence")
        emit(
            {
                "languages": {
                    tag: {**counts, "name": display_name(tag), "median_length": by_language[tag]}
                    for tag, counts in languages.items()
                },
                "sources": [
                    {**{key: getattr(row, key) for key in keys}, "median_length": by_source.get(row.id, 0)}
                    for row in sources
                ],
                "overlaps": [asdict(overlap) for overlap in shared],
            }
        )
        return
    table(
        ["language", "name", "entries", "definitions", "median characters"],
        [
            (tag, display_name(tag), f"{n['entries']:,}", f"{n['definitions']:,}", f"{by_language[tag]:g}")
            for tag, n in languages.items()
        ],
        left=2,
    )
    table(
        ["source", "entries", "definitions", "median characters"],
        [(r.name, f"{r.entries:,}", f"{r.definitions:,}", f"{by_source.get(r.id, 0):g}") for r in sources],
        left=1,
    )
    if shared:
        rows = [(*overlap.sources, f"{overlap.entries:,}", f"{overlap.definitions:,}") for overlap in shared]
        table(["source", "and", "entries in both", "definitions in both"], rows, left=2)


@click.command("show")
@click.argument("word")
@click.option("--lang", "language", default="", help="Only this language (tag or name).")
@store_option
@json_option
def show_command(word: str, language: str, store: Path, as_json: bool) -> None:
    """Show a word's definitions and where each was seen."""
    from dictsent.languages import find_language

    with Store(store) as opened:
        entries = opened.entries(word, language=find_language(language) if language else "")
    if as_json:
        emit({"entries": [asdict(entry) for entry in entries]})
    elif not entries:
        note(f"No entry for {word!r}.")
    for entry in entries if not as_json else []:
        _show_entry(entry)
    if not entries:
        raise click.exceptions.Exit(1)


def _show_entry(entry: EntryView) -> None:
    others = f"  (also {', '.join(entry.spellings)})" if entry.spellings else ""
    click.echo(f"{entry.headword} [{entry.language}]{others}")
    for number, sense in enumerate(entry.senses, 1):
        language = f" [{sense.language}]" if sense.language != entry.language else ""
        labels = "".join(f"({label}) " for label in sense.seen[0].labels)
        click.echo(f"  {number}. {labels}{sense.text}{language}")
        for seen in sense.seen:
            facts = [seen.source, seen.tag, seen.part_of_speech, seen.sense, seen.ili]
            if seen.definition_tag:
                facts.append(f"written in {seen.definition_tag}")
            if seen.form_of:
                facts.append(f"form of {seen.form_of}")
            click.echo(f"       {' · '.join(fact for fact in facts if fact)}")
        for example in dict.fromkeys(e for seen in sense.seen for e in seen.examples):
            click.echo(f"       “{example.text}”" + (f" {example.translation}" if example.translation else ""))


@click.command("remove")
@click.argument("source")
@store_option
@json_option
def remove_command(source: str, store: Path, as_json: bool) -> None:
    """Take a source out of the store; what other sources also say stays."""
    with Store(store) as opened:
        row = opened.remove(source)
        languages = opened.languages()
    if as_json:
        emit({"removed": asdict(row), "languages": languages})
    else:
        note(f"Removed {row.name}: it attested {row.definitions:,} definitions of {row.entries:,} entries.")
