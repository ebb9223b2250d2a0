"""Tests of access control on real stores, with several connections at once, on SQLite and on PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import graveler_core as graveler
from graveler_core import Credentials
from graveler_core.errors import GravelerError, NotFound, NotUnique, PermissionDenied
from graveler_core.iam.credentials import NewCredential
from graveler_core.records import access, iam_layout
from tests.cheap_hashes import cheap_hashes

__all__ = ["cheap_hashes"]

AT_ONCE = 4
READS = {"effect": "allow", "actions": ["fs:Read*", "fs:List*"], "resources": ["*"]}
FOLDERS = (
    iam_layout.USERS,
    iam_layout.MEMBERSHIPS,
    iam_layout.USER_POLICIES,
    iam_layout.CREDENTIALS,
    iam_layout.USER_CREDENTIALS,
)


def shown(made: NewCredential) -> Credentials:
    return Credentials(access_key_id=made.access_key_id, secret_access_key=made.secret)


@pytest.fixture
def admin(target: str) -> Credentials:
    """The administrator of a store where access control was just set up."""
    with graveler.connect(target) as g:
        return shown(g.iam.set_up("ada"))


@pytest.fixture
def connections(target: str, admin: Credentials) -> Iterator[list[graveler.Graveler]]:
    """Some of the administrator's, each as of a process of its own."""
    opened = [graveler.connect(target, credentials=admin) for _ in range(AT_ONCE)]
    yield opened
    for g in opened:
        g.close()


def at_once(
    connections: list[graveler.Graveler], work: Callable[[graveler.Graveler], object]
) -> tuple[list[object], list[GravelerError]]:
    """What each connection got, all of them having begun together; and what the others were told."""
    gate, answers, errors = threading.Barrier(len(connections)), list[object](), list[GravelerError]()

    def call(g: graveler.Graveler) -> None:
        gate.wait()
        try:
            answers.append(work(g))
        except GravelerError as e:
            errors.append(e)

    with ThreadPoolExecutor(len(connections)) as pool:
        list(pool.map(call, connections))
    return answers, errors


def left(g: graveler.Graveler, user: str) -> list[str]:
    """The keys that name a user."""
    kv = g._stores.kv
    keys = (name for folder in FOLDERS for name, _ in access.scan(kv, folder))
    return [name for name in keys if user in name.split("/")]


def test_a_user_may_what_was_allowed_until_it_is_deleted(target: str, admin: Credentials, tmp_path: Path) -> None:
    with graveler.connect(target, credentials=admin) as g:
        g.create_repository("lake", (tmp_path / "lake").as_uri())
        g.repository("lake").branch("main").put("a", b"0")
        g.iam.create_user("eve")
        g.iam.create_policy("Reads", [READS])
        g.iam.attach_policy("Reads", user="eve")
        credential = shown(g.iam.create_credential("eve"))
        with graveler.connect(target, credentials=credential) as hers:
            main = hers.repository("lake").branch("main")
            assert main.get("a") == g.repository("lake").branch("main").get("a") is not None
            with pytest.raises(PermissionDenied, match="fs:WriteObject"):
                main.put("a", b"1")
        g.iam.delete_user("eve")
        assert left(g, "eve") == []
        with pytest.raises(PermissionDenied):
            graveler.connect(target, credentials=credential)
        g.iam.create_user("eve")
        with pytest.raises(PermissionDenied):  # of the same name, and somebody else
            graveler.connect(target, credentials=credential)
    with pytest.raises(PermissionDenied):
        graveler.connect(target)


def test_one_of_those_that_create_the_same_user_does(connections: list[graveler.Graveler]) -> None:
    for name in ("eve", "bob", "kim"):
        made, refused = at_once(connections, lambda g, name=name: g.iam.create_user(name))  # type: ignore[misc]
        assert (len(made), {type(e) for e in refused}) == (1, {NotUnique})


def test_who_is_deleted_while_much_is_given_to_them_keeps_nothing(connections: list[graveler.Graveler]) -> None:
    first, *_ = connections
    first.iam.create_policy("Reads", [READS])

    def give_or_take(g: graveler.Graveler) -> object:
        match connections.index(g):
            case 0:
                return g.iam.add_member("Viewers", "eve")
            case 1:
                return g.iam.attach_policy("Reads", user="eve")
            case 2:
                return g.iam.create_credential("eve")
        return g.iam.delete_user("eve")

    for _ in range(5):
        first.iam.create_user("eve")
        _, refused = at_once(connections, give_or_take)
        assert all(isinstance(e, NotFound) for e in refused), refused
        with pytest.raises(NotFound):
            first.iam.user("eve")
        first.iam.create_user("eve")
        assert list(first.iam.groups_of("eve")) == []
        assert list(first.iam.policies_of(user="eve")) == []
        assert list(first.iam.credentials("eve")) == []
        first.iam.delete_user("eve")
        assert left(first, "eve") == []
