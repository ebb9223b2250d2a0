"""Authentication, and what a principal may: by policies that are no older than is said."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread

import pytest
from pydantic import SecretStr

from graveler_core.errors import InvalidInput, Kind, PermissionDenied, SlowDown, Unavailable
from graveler_core.facade.access import Access
from graveler_core.iam import hashing
from graveler_core.iam.principal import STALENESS, Principal, authenticate, is_set_up
from graveler_core.model.iam import NewCredential
from graveler_core.model.permission import Action, Request, object_resource, user_resource
from tests.unit.engine.interposed import Interposed, unavailable
from tests.unit.engine.world import SuspendedClock, World

ALL = [{"effect": "allow", "actions": ["fs:*"], "resources": ["*"]}]
READ = Request(Action.READ_OBJECT, object_resource("flights", "raw/jan.csv"))


@pytest.fixture
def ada(iam: Access) -> NewCredential:
    """May do everything with files."""
    iam.create_user("ada")
    iam.create_policy("all", ALL)
    iam.attach_policy("all", user="ada")
    return iam.create_credential("ada")


@pytest.fixture
def principal(world: World, ada: NewCredential) -> Principal:
    return authenticate(world.kv, world.clock, ada.access_key_id, ada.secret)


def refused(world: World, access_key: str, secret: SecretStr | str) -> PermissionDenied:
    with pytest.raises(PermissionDenied) as caught:
        authenticate(world.kv, world.clock, access_key, secret)
    assert caught.value.kind is Kind.InvalidCredentials
    return caught.value


class TestAuthenticate:
    def test_by_its_secret(self, world: World, ada: NewCredential) -> None:
        for secret in (ada.secret, ada.secret.get_secret_value()):
            assert authenticate(world.kv, world.clock, ada.access_key_id, secret).user == "ada"

    def test_all_refusals_are_one(
        self, world: World, iam: Access, ada: NewCredential, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The same words and the same work, whatever is wrong."""
        checked: list[str] = []
        real = hashing.matches

        def counted(kept: str, secret: SecretStr) -> bool:
            checked.append(kept)
            return real(kept, secret)

        monkeypatch.setattr(hashing, "matches", counted)
        told = [refused(world, ada.access_key_id, "wrong")]
        told += [refused(world, key, ada.secret) for key in ("0" * 32, "", "nonsense", "\ud800", "x" * 5_000)]
        iam.delete_user("ada")
        told.append(refused(world, ada.access_key_id, ada.secret))
        assert len({(error.message, str(error.details)) for error in told}) == 1
        assert len(checked) == len(told)

    def test_a_user_that_is_half_deleted_is_refused(self, world: World, ada: NewCredential) -> None:
        kv = Interposed(world.kv)
        kv.fail[3] = unavailable()
        with pytest.raises(Unavailable):
            world.graveler(kv).iam.delete_user("ada")
        refused(world, ada.access_key_id, ada.secret)

    def test_a_credential_of_a_former_bearer_of_the_name_is_refused(
        self, world: World, iam: Access, ada: NewCredential
    ) -> None:
        """As after a creation that died beside the deletion."""
        kept = list(world.kv.scan(b"graveler_iam", prefix=b"credentials/"))
        iam.delete_user("ada")
        iam.create_user("ada")
        for row in kept:
            world.kv.set(b"graveler_iam", row.key, row.value)
        refused(world, ada.access_key_id, ada.secret)

    @pytest.mark.parametrize("staleness", [-1.0, float("nan"), float("inf")])
    def test_staleness_is_a_time(self, world: World, ada: NewCredential, staleness: float) -> None:
        with pytest.raises(InvalidInput, match="staleness"):
            authenticate(world.kv, world.clock, ada.access_key_id, ada.secret, staleness=staleness)


class TestRequire:
    def test_what_is_allowed_passes(self, principal: Principal) -> None:
        principal.require(READ)
        assert principal.allows(READ)

    def test_what_is_not_is_named(self, principal: Principal) -> None:
        for request, resource in [
            (Request(Action.READ_USER, user_resource("bob")), "arn:graveler:auth:::user/bob"),
            (Request(Action.READ_USER, user_resource(""), prefix=True), "arn:graveler:auth:::user/*"),
        ]:
            with pytest.raises(PermissionDenied) as caught:
                principal.require(request)
            assert caught.value.kind is Kind.AccessDenied
            assert caught.value.message == f"user 'ada' may not auth:ReadUser on {resource}"
            assert caught.value.details == {"user": "ada", "action": "auth:ReadUser", "resource": resource}

    def test_the_principal_says_who_asks_and_when(self, world: World, iam: Access, principal: Principal) -> None:
        until = {
            "DateLessThan": {"graveler:time": ["2026-01-01T01:00:00Z"]},
            "StringEquals": {"graveler:user": ["ada"]},
        }
        iam.update_policy("all", [ALL[0] | {"conditions": until}])
        lies = Request(READ.action, READ.resource, {"graveler:user": "eve", "graveler:time": "1999-01-01T00:00:00Z"})
        assert principal.allows(lies)
        world.clock.sleep(3_600)
        assert not principal.allows(lies)

    def test_it_says_who_it_is(self, principal: Principal) -> None:
        assert repr(principal) == "Principal(user='ada')"


