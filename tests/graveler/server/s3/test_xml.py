"""Documents of requests."""

from __future__ import annotations

import pytest

from graveler.server.s3.refusals import S3Refusal
from graveler.server.s3.xml import MAX_DEPTH, XmlElement, _Builder, parse


class Joined(str):
    """Text that counts how often it is added to other text."""

    times = 0
    __slots__ = ()

    def __radd__(self, other: str) -> str:
        Joined.times += 1
        return other + str(self)


def test_text_between_elements_is_joined_once() -> None:
    assert parse(b"<a>x<b>y</b>z&amp;<b/></a>", "a") == XmlElement(
        "a", [XmlElement("b", [], "y"), XmlElement("b")], "xz&"
    )
    builder = _Builder()
    builder.start("a", {})
    for _ in range(3):
        builder.text(Joined("text"))
    builder.end("a")
    assert builder.root == XmlElement("a", [], "texttexttext")
    assert Joined.times == 0


@pytest.mark.parametrize(
    "content",
    [b"", b"<a>", b"<b/>", b"<!DOCTYPE a><a/>", b"<a>" * (MAX_DEPTH + 1) + b"</a>" * (MAX_DEPTH + 1), b"<a>\xff</a>"],
)
def test_other_documents_are_refused(content: bytes) -> None:
    with pytest.raises(S3Refusal):
        parse(content, "a")
