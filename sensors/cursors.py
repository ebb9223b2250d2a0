"""Cursors of sensors: JSON with a version. A cursor of another version, or of nobody knows what, is begun anew."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

Place = Annotated[str, StringConstraints(max_length=400, pattern=r"^[!-~]*$")]
"""Where a listing goes on: a branch, with or without its repository. Longer or other text names none, and no listing
takes it."""
C = TypeVar("C", bound="Cursor")


class Cursor(BaseModel):
    """Base of all cursors: a kind of cursor sets its `version` to a literal, and gives every field a default.

    A cursor is kept anew with every tick: whatever grows in it has a bound.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    def text(self) -> str:
        """What Dagster keeps."""
        return self.model_dump_json()


def read(kind: type[C], text: str | None) -> C:
    """The cursor that a text says; a new one for no text, another version's or rubbish."""
    try:
        return kind.model_validate_json(text or "{}")
    except ValidationError:
        return kind()
