"""Addresses of many objects at once: as the model spells each of them."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.codec.entry import normalise
from graveler_core.codec.full_addresses import full_addresses
from graveler_core.errors import InvalidInput
from graveler_core.model.address import Namespace, full_address, parted

SEGMENTS = st.text(st.characters(exclude_characters="/\\\0", exclude_categories=["Cs"]), min_size=1).filter(
    lambda segment: segment not in (".", "..")
)
KEYS = st.lists(SEGMENTS, min_size=1, max_size=4).map("/".join)
PLACES = st.sampled_from([Namespace("s3", "bucket", ""), Namespace("gs", "b", "a b/ä"), Namespace("file", "", "x/y=1")])


@given(PLACES, st.lists(KEYS))
def test_each_is_spelled_as_the_model_spells_it(place: Namespace, keys: list[str]) -> None:
    made = full_addresses(place, pa.array(keys, pa.string())).to_pylist()
    below = f"{place.path}/" if place.path else ""
    assert made == [replace(place, path=below + key).uri for key in keys]
    assert made == [full_address(address) for address in made]


@given(PLACES, KEYS)
def test_an_address_leads_back_to_the_object(place: Namespace, key: str) -> None:
    (address,) = full_addresses(place, pa.array([key])).to_pylist()
    where, name = parted(address)
    assert f"{where.path}/{name}".lstrip("/") == f"{place.path}/{key}".lstrip("/")
    assert (where.scheme, where.bucket) == (place.scheme, place.bucket)
    assert "/" not in name or place.scheme != "file"


@given(PLACES, st.lists(KEYS, min_size=1, unique=True))
def test_no_table_changes_them(place: Namespace, keys: list[str]) -> None:
    made = full_addresses(place, pa.array(keys, pa.string()))
    table = pa.table({"key": [f"{n:04}" for n in range(len(keys))], "address": made, "address_type": [2] * len(keys)})
    assert normalise(table).column("address").to_pylist() == made.to_pylist()


@pytest.mark.parametrize("escape", ["%2F", "%5C", "%2e%2e", "%41", "%3d", "%2E"])
def test_an_escape_that_is_not_its_one_spelling_is_respelled_or_refused(escape: str) -> None:
    table = pa.table({"key": ["k"], "address": [f"s3://bucket/a{escape}b"], "address_type": [2]})
    try:
        (address,) = normalise(table).column("address").to_pylist()
    except InvalidInput:
        with pytest.raises(InvalidInput):
            full_address(f"s3://bucket/a{escape}b")
    else:
        assert address == full_address(f"s3://bucket/a{escape}b") != f"s3://bucket/a{escape}b"
