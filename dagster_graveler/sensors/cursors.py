"""Cursors of sensors: JSON with a version. A cursor with an unknown version or content is replaced by a new one."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

Place = Annotated[str, StringConstraints(max_length=400, pattern=r"^[!-~]*$")]
"""Position of a listing: a branch, with or without its repository. Longer or other text is not a valid position."""
C = TypeVar("C", bound="Cursor")


class Cursor(BaseModel):
    """Base class of cursors. Each kind sets `version` to a literal and gives every field a default.

    A cursor is stored with every tick, so all its fields must be bounded.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    def text(self) -> str:
        """Return the text that Dagster stores."""
        return self.model_dump_json()


def read(kind: type[C], text: str | None) -> C:
    """Parse a cursor. Return a new one for an empty text, another version, or invalid content."""
    try:
        return kind.model_validate_json(text or "{}")
    except ValidationError:
        return kind()
