"""Documents of S3: writing them, and reading those of requests.

The documents of requests are not trusted, so document types are refused, and with them all entities: entities can make
a small document huge, or read files. Depth and size are limited.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from xml.parsers.expat import ExpatError, ParserCreate
from xml.sax.saxutils import escape

from graveler.server.s3.refusals import malformed

NAMESPACE: Final = "http://s3.amazonaws.com/doc/2006-03-01/"
DECLARATION: Final = b'<?xml version="1.0" encoding="UTF-8"?>\n'
"""Beginning of each document."""
MAX_DEPTH: Final = 8
MAX_ELEMENTS: Final = 50_000
_NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
Content: TypeAlias = "str | int | bool | Sequence[tuple[str, Content]]"


def document(root: str, content: Content, *, namespace: bool = True) -> bytes:
    """Return a document.

    Args:
        root: Name of the root element.
        content: Text, or child elements as pairs of a name and a content.
        namespace: Declare the namespace of S3.
    """
    attribute = f' xmlns="{NAMESPACE}"' if namespace else ""
    return DECLARATION + f"<{root}{attribute}>{_inner(content)}</{root}>".encode()


def _inner(content: Content) -> str:
    if isinstance(content, bool):
        return "true" if content else "false"
    if isinstance(content, str | int):
        return escape(_NOT_IN_XML.sub("\ufffd", str(content)), {"\r": "&#13;", '"': "&quot;"})
    return "".join(f"<{name}>{_inner(inner)}</{name}>" for name, inner in content)


@dataclass(slots=True)
class XmlElement:
    """Element of a document of a request. Names have no namespace."""

    name: str
    children: list[XmlElement] = field(default_factory=list)
    text: str = ""

    def all(self, name: str) -> list[XmlElement]:
        """Return the children with a name."""
        return [child for child in self.children if child.name == name]

    def value(self, name: str) -> str:
        """Return the text of the only child with a name.

        Raises:
            S3Refusal: There is none, or several.
        """
        found = self.all(name)
        if len(found) != 1:
            raise malformed(f"<{self.name}> must have one <{name}>")
        return found[0].text


def parse(content: bytes, root: str) -> XmlElement:
    """Parse a document of a request.

    Args:
        content: The document.
        root: Name that the root element must have.

    Raises:
        S3Refusal: The document is not well formed, has a document type, is too deep or too large, or has another root.
    """
    builder = _Builder()
    parser = ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    parser.StartDoctypeDeclHandler = builder.refuse
    parser.EntityDeclHandler = builder.refuse
    parser.buffer_text = True
    try:
        parser.Parse(content, True)
    except (ExpatError, ValueError, LookupError) as e:
        raise malformed("must be well-formed XML") from e
    found = builder.root
    if found is None or found.name != root:
        raise malformed(f"the root element must be <{root}>")
    return found


class _Builder:
    """Handlers that build the tree of a document."""

    def __init__(self) -> None:
        self.root: XmlElement | None = None
        self._open: list[XmlElement] = []
        self._texts: list[list[str]] = []
        """Parts of the text of each open element."""
        self._count = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if len(self._open) >= MAX_DEPTH or self._count > MAX_ELEMENTS:
            raise malformed("has too many elements")
        made = XmlElement(name.rpartition(" ")[2])
        if self._open:
            self._open[-1].children.append(made)
        else:
            self.root = made
        self._open.append(made)
        self._texts.append([])

    def end(self, name: str) -> None:
        self._open.pop().text = "".join(self._texts.pop())

    def text(self, text: str) -> None:
        self._texts[-1].append(text)

    def refuse(self, *_: object) -> None:
        raise malformed("must not have a document type or entities")
