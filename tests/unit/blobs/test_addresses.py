"""Whatever text is given as an address: it is refused, or its object lies below the namespace and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.blobs.addresses import checked_address, checked_prefix, is_address
from graveler_core.blobs.open import open_blobs
from graveler_core.errors import InvalidInput, LimitExceeded
from graveler_core.model.address import full_address, namespace

PIECES = st.sampled_from(
    ["..", ".", "/", "//", "\\", "\0", "%2e", "%2f", "%5c", "%", "a", "repo", "repo2", "é", " ", "~", ":"]
)
TEXTS = st.one_of(st.text(max_size=30), st.lists(PIECES, max_size=8).map("".join))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A namespace with a sibling whose name begins like its own."""
    top = tmp_path_factory.mktemp("top")
    (top / "repo2").mkdir()
    (top / "repo2" / "secret").write_bytes(b"secret")
    (top / "repo").mkdir()
    return top


@pytest.mark.parametrize(
    ("address", "size", "limit"),
    [("x" * 256, 256, 255), ("é" * 128, 256, 255), ("x/" * 400 + "y", 801, 800), ("x" * 900, 900, 800)],
)
def test_an_address_that_is_too_long_is_refused_with_its_size(address: str, size: int, limit: int) -> None:
    with pytest.raises(LimitExceeded, match=f"has {size} bytes .* the maximum is {limit}") as caught:
        checked_address(address)
    assert caught.value.details == {"size": size, "limit": limit}


@given(address=TEXTS)
def test_nothing_leaves_a_local_namespace(place: Path, address: str) -> None:
    blobs = open_blobs((place / "repo").as_uri(), durable=False)
    try:
        blobs.create(address, b"content")
    except (InvalidInput, LimitExceeded):
        assert not is_address(address) or os.path.exists(place / "repo" / address.split("/", maxsplit=1)[0])
    else:
        assert blobs.read(address) == b"content"
        assert os.path.realpath(place / "repo" / address).startswith(f"{place.resolve()}/repo/")
        assert full_address(blobs.uri(address)) == blobs.uri(address)
    assert {p.relative_to(place).parts[0] for p in place.rglob("*")} == {"repo", "repo2"}
    assert [p.name for p in (place / "repo2").iterdir()] == ["secret"]


@given(prefix=TEXTS, after=TEXTS)
def test_no_listing_leaves_a_local_namespace(place: Path, prefix: str, after: str) -> None:
    blobs = open_blobs((place / "repo").as_uri(), durable=False)
    try:
        found = [info.address for info in blobs.list(prefix, after)]
    except (InvalidInput, LimitExceeded):
        return
    assert all(name.startswith(prefix) and name > after for name in found)
    below = {path.relative_to(place / "repo").as_posix() for path in (place / "repo").rglob("*") if path.is_file()}
    assert set(found) <= below


@given(address=TEXTS)
def test_an_accepted_address_is_kept_as_it_is(address: str) -> None:
    if is_address(address):
        assert checked_address(address) == address
        assert namespace(f"s3://bucket/{address.replace('#', '%23').replace('?', '%3F')}").path == address
        for end in range(len(address)):
            assert checked_prefix(address[:end]) == address[:end]


@pytest.mark.parametrize("address", [None, 7, b"a/b", ["a"]])
def test_refuses_what_is_no_text(address: object) -> None:
    with pytest.raises(InvalidInput, match="must be text"):
        checked_address(address)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="must be text"):
        checked_prefix(address)  # type: ignore[arg-type]
