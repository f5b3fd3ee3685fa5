"""Reading speed of the Wiktionary adapter: MB of XML per CPU second, peak memory, workers, and the ratio to peers.

usage: python benchmarks/wiktionary_speed.py EXPORT [--megabytes 200] [--jobs 2] [--peers] [--folder DIR]
       python benchmarks/wiktionary_speed.py --hostile

EXPORT is a real export (.xml or .xml.bz2). Its pages are repeated with changed titles up to the size asked for, written
plain and as a multistream .bz2 of 100 pages a stream, and read without a store. Both readings of the file (templates,
pages) are counted. Peers are run on the same wikitext where they are installed: wiktextract, mwparserfromhell.
"""

from __future__ import annotations

import argparse
import bz2
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from dictsent.records import Entry
from dictsent_adapters.streams import open_plain
from dictsent_adapters.wiktionary import Wiktionary, extract
from dictsent_adapters.wiktionary.adapter import WiktionaryOptions
from dictsent_adapters.wiktionary.dump import page_elements, read_head

PAGES_A_STREAM = 100

HOSTILE: dict[str, Callable[[int], str]] = {
    "open braces": lambda n: "{{" * n,
    "closed braces": lambda n: "}}" * n,
    "brace runs": lambda n: "{" * n + "}" * n,
    "nested templates": lambda n: "{{a|" * n + "}}" * n,
    "nested parameters": lambda n: "{{{a|" * n + "}}}" * n,
    "nested links": lambda n: "[[" * n + "]]" * n,
    "crossed": lambda n: "{{[[" * n + "}}]]" * n,
    "files": lambda n: "[[File:a|[[b]]" * n,
    "arguments": lambda n: "{{lb|en" + "|a" * n + "}} x",
    "labels": lambda n: "{{lb|en|a}} " * n + "x",
    "italic brackets": lambda n: "(''a'') " * n,
    "quotes": lambda n: "''" * n,
    "references": lambda n: "<ref>" * n,
    "nowiki": lambda n: "<nowiki>" * n,
    "comments": lambda n: "<!--" * n,
    "spaces": lambda n: "a" + " " * n + "b",
    "heading spaces": lambda n: "a\n==" + " " * n + "x",
    "headings": lambda n: "a" + "\n== a " * n,
    "hashes": lambda n: "a\n" + "#" * n + " b",
    "list lines": lambda n: "a" + "\n# b" * n,
    "example lines": lambda n: "a" + "\n#: ''b'' — c" * n,
    "dashes": lambda n: "a\n#: ''" + "b'' — (" * n,
    "variants": lambda n: "-{" * n + "}-" * n,
    "example references": lambda n: "a" + "\n#: b <ref>c</ref>" * n,
    "open references": lambda n: "a" + "\n#: b <ref>c" * n,
    "languages": lambda n: "a" + "\n== a ==" * n,
    "broken lines": lambda n: "{{a\n" * n + "}}" * n,
}


def repeated(export: Path, megabytes: int) -> Iterator[bytes]:
    """The export's head, then its pages again and again under other titles, in streams, then its end."""
    with open_plain(export) as file:
        data = file.read()
    first = data.index(b"<page>")
    pages = [piece + b"</page>\n" for piece in data[first:].split(b"</page>")[:-1]]
    yield data[:first]
    size, round_number = 0, 0
    while size < megabytes * 1_000_000:
        for start in range(0, len(pages), PAGES_A_STREAM):
            mark = b"</title>" if not round_number else f" {round_number}</title>".encode()
            block = b"".join(page.replace(b"</title>", mark, 1) for page in pages[start : start + PAGES_A_STREAM])
            size += len(block)
            yield block
        round_number += 1
    yield b"</mediawiki>\n"


def build(export: Path, folder: Path, megabytes: int) -> tuple[Path, Path]:
    """The repeated export, plain and as a multistream bz2."""
    plain, packed = folder / "repeated.xml", folder / "repeated.xml.bz2"
    streams: dict[int, bytes] = {}
    with plain.open("wb") as text, packed.open("wb") as streamed:
        for block in repeated(export, megabytes):
            text.write(block)
            content = re.sub(rb" \d+</title>", b"</title>", block)
            key = hash(content)
            streams.setdefault(key, bz2.compress(content))
            streamed.write(streams[key])
    return plain, packed


