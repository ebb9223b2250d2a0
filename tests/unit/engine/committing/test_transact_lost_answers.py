"""The answer of the swap that moves a head never comes: promise 5, "Whose change is it". Shown by transactions."""

from collections.abc import Callable

import pytest

from graveler_core.errors import Conflict, OutcomeUnknown, SlowDown
from graveler_core.kv.wrappers.passing import StoreCall
from graveler_core.model.operations import Put, Remove
from graveler_core.testing.faulty_store import Delay, Fault, Faulty, Late, LoseAnswer, LoseRequest, Refuse
from graveler_core.testing.plain_store import PlainStore
from tests.unit.engine.races import Interrupted, failing_swap, late_swaps, swaps_branch
from tests.unit.engine.ten_keys import messages, ten_keys
from tests.unit.engine.world import World, entry


@pytest.fixture
def world() -> World:
    """A branch of ten entries."""
    return ten_keys()


class TestLostAnswers:
    """The answer of the swap never comes: promise 5."""

    def test_the_swap_had_happened(self, world: World) -> None:
        branch = world.branch(failing_swap(world.kv, LoseAnswer()))
        commit = branch.transact([Put("new", entry(1))], message="m")
        assert commit.id == branch.record().commit_id
        assert messages(world) == ["m", "begin"]

    def test_the_swap_had_not_happened(self, world: World) -> None:
        commit = world.branch(failing_swap(world.kv, LoseRequest())).transact([Put("new", entry(1))], message="m")
        assert commit.id == world.branch().record().commit_id
        assert messages(world) == ["m", "begin"]

    def test_the_swap_had_happened_and_others_followed(self, world: World) -> None:
        """The head is another's; the chain of first parents tells."""
        inner = failing_swap(world.kv, LoseAnswer())
        looks = Interrupted(
            inner,
            lambda: world.branch().transact([Remove("k9")], message="theirs"),
            before=_looks_again_after(inner),
        )
        commit = world.branch(looks).transact([Put("new", entry(1))], message="m")
        assert messages(world) == ["theirs", "m", "begin"]
        assert world.graveler().repository("repo").commit("main~1").id == commit.id

    def test_the_swap_had_not_happened_and_others_came(self, world: World) -> None:
        inner = failing_swap(world.kv, LoseRequest())
        looks = Interrupted(
            inner,
            lambda: world.branch().transact([Remove("k9")], message="theirs"),
            before=_looks_again_after(inner),
        )
        world.branch(looks).transact([Put("new", entry(1))], message="m")
        assert messages(world) == ["m", "theirs", "begin"]

    def test_the_swap_had_not_happened_and_others_made_it_impossible(self, world: World) -> None:
        """Another swap has come first, so the lost one can no longer take effect, and the refusal is certain."""
        repo = world.graveler().repository("repo")
        repo.create_branch("dev", "main").transact([Put("new", entry(1))], message="mine")
        inner = failing_swap(world.kv, LoseRequest())
        looks = Interrupted(
            inner,
            lambda: world.branch().transact([Put("new", entry(2))], message="theirs"),
            before=_looks_again_after(inner),
        )
        with pytest.raises(Conflict) as caught:
            world.graveler(looks).repository("repo").merge("dev", into="main")
        assert [conflict.path for conflict in caught.value.details["conflicts"]] == ["new"]
        assert messages(world) == ["theirs", "begin"]

    @pytest.mark.parametrize(("calls", "sent"), late_swaps())
    def test_the_swap_happens_late(self, world: World, calls: int, sent: int) -> None:
        """After the record was read again and stood unchanged: the retry finds it, or it loses against the retry."""
        kv = failing_swap(world.kv, Late(calls), *[LoseRequest()] * (sent - 1))
        commit = world.branch(kv).transact([Put("new", entry(1)), Remove("k1")], message="m")
        for _ in range(calls):
            kv.get(b"nothing", b"waits")
        assert messages(world) == ["m", "begin"]
        assert commit.id == world.branch().record().commit_id

    def test_a_reset_made_it_undecidable(self, world: World) -> None:
        """The commit may have been the head for a moment. It is named, so that the caller can look."""
        inner = failing_swap(world.kv, LoseAnswer())

        def reset() -> None:
            world.branch().hard_reset("main~1")

        kv = Interrupted(inner, reset, before=_looks_again_after(inner))
        with pytest.raises(OutcomeUnknown) as raised:
            world.branch(kv).transact([Put("new", entry(1))], message="m")
        known = world.graveler().repository("repo").commit(raised.value.details["commit"])
        assert known.message == "m"

    @pytest.mark.parametrize("error", [SlowDown, None])
    def test_the_store_stays_silent(self, world: World, error: type[SlowDown] | None) -> None:
        """No look after the lost answer is answered either: unknown, not unavailable; it may have happened."""
        silent = False

        def plan(call: StoreCall, _: int) -> LoseAnswer | LoseRequest | Refuse | None:
            nonlocal silent
            if silent:
                return LoseRequest() if error is None else Refuse(lambda: error("planted"))
            silent = swaps_branch(call)
            return LoseAnswer() if silent else None

        with pytest.raises(OutcomeUnknown) as raised:
            world.branch(Faulty(world.kv, plan)).transact([Put("new", entry(1))], message="m")
        assert raised.value.details["commit"] == world.branch().record().commit_id
        assert messages(world) == ["m", "begin"]

    @pytest.mark.parametrize("fault", [LoseAnswer(), LoseRequest(), Refuse(lambda: SlowDown("planted"))])
    def test_before_the_swap_nothing_is_seen(self, world: World, fault: Fault) -> None:
        """On a store that writes records before the swap: they were written or not, and nothing leads to them. The same
        call may be made again.
        """
        kv = PlainStore(Faulty(world.kv, lambda call, _: fault if call.verb == "set" else None))
        with pytest.raises((OutcomeUnknown, SlowDown)):
            world.branch(kv).transact([Put("new", entry(1))], message="m")
        assert messages(world) == ["begin"]
        world.branch().transact([Put("new", entry(1))], message="m")
        assert messages(world) == ["m", "begin"]

    def test_a_slow_store_is_no_fault(self, world: World) -> None:
        kv = Faulty(world.kv, lambda call, _: Delay(100.0) if swaps_branch(call) else None, world.clock)
        world.branch(kv).transact([Remove("k1")], message="m")
        assert messages(world) == ["m", "begin"]


def _looks_again_after(failing: Faulty) -> Callable[[StoreCall], bool]:
    """The first look at the branch record after the swap that failed."""
    state = {"swapped": False, "looked": False}

    def before(call: StoreCall) -> bool:
        if swaps_branch(call):
            state["swapped"] = True
        elif state["swapped"] and not state["looked"] and call.verb == "get" and call.key.startswith(b"branches/"):
            state["looked"] = True
            return True
        return False

    assert isinstance(failing, Faulty)
    return before
