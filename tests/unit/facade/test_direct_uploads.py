"""Content that a program stores itself: at an address that was handed out, and of the size that it says."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import count
from uuid import uuid4

import pytest

from graveler_core.errors import InvalidInput, Kind, NotFound, OutcomeUnknown
from graveler_core.facade.branch import Branch
from graveler_core.model.entry import AddressType, Entry
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import World


@pytest.fixture
def branch() -> Branch:
    return World(name=f"direct-uploads-{uuid4().hex}").repository().branch("main")


def test_what_was_stored_at_the_address_is_staged(branch: Branch) -> None:
    begun = branch.begin_upload("a")
    assert begun.url is None
    assert begun.uri.endswith(begun.address)
    assert [*branch.uncommitted()] == []
    branch._stores.blobs.at(branch._record.storage_namespace).create(begun.address, b"bytes")
    linked = branch.link("a", Entry(address=begun.address, size=5, checksum="tag", content_type="text/csv"))
    assert branch.read("a") == b"bytes"
    assert (linked.checksum, linked.content_type, linked.size) == ("tag", "text/csv", 5)
    assert linked.mtime is not None
    assert branch.begin_upload("a").address != begun.address


def test_what_is_not_there_or_has_another_size_is_refused(branch: Branch) -> None:
    begun = branch.begin_upload("a")
    with pytest.raises(NotFound) as refused:
        branch.link("a", Entry(address=begun.address, size=5))
    assert refused.value.kind is Kind.ObjectNotFound
    branch._stores.blobs.at(branch._record.storage_namespace).create(begun.address, b"bytes")
    with pytest.raises(InvalidInput, match="the object has 5 bytes, and the request says 4"):
        branch.link("a", Entry(address=begun.address, size=4))
    assert [*branch.uncommitted()] == []


@pytest.mark.parametrize(
    "entry",
    [
        Entry(address="_graveler/staging/x"),
        Entry(address="data/../x"),
        Entry(address="data/short"),
        Entry(address=f"data/{'a' * 32}/x"),
        Entry(address=f"data/{'a' * 32}", address_type=AddressType.FULL),
        Entry(data=b"x", address_type=AddressType.INLINE),
    ],
)
def test_other_addresses_are_refused(branch: Branch, entry: Entry) -> None:
    with pytest.raises(InvalidInput, match="must be one that was handed out"):
        branch.link("a", replace(entry, size=1))


@pytest.mark.parametrize("if_absent", [False, True])
def test_content_is_not_staged_in_another_repository_with_the_name(if_absent: bool) -> None:
    """The repository is deleted and created again before each call of the flow in turn."""
    for call in count():
        world = World(name=f"direct-uploads-{uuid4().hex}")
        former = world.repository().branch("main")
        begun = former.begin_upload("a")
        world.blobs.at(world.namespace("repo")).create(begun.address, b"bytes")
        kv = Interposed(world.kv)
        branch = world.branch(kv)
        kv.reset()
        kv.before = {call: partial(_created_again, world)}
        outcome = None
        try:
            branch.link("a", Entry(address=begun.address, size=5), if_absent=if_absent)
        except (NotFound, OutcomeUnknown) as error:
            outcome = error
        if call >= len(kv.verbs):
            break
        assert [*world.branch().uncommitted()] == [], f"call {call}"
        assert outcome is not None, f"call {call}"


def _created_again(world: World) -> None:
    world.graveler().delete_repository("repo")
    world.graveler().create_repository("repo", world.namespace("other"), ephemeral=True)


def test_stores_that_sign_nothing_and_wrong_times_are_refused(branch: Branch) -> None:
    with pytest.raises(InvalidInput, match="presigned URLs exist only for"):
        branch.begin_upload("a", expires=60)
    for seconds in (0, 604_801, 1.5):
        with pytest.raises(InvalidInput, match="must be a whole number of seconds from 1 to 604,800"):
            branch.begin_upload("a", expires=seconds)  # type: ignore[arg-type]