def read_once(path: Path, jobs: int) -> tuple[float, float, int, int, float]:
    """CPU seconds (workers too), wall seconds, entries, definitions, peak MB of the largest process."""
    before = _cpu()
    start = time.perf_counter()
    entries = definitions = 0
    for record in Wiktionary(WiktionaryOptions(jobs=jobs)).read(str(path)):
        if isinstance(record, Entry):
            entries += 1
            definitions += len(record.definitions)
    wall = time.perf_counter() - start
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    return _cpu() - before, wall, entries, definitions, peak


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def measure(path: Path, size: int, jobs: int) -> None:
    """One reading in a fresh process, so that peak memory is its own."""
    command = [sys.executable, __file__, "--once", str(path), "--jobs", str(jobs), "--size", str(size)]
    subprocess.run(command, check=True)


def peers(export: Path) -> None:
    """MB of wikitext per CPU second, and the ratio to mwparserfromhell's strip_code and wiktextract's parse_page."""
    head = read_head(export)
    with open_plain(export) as file:
        data = file.read()
    pages = [p for p in page_elements(data[data.index(b"<page>") : data.rindex(b"</page>") + 7]) if isinstance(p, dict)]
    pages = [page for page in pages if page["ns"] in ("", "0")]

    def ours(page: dict[str, str]) -> None:
        extract(page["text"], title=page["title"], edition=head.edition)

    extract("", title="", edition=head.edition)
    for name, count, theirs in (
        ("mwparserfromhell strip_code", 200, _strip_code()),
        ("wiktextract parse_page, no templates", 60, _parse_page()),
    ):
        if isinstance(theirs, str):
            print(theirs)
            continue
        own, other = _rate(ours, pages[:count], rounds=5), _rate(theirs, pages[:count], rounds=1)
        print(
            f"extract, all languages {own:.1f} MB/s; {name} {other:.2f} MB/s; ratio {own / other:.0f}  n={count} pages"
        )


def _rate(read: Callable[[dict[str, str]], None], pages: list[dict[str, str]], *, rounds: int) -> float:
    """MB of wikitext per CPU second, the median of the rounds."""
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        for page in pages:
            read(page)
        seconds.append(time.process_time() - start)
    return sum(len(page["text"].encode()) for page in pages) / 1e6 / statistics.median(seconds)


def _strip_code() -> Callable[[dict[str, str]], None] | str:
    try:
        import mwparserfromhell
    except ImportError:
        return "mwparserfromhell is not installed"
    return lambda page: mwparserfromhell.parse(page["text"]).strip_code()


def _parse_page() -> Callable[[dict[str, str]], None] | str:
    try:
        from wikitextprocessor import Wtp
        from wiktextract import WiktionaryConfig, parse_page
    except (ImportError, LookupError) as error:  # it needs nltk's brown corpus as well
        return f"wiktextract cannot be run: {str(error).strip().splitlines()[0]}"
    context, config = Wtp(quiet=True), WiktionaryConfig(capture_languages=None)
    context.analyze_templates()
    return lambda page: parse_page(context, page["title"], page["text"], config)


def hostile_seconds(name: str, size: int) -> float:
    """CPU seconds for a page made to cost more than its length."""
    text = "==English==\n===Noun===\n# " + HOSTILE[name](size) + "\n# last\n"
    start = time.process_time()
    extract(text, title="x", edition="en")
    return time.process_time() - start


def hostile() -> None:
    """How the time grows from n to 4 n on such pages: linear is 4, quadratic 16."""
    extract("", title="x", edition="en")
    for name in HOSTILE:
        short, long = hostile_seconds(name, 20_000), hostile_seconds(name, 80_000)
        print(f"{name:18} {short:7.3f} s {long:7.3f} s  x{long / max(short, 1e-4):.1f}")


def main() -> None:
    """Read the arguments, build the files, measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("export", type=Path, nargs="?")
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--hostile", action="store_true")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--once", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        cpu, wall, entries, definitions, peak = read_once(options.once, options.jobs)
        speed = options.size / 1e6 / cpu
        print(
            f"{options.once.name:16} jobs {options.jobs}: {speed:5.1f} MB of XML per CPU second, {wall:.1f} s wall, "
            f"{entries:,} entries, {definitions:,} definitions, peak {peak:.0f} MB",
            flush=True,
        )
        return
    if options.hostile:
        hostile()
        return
    if options.export is None:
        parser.error("give an export")
    if options.peers:
        peers(options.export)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        plain, packed = build(options.export, Path(folder), options.megabytes)
        size = plain.stat().st_size
        print(f"{size / 1e6:.0f} MB of XML, {packed.stat().st_size / 1e6:.0f} MB as bz2")
        for path in (plain, packed):
            for jobs in sorted({1, options.jobs}):
                measure(path, size, jobs)


if __name__ == "__main__":
    main()