CHANGES: list[Callable[[Access, NewCredential], object]] = [
    lambda iam, ada: iam.delete_user("ada"),
    lambda iam, ada: iam.delete_policy("all"),
    lambda iam, ada: iam.detach_policy("all", user="ada"),
    lambda iam, ada: iam.delete_credential("ada", ada.access_key_id),
    lambda iam, ada: iam.update_policy("all", [ALL[0] | {"effect": "deny"}]),
    lambda iam, ada: (iam.delete_user("ada"), iam.create_user("ada"), iam.attach_policy("all", user="ada")),
]


class TestStaleness:
    @pytest.mark.parametrize("change", CHANGES)
    def test_what_was_taken_away_ends_in_time(
        self, world: World, iam: Access, ada: NewCredential, principal: Principal, change: Callable[..., object]
    ) -> None:
        assert principal.allows(READ)
        begun = world.clock.monotonic()
        change(iam, ada)
        assert principal.allows(READ)
        world.clock.sleep(STALENESS - (world.clock.monotonic() - begun))
        assert not principal.allows(READ)

    @pytest.mark.parametrize("passed", [STALENESS, -1.0], ids=["suspended", "set back"])
    def test_what_was_taken_away_ends_although_the_monotonic_clock_stood_still(
        self, world: World, iam: Access, ada: NewCredential, passed: float
    ) -> None:
        clock = SuspendedClock()
        principal = authenticate(world.kv, clock, ada.access_key_id, ada.secret)
        assert principal.allows(READ)
        iam.delete_user("ada")
        assert principal.allows(READ)
        clock.sleep(passed)
        assert not principal.allows(READ)

    @pytest.mark.parametrize("change", CHANGES)
    def test_none(self, world: World, iam: Access, ada: NewCredential, change: Callable[..., object]) -> None:
        at_once = authenticate(world.kv, world.clock, ada.access_key_id, ada.secret, staleness=0)
        assert at_once.allows(READ)
        change(iam, ada)
        assert not at_once.allows(READ)

    def test_one_reading_serves_until_then(self, world: World, ada: NewCredential) -> None:
        kv = Interposed(world.kv)
        principal = authenticate(kv, world.clock, ada.access_key_id, ada.secret)
        kv.reset()
        principal.allows(READ)
        calls = len(kv.verbs)
        assert calls > 0
        first = principal.reading
        world.clock.sleep(STALENESS - 1)
        for _ in range(100):
            principal.allows(READ)
        assert len(kv.verbs) == calls
        assert principal.reading is first
        world.clock.sleep(1)
        assert principal.reading is not first

    def test_threads_share_a_reading(self, world: World, ada: NewCredential) -> None:
        kv = Interposed(world.kv)
        principal = authenticate(kv, world.clock, ada.access_key_id, ada.secret)
        kv.reset()
        principal.allows(READ)
        once = list(kv.verbs)
        world.clock.sleep(STALENESS)
        found: list[bool] = []
        others = [Thread(target=lambda: found.append(principal.allows(READ))) for _ in range(3)]
        kv.reset()
        kv.before[0] = lambda: [other.start() for other in others]
        assert principal.allows(READ)
        for other in others:
            other.join()
        assert found == [True] * 3
        assert kv.verbs == once

    def test_without_the_store_nothing_is_allowed_when_it_is_over(self, world: World, ada: NewCredential) -> None:
        kv = Interposed(world.kv)
        principal = authenticate(kv, world.clock, ada.access_key_id, ada.secret)
        assert principal.allows(READ)
        world.clock.sleep(STALENESS)
        kv.reset()
        kv.fail = {number: unavailable() for number in range(9)}
        for _ in range(3):
            with pytest.raises(Unavailable):
                principal.require(READ)
        kv.reset()
        assert principal.allows(READ)

    def test_changes_without_end_allow_nothing(self, world: World, iam: Access, ada: NewCredential) -> None:
        kv = Interposed(world.kv)
        principal = authenticate(kv, world.clock, ada.access_key_id, ada.secret)
        kv.reset()
        kv.before = {number: lambda: iam.update_policy("all", ALL) for number in range(200)}
        with pytest.raises(SlowDown) as caught:
            principal.decide(READ)
        assert caught.value.kind is Kind.RetriesExhausted

    def test_the_time_of_a_reading_is_when_it_began(self, world: World, iam: Access, ada: NewCredential) -> None:
        """What changes while it is read may be missed, and is seen the sooner."""
        kv = Interposed(world.kv)
        principal = authenticate(kv, world.clock, ada.access_key_id, ada.secret)
        kv.reset()
        kv.before[0] = lambda: world.clock.sleep(STALENESS - 1)
        assert principal.allows(READ)
        iam.delete_policy("all")
        assert principal.allows(READ)
        world.clock.sleep(1)
        assert not principal.allows(READ)


def test_is_set_up_is_one_get(world: World, iam: Access) -> None:
    kv = Interposed(world.kv)
    assert not is_set_up(kv)
    iam.set_up("ada")
    assert is_set_up(kv)
    assert kv.verbs == ["get", "get"]
