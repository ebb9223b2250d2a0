"""Credentials: shown once, hashed, listed; and nothing of a secret anywhere else."""

from __future__ import annotations

import base64
import logging
import pickle
import re
import traceback

import pytest
from pydantic import SecretStr

from graveler_core.errors import CorruptData, InvalidInput, Kind, NotFound, OutcomeUnknown, PermissionDenied
from graveler_core.facade.access import Access
from graveler_core.iam import hashing
from graveler_core.iam.principal import authenticate
from graveler_core.model.iam import NewCredential
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.world import World

CANARY = "canary-of-a-secret"


@pytest.fixture
def ada(iam: Access) -> NewCredential:
    iam.create_user("ada")
    return iam.create_credential("ada")


def works(world: World, made: NewCredential) -> bool:
    try:
        return authenticate(world.kv, world.clock, made.access_key_id, made.secret).user == made.user
    except PermissionDenied:
        return False


def test_each_is_its_own(world: World, iam: Access, ada: NewCredential) -> None:
    second = iam.create_credential("ada")
    assert second.secret != ada.secret
    assert len(base64.b64decode(ada.secret.get_secret_value())) == 30
    assert re.fullmatch("AKIAJ[0-9A-Z]{14}Q", ada.access_key_id)
    assert second.access_key_id != ada.access_key_id
    assert [each.access_key_id for each in iam.credentials("ada")] == sorted([ada.access_key_id, second.access_key_id])
    iam.delete_credential("ada", ada.access_key_id)
    assert [works(world, made) for made in (ada, second)] == [False, True]
    assert [each.access_key_id for each in iam.credentials("ada")] == [second.access_key_id]


def test_what_is_not_there(iam: Access, ada: NewCredential) -> None:
    iam.create_user("bob")
    with pytest.raises(NotFound) as caught:
        iam.create_credential("eve")
    assert caught.value.kind is Kind.UserNotFound
    for user in ("bob", "eve"):
        with pytest.raises(NotFound) as caught:
            iam.delete_credential(user, ada.access_key_id)
        assert caught.value.kind is Kind.CredentialNotFound
    with pytest.raises(NotFound):
        list(iam.credentials("eve"))
    for bad in ("", "x", "0" * 31, "0" * 33, "../" * 8, "\ud800"):
        with pytest.raises(InvalidInput, match="access key"):
            iam.delete_credential("ada", bad)
    assert len(list(iam.credentials("ada"))) == 1


def test_a_creation_that_dies_leaves_nothing_that_is_shown() -> None:
    for number in range(20):
        world = World()
        iam = world.graveler().iam
        iam.create_user("ada")
        kv = Interposed(world.kv)
        kv.fail[number] = Crash()
        try:
            made = world.graveler(kv).iam.create_credential("ada")
        except Crash:
            # Once its own record stands it is a credential, though nobody has seen the secret; and it can be deleted.
            shown = [each.access_key_id for each in iam.credentials("ada")]
            assert len(shown) == (kv.verbs[:number].count("set_if") == 2)
            for access_key in shown:
                iam.delete_credential("ada", access_key)
        else:
            assert works(world, made)
            break
        iam.delete_user("ada")
        assert list(world.kv.scan(b"graveler_iam")) == []
    assert number == 4


def test_a_deletion_that_dies_can_be_ended(world: World, iam: Access, ada: NewCredential, kv: Interposed) -> None:
    kv.fail[4] = Crash()
    with pytest.raises(Crash):
        world.graveler(kv).iam.delete_credential("ada", ada.access_key_id)
    assert not works(world, ada)
    assert list(iam.credentials("ada")) == []
    iam.delete_credential("ada", ada.access_key_id)
    assert list(world.kv.scan(b"graveler_iam", prefix=b"user_credentials/")) == []


def test_a_lost_answer_is_told(world: World, iam: Access, kv: Interposed) -> None:
    iam.create_user("ada")
    kv.lose[2] = False
    with pytest.raises(OutcomeUnknown):
        world.graveler(kv).iam.create_credential("ada")
    assert list(iam.credentials("ada")) == []


def test_no_secret_is_kept(world: World, ada: NewCredential) -> None:
    secret = ada.secret.get_secret_value().encode()
    assert not any(secret in row.value + row.key for row in world.kv.scan(b"graveler_iam"))
    (row,) = world.kv.scan(b"graveler_iam", prefix=b"credentials/")
    assert b"$argon2id$" in row.value


def test_nothing_shows_a_secret(
    world: World, iam: Access, ada: NewCredential, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Not what is created, nor who authenticated, nor an error with its traceback, nor a log."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(hashing, "draw", lambda: SecretStr(CANARY))
    made = iam.create_credential("ada")
    principal = authenticate(world.kv, world.clock, made.access_key_id, made.secret)
    with pytest.raises(PermissionDenied) as caught:
        authenticate(world.kv, world.clock, ada.access_key_id, CANARY)
    error = caught.value
    told = [repr(made), str(made), repr(principal), repr(error), str(error.details), caplog.text]
    told += traceback.format_exception(error)
    told.append(repr(pickle.loads(pickle.dumps(error))))
    assert CANARY not in "".join(told)
    (stored,) = {
        row.value for row in world.kv.scan(b"graveler_iam", prefix=f"credentials/{made.access_key_id}".encode())
    }
    assert CANARY.encode() not in stored


class TestHashing:
    def test_a_secret_fits_its_hash_alone(self) -> None:
        secret = hashing.draw()
        kept = hashing.hashed(secret)
        assert hashing.matches(kept, secret)
        assert not hashing.matches(kept, SecretStr(secret.get_secret_value() + "x"))
        assert hashing.hashed(secret) != kept

    def test_the_hash_of_nobody_is_as_much_work_as_any(self) -> None:
        from argon2 import PasswordHasher

        assert not PasswordHasher().check_needs_rehash(hashing.NOBODYS)
        assert not hashing.matches(hashing.NOBODYS, SecretStr(""))

    @pytest.mark.parametrize("secret", ["", "\ud800", "x" * 10_000, "\0"])
    def test_any_text_may_be_tried(self, secret: str) -> None:
        assert not hashing.matches(hashing.hashed(hashing.draw()), SecretStr(secret))

    def test_a_damaged_hash_is_told(self) -> None:
        with pytest.raises(CorruptData, match="credential"):
            hashing.matches("$argon2id$what", SecretStr(CANARY))
