"""Previews of contents: text, images, and the schema and first rows of Parquet files.

The kind of preview depends on the content, not on the content type that somebody has stored with it. Only the beginning
of the content is read, except from Parquet files, which a process of its own reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from graveler.server.web.table_process import table_of
from graveler_core.facade.content_file import ContentFile

TEXT_BYTES: Final = 64 << 10
"""Maximum number of bytes of a text that are shown."""
IMAGE_BYTES: Final = 16
"""Number of bytes at the beginning of a content by which an image is recognised."""
MAX_IMAGE_BYTES: Final = 20 << 20
MAX_FOOTER_BYTES: Final = 4 << 20
_PARQUET: Final = b"PAR1"
_IMAGES: Final = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


@dataclass(frozen=True, slots=True)
class Preview:
    """Preview of a content. The fields of other kinds are empty."""

    kind: str
    """`text`, `image`, `table` or `none`."""
    note: str = ""
    """Note on the preview: the part that is shown, or the reason why there is none."""
    text: str = ""
    schema: Sequence[Sequence[str]] = ()
    """Names and types of columns."""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


def preview_of(content: ContentFile) -> Preview:
    """Return a preview of a content."""
    beginning = content.read_range(0, min(content.size, TEXT_BYTES))
    if image_type(beginning):
        if content.size > MAX_IMAGE_BYTES:
            return Preview("none", f"the image has more than {MAX_IMAGE_BYTES >> 20} MiB")
        return Preview("image")
    if beginning.startswith(_PARQUET) and len(beginning) >= 8:  # shorter contents have no footer
        return _table(content)
    return _text(beginning, content.size)


def image_type(beginning: bytes) -> str | None:
    """Return the content type of an image that a page may show, or `None` for other contents."""
    if beginning[:4] == b"RIFF" and beginning[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for sign, kind in _IMAGES if beginning.startswith(sign)), None)


def _text(beginning: bytes, size: int) -> Preview:
    cut = size > len(beginning)
    try:
        text = beginning.decode()
    except UnicodeDecodeError as error:
        if not cut or error.start < len(beginning) - 3:
            return Preview("none", "there is no preview for contents of this kind")
        text = beginning[: error.start].decode()  # the cut is inside a character
    if "\0" in text:
        return Preview("none", "there is no preview for contents of this kind")
    return Preview("text", f"the first {TEXT_BYTES >> 10} KiB" if cut else "", text)


def _table(content: ContentFile) -> Preview:
    footer = int.from_bytes(content.read_range(content.size - 8, 4), "little")
    if footer > MAX_FOOTER_BYTES:
        return Preview("none", f"the footer has more than {MAX_FOOTER_BYTES >> 20} MiB")
    return Preview(**table_of(content))
