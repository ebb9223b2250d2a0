"""Each planted broken store fails the suite, by the tests that are about what is broken."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from uuid import uuid4

import pytest

from graveler_core.errors import GravelerError
from graveler_core.kv.backends.memory import open_memory
from graveler_core.kv.store import Store
from graveler_core.testing.plain_store import PlainStore
from graveler_core.testing.store_cases.scans import MANY
from graveler_core.testing.store_suite import StoreSuite
from tests.conformance import broken_stores

TESTS = [name for name, _ in inspect.getmembers(StoreSuite, inspect.isfunction) if name.startswith("test_")]

FOUND_BY = {
    broken_stores.DropsPredicate: {
        "test_create_if_absent",
        "test_replace_if_present",
        "test_swap_if_unchanged",
        "test_swap_of_an_absent_key",
        "test_one_of_many_creators_wins",
        "test_one_of_many_swappers_wins",
    },
    broken_stores.SignedOrder: {"test_order_is_that_of_unsigned_bytes", "test_bounds", "test_rows_carry_their_values"},
    broken_stores.LosesEmptyValue: {"test_empty_value_is_a_value", "test_empty_value_can_be_swapped"},
    broken_stores.ScansByOffset: {
        "test_deletion_during_a_scan_hides_no_other_row",
        "test_insertion_during_a_scan_repeats_no_row",
    },
    broken_stores.ChecksThenSets: {
        "test_one_of_many_creators_wins",
        "test_one_of_many_swappers_wins",
        "test_counters_add_up",
        "test_one_of_a_hundred_creators_wins",
        "test_one_of_a_hundred_swappers_wins",
        "test_one_of_a_hundred_deleters_wins",
    },
    broken_stores.CutsLongBounds: {"test_a_bound_may_be_longer_than_any_key"},
    broken_stores.PagesByRowsAlone: {"test_pages_end_where_their_values_are_large"},
    broken_stores.ForgetsTheRestOfABulkWrite: {"test_many_large_values_at_once"},
    broken_stores.ChecksThenDeletes: {"test_nothing_is_deleted_once_a_condition_is_gone"},
    broken_stores.DeletesWhateverElseChanged: {"test_delete_together_removes_nothing_where_one_has_changed"},
    broken_stores.SwapsBeforeItWrites: {"test_who_sees_a_swap_sees_what_was_written_with_it"},
    broken_stores.WritesWhateverWasSwapped: {
        "test_write_and_swap",
        "test_write_and_swap_of_an_absent_or_present_key",
    },
    broken_stores.StaleWhileScanning: {
        "test_get_during_an_open_scan_sees_new_writes",
        "test_another_handle_writes_during_an_open_scan",
    },
}


def fails(wrap: Callable[[Store], Store], name: str) -> bool:
    """Run a test of the suite on a fresh store, as pytest would; returns `True` if the store fails it."""
    url = f"memory://{uuid4()}"

    def opener() -> Store:
        return wrap(open_memory(url))

    given = {"store": opener(), "opener": opener, "many": MANY}
    test = getattr(StoreSuite(), name)
    try:
        test(**{fixture: given[fixture] for fixture in inspect.signature(test).parameters})
    except (AssertionError, GravelerError, pytest.fail.Exception):
        return True
    return False


def test_an_honest_store_fails_nothing() -> None:
    assert not [name for name in TESTS if fails(PlainStore, name)]


@pytest.mark.parametrize(("broken", "expected"), FOUND_BY.items())
def test_a_broken_store_fails(broken: type[PlainStore], expected: set[str]) -> None:
    assert expected <= set(TESTS)
    assert not [name for name in sorted(expected) if not fails(broken, name)]
    assert not all(fails(broken, name) for name in TESTS if name not in expected), "what works passes"
