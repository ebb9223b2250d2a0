"""The rules of a transaction without a branch under it: `nessie-behaviours` 40 to 50 and 79, and the stricter
validations of seed 002. Keys are paths, values are identities. What is said of namespaces of tables (80) has no
counterpart: a path needs no parent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graveler_core.codec.staged_record import decode_record, encode_entry
from graveler_core.engine.committing.validation import fail, normalised, validate, with_content_ids
from graveler_core.errors import Conflict, InvalidInput, Kind
from graveler_core.model.entry import Entry
from graveler_core.model.operations import (
    ConflictKind,
    Operation,
    OperationConflict,
    Put,
    Remove,
    Resolution,
    Unchanged,
)
from tests.examples import examples
from tests.unit.engine.operations import Tree, content_id, entry, judged, transactions, tree, trees

A1 = entry(1, id=1)
A2 = entry(2, id=1)


class Walked(list[Operation]):
    """A list that counts how often it is walked."""

    walks = 0

    def __iter__(self) -> Iterator[Operation]:
        self.walks += 1
        return super().__iter__()


def refused(operations: Sequence[Operation], held: Tree) -> list[tuple[str, ConflictKind]]:
    """The conflicts, of which there must be some."""
    with pytest.raises(Conflict) as raised:
        validate(normalised(operations), held)
    assert raised.value.kind is Kind.TransactionConflict
    return [(conflict.path, conflict.kind) for conflict in raised.value.details["conflicts"]]


def done(operations: Sequence[Operation], held: Tree) -> dict[str, Entry | None]:
    """What is written, where nothing stands in the way."""
    return {key.decode(): found for key, found in validate(normalised(operations), held)}


class TestConflicts:
    """Behaviours 40 to 46."""

    def test_add_on_an_existing_key_even_of_the_same_value(self) -> None:
        """40. The second half, that a removed key may be added again, is below and in `test_transact`."""
        assert refused([Put("a", entry(1))], tree(a=A1)) == [("a", ConflictKind.KEY_EXISTS)]
        assert refused([Put("a", A1)], tree(a=A1)) == [("a", ConflictKind.KEY_EXISTS)]

    def test_add_of_a_removed_key(self) -> None:
        """40, 43: what a removed key held counts for nothing."""
        assert list(done([Put("a", entry(2))], tree())) == ["a"]

    @pytest.mark.parametrize(
        "operation", [Put("a", A2, expected=A2), Remove("a", expected=A2), Unchanged("a", expected=A2)]
    )
    def test_wrong_expected_value(self, operation: Operation) -> None:
        """41."""
        assert refused([operation], tree(a=A1)) == [("a", ConflictKind.VALUE_DIFFERS)]

    @pytest.mark.parametrize(
        "operation",
        [
            Put("a", entry(2, id=9), expected=A1),
            Put("a", A2, expected=entry(2, id=9)),
            Remove("a", expected=entry(2, id=9)),
            Unchanged("a", expected=entry(2, id=9)),
        ],
    )
    def test_wrong_content_id_before_wrong_value(self, operation: Operation) -> None:
        """42: of the new entry and of the expected one; the value differs too, and is not what is reported."""
        assert refused([operation], tree(a=A1)) == [("a", ConflictKind.CONTENT_ID_DIFFERS)]

    @pytest.mark.parametrize(
        "operation",
        [
            Put("a", entry(2, id=9, payload=5), expected=entry(2, id=9)),
            Put("a", entry(2, id=9), expected=entry(2, id=9, payload=5)),
            Remove("a", expected=entry(2, id=9, payload=5)),
            Unchanged("a", expected=entry(2, id=9, payload=5)),
        ],
    )
    def test_wrong_payload_before_both(self, operation: Operation) -> None:
        """42: also where the new entry has one fault and the expected one the other."""
        assert refused([operation], tree(a=A1)) == [("a", ConflictKind.PAYLOAD_DIFFERS)]

    @pytest.mark.parametrize("operation", [Put("a", A2, expected=A1), Remove("a"), Unchanged("a"), Remove("a", A1)])
    def test_update_remove_and_unchanged_need_the_key(self, operation: Operation) -> None:
        """43."""
        assert refused([operation], tree(b=entry(3))) == [("a", ConflictKind.KEY_DOES_NOT_EXIST)]

    def test_an_update_of_what_the_transaction_removes(self) -> None:
        """43, 47: the removed key does not exist for an update in the same transaction."""
        assert refused([Remove("a"), Put("a", A2, A1)], tree(a=A1)) == [("a", ConflictKind.KEY_DOES_NOT_EXIST)]

    def test_all_conflicts_at_once(self) -> None:
        """45. Left out: the callback for keys without conflict; the caller knows its own operations."""
        held = tree(a=A1, b=entry(2, id=2), c=entry(3, id=3))
        operations: list[Operation] = [
            Unchanged("z"),
            Put("c", entry(4, id=3), expected=entry(9, id=3)),
            Put("b", entry(5)),
            Put("fits", entry(6)),
            Remove("a", expected=entry(1, id=7)),
        ]
        with pytest.raises(Conflict) as raised:
            validate(normalised(operations), held)
        found: list[OperationConflict] = raised.value.details["conflicts"]
        assert [(c.path, c.kind.value) for c in found] == [
            ("a", "content_id_differs"),
            ("b", "key_exists"),
            ("c", "value_differs"),
            ("z", "key_does_not_exist"),
        ]
        assert [c.existing for c in found] == [held["a"], held["b"], held["c"], None]
        assert [type(c.operation) for c in found] == [Remove, Put, Put, Unchanged]
        assert "4 of 5" in raised.value.message
        assert "'a': content id differs" in raised.value.message

    @pytest.mark.parametrize(
        ("resolution", "written"),
        [(Resolution.APPLY, {"a": 5, "b": 6, "c": None}), (Resolution.DROP, {"b": 6})],
    )
    def test_a_handler_may_apply_or_drop(self, resolution: Resolution, written: dict[str, int | None]) -> None:
        """46."""
        asked = []

        def arbiter(conflict: OperationConflict) -> Resolution:
            asked.append(conflict.path)
            return resolution

        operations = normalised([Put("a", entry(5)), Put("b", entry(6)), Remove("c")])
        outcome = validate(operations, tree(a=A1), arbiter)
        assert {key.decode(): None if e is None else e.size for key, e in outcome} == written
        assert sorted(asked) == ["a", "c"]

    def test_a_handler_may_refuse_one_of_several(self) -> None:
        """46: one conflict that is not resolved fails the transaction, with that one alone."""
        operations = normalised([Put("a", entry(5)), Put("b", entry(6))])
        held = tree(a=A1, b=entry(2))
        with pytest.raises(Conflict) as raised:
            validate(operations, held, lambda c: Resolution.DROP if c.path == "a" else fail(c))
        assert [c.path for c in raised.value.details["conflicts"]] == ["b"]

    def test_a_dropped_removal_removes_nothing(self) -> None:
        """46: what rests on it, a re-add or a rename, does not fit any more."""
        held = tree(a=A1)

        def drop_removal(conflict: OperationConflict) -> Resolution:
            return Resolution.DROP if isinstance(conflict.operation, Remove) else Resolution.CONFLICT

        for put, kind in ((Put("a", entry(2)), "key_exists"), (Put("b", A1, A1), "key_does_not_exist")):
            with pytest.raises(Conflict) as raised:
                validate(normalised([Remove("a", expected=entry(9)), put]), held, drop_removal)
            assert [c.kind.value for c in raised.value.details["conflicts"]] == [kind]

    def test_a_refused_removal_hides_nothing_and_adds_nothing(self) -> None:
        """45: the re-add over it is no conflict of its own."""
        assert refused([Remove("a", expected=A2), Put("a", entry(5))], tree(a=A1)) == [
            ("a", ConflictKind.VALUE_DIFFERS)
        ]

    @pytest.mark.parametrize("added", [entry(5), entry(5, id=1), entry(5, id=7)])
    def test_a_re_add_over_a_removal_of_nothing_is_no_conflict_of_its_own(self, added: Entry) -> None:
        """45: with the content id of another removed entry, with an unknown one, and without one."""
        operations = [Remove("b"), Put("b", added), Remove("a")]
        assert refused(operations, tree(a=A1)) == [("b", ConflictKind.KEY_DOES_NOT_EXIST)]

    def test_an_answer_that_is_no_resolution(self) -> None:
        answers: list[Any] = ["apply", True]
        operations = normalised([Put("a", entry(5))])
        assert len(validate(operations, tree(a=A1), lambda _: answers[0])) == 1
        with pytest.raises(InvalidInput, match="on_conflict returned True"):
            validate(operations, tree(a=A1), lambda _: answers[1])


class TestSeveralOperationsOnOneKeyOrContent:
    """Behaviours 47 to 50 and 79."""

    @pytest.mark.parametrize("added", [A2, entry(2), entry(2, id=8), entry(2, id=8, payload=4)])
    @pytest.mark.parametrize("turned", [False, True])
    def test_remove_and_add_is_a_re_add(self, added: Entry, turned: bool) -> None:
        """47: in any order, with the same or another payload and content id, without an expected value."""
        operations: list[Operation] = [Remove("a"), Put("a", added)]
        found = done(operations[::-1] if turned else operations, tree(a=A1))["a"]
        assert found is not None
        assert (found.size, found.content_id, found.payload) == (2, added.content_id, added.payload)

    def test_remove_and_add_elsewhere_is_a_rename(self) -> None:
        """48."""
        assert done([Put("b", A2, expected=A1), Remove("a")], tree(a=A1)).keys() == {"a", "b"}

    def test_rename_without_expected_value(self) -> None:
        """48: the key that exists is the one that is being moved, and the conflict shows it."""
        held = tree(a=A1)
        with pytest.raises(Conflict) as raised:
            validate(normalised([Remove("a"), Put("b", A2)]), held)
        (conflict,) = raised.value.details["conflicts"]
        assert (conflict.path, conflict.kind, conflict.existing) == ("b", ConflictKind.KEY_EXISTS, held["a"])

    def test_rename_without_content_id(self) -> None:
        """48."""
        assert refused([Remove("a"), Put("b", entry(2), expected=A1)], tree(a=A1)) == [
            ("b", ConflictKind.KEY_DOES_NOT_EXIST)
        ]

    def test_rename_checks_the_expected_value(self) -> None:
        """48, 41."""
        assert refused([Remove("a"), Put("b", A2, A2)], tree(a=A1)) == [("b", ConflictKind.VALUE_DIFFERS)]
        other = entry(2, id=1, payload=3)
        assert refused([Remove("a"), Put("b", other, A1)], tree(a=A1)) == [("b", ConflictKind.PAYLOAD_DIFFERS)]

    @pytest.mark.parametrize("turned", [False, True])
    def test_rename_of_one_of_two_entries_with_its_content_id(self, turned: bool) -> None:
        """48: entries that were staged may share a content id. The removed one that is expected decides."""
        held = tree(a=A1, b=entry(3, id=1))
        removals: list[Operation] = [Remove("a"), Remove("b")]
        removals = removals[::-1] if turned else removals
        assert done([*removals, Put("c", A2, expected=A1)], held).keys() == {"a", "b", "c"}
        assert refused([*removals, Put("c", A2, expected=A2)], held) == [("c", ConflictKind.VALUE_DIFFERS)]

    def test_rename_onto_a_key_that_exists(self) -> None:
        """48, 42: what is there is what the put is compared with."""
        held = tree(a=A1, b=entry(3, id=3))
        assert refused([Remove("a"), Put("b", A2, A1)], held) == [("b", ConflictKind.CONTENT_ID_DIFFERS)]

    def test_rename_and_new_content_at_the_old_key(self) -> None:
        """47, 48 together: the content id moves, the new content has none yet."""
        found = done([Remove("a"), Put("b", A1, A1), Put("a", entry(4))], tree(a=A1))
        assert {path: e and e.content_id for path, e in found.items()} == {"a": None, "b": content_id(1)}

    def test_rename_and_re_add_of_one_content_id(self) -> None:
        """49. An error of the input, whatever is there, as in 50."""
        with pytest.raises(InvalidInput, match="duplicate content id"):
            normalised([Remove("a"), Put("a", A1), Put("b", A1, expected=A1)])

    @pytest.mark.parametrize(
        "operations",
        [
            [Put("a", A1), Put("a", A2)],
            [Put("a", A1), Unchanged("a")],
            [Remove("a"), Unchanged("a")],
            [Remove("a"), Remove("a")],
            [Unchanged("a"), Unchanged("a")],
            [Remove("a"), Put("a", entry(1)), Remove("a")],
            [Remove("a"), Put("a", entry(1)), Put("a", entry(2))],
        ],
    )
    def test_a_repeated_key(self, operations: list[Operation]) -> None:
        """50, and what else repeats a key."""
        with pytest.raises(InvalidInput, match="duplicate key 'a'"):
            normalised(operations)

    def test_a_content_id_for_an_unknown_key(self) -> None:
        """79: refused, unless a removal of that id is in the same transaction (48)."""
        assert refused([Put("b", A1)], tree()) == [("b", ConflictKind.KEY_DOES_NOT_EXIST)]
        assert refused([Put("b", A1, expected=A1)], tree(a=A1)) == [("b", ConflictKind.KEY_DOES_NOT_EXIST)]

    def test_new_entries_get_the_content_id_that_was_drawn(self) -> None:
        """79: and no other entry does: not one that is updated, removed or re-added with an id."""
        held = tree(a=entry(1), b=entry(2), c=entry(3))
        operations = normalised(
            [Put("a", entry(9), held["a"]), Remove("b"), Remove("c"), Put("c", entry(4, id=4)), Put("new", entry(5))]
        )
        drawn = {path: content_id(70 + n) for n, path in enumerate(["c", "new"])}
        found = dict(with_content_ids(validate(operations, held), drawn))
        ids = {key: e and e.content_id for key, e in found.items()}
        assert ids == {b"a": None, b"b": None, b"c": content_id(4), b"new": content_id(71)}
        fresh = found[b"new"]
        assert fresh is not None
        made = decode_record("new", encode_entry(fresh))
        assert made == tree(new=entry(5, id=71))["new"]


class TestStricterValidations:
    """The lines of seed 002, in its order. Deletes and unchanged operations have an expected value here, so the
    checks that the seed calls not yet possible are made: `TestConflicts`."""

    def test_new_content_with_a_content_id(self) -> None:
        assert refused([Put("new", A1)], tree()) == [("new", ConflictKind.KEY_DOES_NOT_EXIST)]

    def test_new_content_at_an_existing_key(self) -> None:
        assert refused([Put("a", entry(2))], tree(a=entry(1))) == [("a", ConflictKind.KEY_EXISTS)]

    def test_existing_content_without_the_expected_value(self) -> None:
        assert refused([Put("a", A2)], tree(a=A1)) == [("a", ConflictKind.KEY_EXISTS)]

    def test_existing_content_new_value_of_another_content_id(self) -> None:
        assert refused([Put("a", entry(2, id=2), A1)], tree(a=A1)) == [("a", ConflictKind.CONTENT_ID_DIFFERS)]
        assert refused([Put("a", entry(2), A1)], tree(a=A1)) == [("a", ConflictKind.CONTENT_ID_DIFFERS)]

    def test_existing_content_expected_value_of_another_content_id(self) -> None:
        assert refused([Put("a", A2, entry(1, id=2))], tree(a=A1)) == [("a", ConflictKind.CONTENT_ID_DIFFERS)]

    def test_existing_content_another_expected_value(self) -> None:
        assert refused([Put("a", A2, A2)], tree(a=A1)) == [("a", ConflictKind.VALUE_DIFFERS)]

    def test_existing_content_another_payload(self) -> None:
        changed = entry(2, id=1, payload=1)
        assert refused([Put("a", changed, A1)], tree(a=A1)) == [("a", ConflictKind.PAYLOAD_DIFFERS)]

    def test_existing_content_another_content_id(self) -> None:
        """Both agree with each other, and not with what is there."""
        moved = entry(2, id=2), entry(1, id=2)
        assert refused([Put("a", *moved)], tree(a=A1)) == [("a", ConflictKind.CONTENT_ID_DIFFERS)]

    def test_only_the_pointer_is_compared(self) -> None:
        """An index lookup, no content: the same content at another address, or written at another time, is the same.
        Left out: content ids that are no UUID, which an entry cannot have."""
        moved = Entry(address="elsewhere", size=1, checksum="sum1", content_id=content_id(1))
        assert list(done([Put("a", A2, expected=moved)], tree(a=A1))) == ["a"]


class TestInput:
    """What is no transaction, said before anything is read."""

    @pytest.mark.parametrize(
        ("operation", "said"),
        [
            (("a", None), "is not a Put, Remove or Unchanged"),
            (Put("", A1), "must not be empty"),
            (Put(7, A1), "must be text"),  # type: ignore[arg-type]
            (Put(["a"], A1), "must be text"),  # type: ignore[arg-type]
            (Put("a", None), "is not an Entry"),  # type: ignore[arg-type]
            (Remove("a", expected="x"), "is not an Entry"),  # type: ignore[arg-type]
            (Put("a", Entry(address="../up")), "up"),
            (Put("a", A1, expected=Entry(size=-1)), "size must not be negative"),
        ],
    )
    def test_invalid(self, operation: Any, said: str) -> None:
        with pytest.raises(InvalidInput, match=said):
            normalised([operation])

    def test_operations_are_looked_at_once_each(self) -> None:
        """Not once for each of the others: a transaction may have some ten thousand."""
        operations = Walked([Remove("a"), Remove("b"), Put("c", A1), Unchanged("d")])
        normalised(operations)
        assert operations.walks == 1


@settings(max_examples=examples(400))
@given(data=st.data(), held=trees())
def test_against_the_oracle(data: st.DataObject, held: Tree) -> None:
    """Conflicts and outcome are those of the rules, whatever the order of the operations."""
    operations = data.draw(transactions(held))
    conflicts, after = judged(operations, held)
    try:
        outcome = validate(normalised(operations), held)
    except Conflict as e:
        found = sorted((c.path, c.kind.value, type(c.operation).__name__) for c in e.details["conflicts"])
        assert found == conflicts
        return
    assert conflicts == []
    assert [key for key, _ in outcome] == sorted(key for key, _ in outcome)
    written = held | {key.decode(): e for key, e in outcome if e is not None}
    gone = {key.decode() for key, e in outcome if e is None}
    assert {path: e for path, e in written.items() if path not in gone} == after
