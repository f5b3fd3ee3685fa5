"""XML dictionaries as a stream of elements, with no way out of the file: no network, no DTD, no external entity.

Before: streams.py opens the file. After: tei.py and jmdict.py make entries of the elements.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from lxml import etree

from dictsent.adapter import Reading
from dictsent.errors import SourceError
from dictsent_adapters.streams import count_done, damage_as_source_error, open_plain

XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
XML_ID = "{http://www.w3.org/XML/1998/namespace}id"


def iterate_elements(path: Path, names: Collection[str], reading: Reading) -> Iterator[Any]:
    """Every element of one of these local names, in any namespace, complete; it is emptied after its turn.

    An element within another of them comes with the outer one only. Entities declared in the file are resolved within
    the XML library's bounds.

    Raises:
        SourceError: not well-formed, truncated, an external entity, or entities that grow beyond all bounds.
    """
    reading.total = path.stat().st_size
    tags = [f"{{*}}{name}" for name in names]
    depth = 0
    with damage_as_source_error(path), open_plain(path) as stream:
        options: dict[str, Any] = {"resolve_entities": "internal"}
        events = etree.iterparse(stream, events=("start", "end"), tag=tags, no_network=True, load_dtd=False, **options)
        try:
            for event, element in events:
                depth += 1 if event == "start" else -1
                if depth:
                    continue
                count_done(stream, reading)
                yield element
                element.clear()
                while element.getprevious() is not None:
                    del element.getparent()[0]
        except etree.XMLSyntaxError as error:
            raise SourceError(f"no well-formed XML: {error.msg}", where=str(path), hint="get the file again") from error
        reading.done = reading.total


def local_name(element: Any) -> str:
    """The element's name without its namespace; "" for comments and processing instructions."""
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def children(element: Any, *names: str) -> list[Any]:
    """The direct children of these local names, in order."""
    return [child for child in element if local_name(child) in names]


def plain_text(element: Any, leave_out: Collection[str] = ()) -> str:
    """All text within the element, white space folded, without comments and the elements to leave out."""
    return " ".join("".join(_texts(element, leave_out)).split())


def _texts(element: Any, leave_out: Collection[str]) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        name = local_name(child)
        if name and name not in leave_out:
            yield from _texts(child, leave_out)
        yield child.tail or ""
