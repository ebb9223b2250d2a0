"""Secrets that are kept, encrypted: by whom they can be read, and that they leave with their credential."""

from __future__ import annotations

import pickle

import pytest

from graveler_core.errors import CorruptData, InvalidInput, Kind, PermissionDenied
from graveler_core.facade.access import Access
from graveler_core.iam.sealing import signing_user
from graveler_core.kv.backends.memory import MemoryStore
from graveler_core.model.iam import NewCredential
from graveler_core.model.secrets_keys import SecretsKeys
from graveler_core.records import access
from graveler_core.records import iam_layout as keys
from tests.unit.engine.world import World


@pytest.fixture
def sealing() -> SecretsKeys:
    return SecretsKeys(SecretsKeys.new())


@pytest.fixture
def iam(world: World) -> Access:
    iam = world.graveler().iam
    iam.create_user("ada")
    return iam


def rows(world: World) -> bytes:
    assert isinstance(world.kv, MemoryStore)
    return b"".join(row.value for p in world.kv._memory.partitions for row in world.kv.scan(p))


def test_a_kept_secret_is_recovered_with_the_key_and_never_stored_in_clear(
    world: World, iam: Access, sealing: SecretsKeys
) -> None:
    made = iam.create_credential("ada", secrets_keys=sealing)
    principal, secret = signing_user(world.kv, world.clock, sealing, made.access_key_id)
    assert principal.user == "ada"
    assert secret == made.secret
    assert made.secret.get_secret_value().encode() not in rows(world)
    assert made.secret.get_secret_value() not in repr((principal, sealing, made))


def test_access_keys_without_a_kept_secret_say_what_helps(world: World, iam: Access, sealing: SecretsKeys) -> None:
    hashed, kept = iam.create_credential("ada"), iam.create_credential("ada", secrets_keys=sealing)
    with pytest.raises(PermissionDenied, match="iam credential create --s3") as caught:
        signing_user(world.kv, world.clock, sealing, hashed.access_key_id)
    assert caught.value.kind is Kind.SecretNotKept
    with pytest.raises(PermissionDenied, match="start it with this key") as caught:
        signing_user(world.kv, world.clock, SecretsKeys(SecretsKeys.new()), kept.access_key_id)
    assert caught.value.kind is Kind.SecretNotKept
    key_id = caught.value.details["key_id"]
    assert isinstance(key_id, str)
    assert sealing.key(key_id) is not None
    assert key_id not in caught.value.message  # clients see it before their signature is verified


@pytest.mark.parametrize("name", ["0" * 32, "nothing", ""])
def test_unknown_access_keys_are_refused(world: World, sealing: SecretsKeys, name: str) -> None:
    with pytest.raises(PermissionDenied) as caught:
        signing_user(world.kv, world.clock, sealing, name)
    assert caught.value.kind is Kind.InvalidCredentials


def test_a_secret_leaves_with_its_credential_and_with_its_user(world: World, iam: Access, sealing: SecretsKeys) -> None:
    first, second = (iam.create_credential("ada", secrets_keys=sealing) for _ in range(2))
    iam.delete_credential("ada", first.access_key_id)
    assert [name for name, _ in access.scan(world.kv, keys.SEALED_SECRETS)] == [second.access_key_id]
    iam.delete_user("ada")
    assert not [*access.scan(world.kv, keys.SEALED_SECRETS)]
    with pytest.raises(PermissionDenied):
        signing_user(world.kv, world.clock, sealing, second.access_key_id)


def test_a_secret_cannot_be_moved_to_another_credential(world: World, iam: Access, sealing: SecretsKeys) -> None:
    iam.create_user("eve")
    his, hers = (iam.create_credential(name, secrets_keys=sealing) for name in ("eve", "ada"))
    stolen = access.read(world.kv, keys.sealed_secret(his.access_key_id))
    target = access.read(world.kv, keys.sealed_secret(hers.access_key_id))
    assert stolen
    assert target
    forged = target.value.model_copy(update={"sealed": stolen.value.sealed})
    access.write(world.kv, keys.sealed_secret(hers.access_key_id), forged)
    with pytest.raises(CorruptData, match="damaged"):
        signing_user(world.kv, world.clock, sealing, hers.access_key_id)


@pytest.mark.parametrize("renamed", [False, True])
def test_a_secret_cannot_be_moved_to_another_credential_of_the_user(
    world: World, iam: Access, sealing: SecretsKeys, renamed: bool
) -> None:
    first, second = (iam.create_credential("ada", secrets_keys=sealing) for _ in range(2))
    moved = access.read(world.kv, keys.sealed_secret(first.access_key_id))
    assert moved
    record = moved.value.model_copy(update={"access_key_id": second.access_key_id} if renamed else {})
    access.write(world.kv, keys.sealed_secret(second.access_key_id), record)
    with pytest.raises(CorruptData, match=f"{second.access_key_id} is damaged"):
        signing_user(world.kv, world.clock, sealing, second.access_key_id)


def test_a_key_is_replaced_in_three_steps(world: World, iam: Access) -> None:
    old, new = SecretsKeys.new(), SecretsKeys.new()
    made = [iam.create_credential("ada", secrets_keys=SecretsKeys(old)) for _ in range(3)]
    both = SecretsKeys(f"{new.get_secret_value()}\n{old.get_secret_value()}\n")
    newest = iam.create_credential("ada", secrets_keys=both)
    done = iam.reseal_secrets(both)
    assert (done.resealed, done.current, done.unreadable) == (3, 1, 0)
    for each in (*made, newest):
        assert signing_user(world.kv, world.clock, SecretsKeys(new), each.access_key_id)[1] == each.secret
    done = iam.reseal_secrets(SecretsKeys(old))
    assert (done.resealed, done.current, done.unreadable) == (0, 0, 4)


def test_a_damaged_secret_does_not_stop_a_rotation(world: World, iam: Access) -> None:
    old, new = SecretsKeys.new(), SecretsKeys.new()
    made = sorted((iam.create_credential("ada", secrets_keys=SecretsKeys(old)) for _ in range(4)), key=by_access_key)
    kept = [(key, access.read(world.kv, key)) for key in (keys.sealed_secret(each.access_key_id) for each in made[:3])]
    (first, one), (second, other), (third, _) = kept
    assert one
    assert other
    access.write(world.kv, first, one.value.model_copy(update={"sealed": one.value.sealed[:-1]}))
    access.write(world.kv, second, one.value)
    world.kv.set(third.partition, third.key, b"no record")
    done = iam.reseal_secrets(SecretsKeys(f"{new.get_secret_value()} {old.get_secret_value()}"))
    assert (done.resealed, done.current, done.unreadable) == (1, 0, 3)
    assert signing_user(world.kv, world.clock, SecretsKeys(new), made[3].access_key_id)[1] == made[3].secret


def by_access_key(made: NewCredential) -> str:
    return made.access_key_id


@pytest.mark.parametrize("text", ["", " \n", "short", "é" * 44, "A" * 44, "w" * 43 + "= x"])
def test_wrong_keys_are_refused_and_not_shown(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        SecretsKeys(text)
    assert "secrets key" in caught.value.message
    assert text.strip() == "" or text.strip() not in caught.value.message


def test_keys_are_not_pickled(sealing: SecretsKeys) -> None:
    with pytest.raises(TypeError):
        pickle.dumps(sealing)
