"""Bytes of records: what could not be read back is not written."""

from __future__ import annotations

import pytest

from graveler_core.codec.records import decode, encode
from graveler_core.errors import InvalidInput
from graveler_core.model.entities import Tag
from graveler_core.model.ids import CommitId, TagId

TAG = Tag(id=TagId("v1"), commit_id=CommitId("0" * 64), message="first")


def test_what_is_written_is_read_back() -> None:
    assert decode(Tag, encode(TAG), "tag") == TAG


@pytest.mark.parametrize("message", [5, b"first", ["first"], object(), "\ud800"])
def test_a_field_that_could_not_be_read_back_is_refused(message: object) -> None:
    """A copy takes any value for its fields, unchecked."""
    with pytest.raises(InvalidInput, match="Tag: a field has the wrong type or is not valid Unicode"):
        encode(TAG.model_copy(update={"message": message}))
