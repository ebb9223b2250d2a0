"""For each former rule of the branch register, the seed of a history that breaks a promise under it.

Seeds are of the ordinary mix of calls, except where a theme is named: what needs three calls at three exact places is
too rare there. `BY_HAND` needs more than that: its histories are written out in `test_directed.py`.
"""

from __future__ import annotations

from dataclasses import fields
from typing import NamedTuple

from tests.model.former import Former
from tests.model.schedule import violation


class Caught(NamedTuple):
    """A history that shows a former rule to be wrong."""

    seed: int
    theme: str = ""


RULES = tuple(field.name for field in fields(Former))
BY_HAND = ("cheap_delete_unconditional", "tombstone_deleted")
CAUGHT = {
    "writer_no_reread": Caught(9),
    "reader_no_reread": Caught(53),
    "reread_without_repository": Caught(184),
    "join_in_flight": Caught(23),
    "reader_compares_token": Caught(245),
    "suffix_is_prefix": Caught(141),
    "equal_tokens": Caught(1072),
    "lost_tree": Caught(141),
    "compaction_tokens_only": Caught(3152),
    "restoration_does_not_block": Caught(427),
    "clear_all_sealed": Caught(160),
    "absorbed_by_reset": Caught(155),
    "compacted_is_absorbed": Caught(141),
    "seal_without_swap": Caught(28),
    "reset_keeps_epoch": Caught(155),
    "drop_before_advance": Caught(5),
    "cleanup_after_swap": Caught(620),
    "cleaner_reads_branch_first": Caught(6123),
    "empty_token_removed": Caught(1495),
    "dirty_by_effect": Caught(80),
    "merge_drops_staged": Caught(80),
    "merge_keeps_compacted": Caught(3134),
    "hard_reset_keeps_compacted": Caught(2074),
    "hard_reset_unchecked": Caught(256),
    "transact_ignores_staged": Caught(10),
    "transact_ignores_compacted": Caught(1209),
    "transact_not_compacted": Caught(554),
    "transact_validates_once": Caught(78),
    "commit_ignores_compacted": Caught(50),
    "reset_keeps_compacted": Caught(1072),
    "lost_means_failed": Caught(17),
    "lost_by_head": Caught(297),
    "lost_removal_by_absence": Caught(3574),
    "compacted_by_content": Caught(5320),
    "record_changed_means_deleted": Caught(1523),
    "lost_once": Caught(115),
    "key_sought_once": Caught(160),
    "key_not_sought_last": Caught(353),
    "cheap_delete_repeated": Caught(29_319, "write, remove cheaply, commit"),
    "cheap_delete_unproved": Caught(7168),
    "cheap_delete_any_base": Caught(300),
}


def former(rule: str) -> Former:
    """That one rule set back, all others in force."""
    return Former(**{rule: True})


def first(rule: str, bound: int, theme: str = "") -> Caught | None:
    """The first history, of so many, that breaks a promise under a former rule: for recording it anew."""
    set_back = former(rule)
    return next((Caught(seed, theme) for seed in range(bound) if violation(seed, set_back, theme)), None)
