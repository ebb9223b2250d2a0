"""For each former rule of the branch register, the seed of a history that breaks a promise under it.

Seeds are of the ordinary mix of calls, except where a theme is named: what needs three calls at three exact places is
too rare there. `test_directed.py` writes some out.
"""

from __future__ import annotations

from dataclasses import fields
from typing import NamedTuple

from tests.proofs.model.former import Former
from tests.proofs.model.schedule import violation


class Caught(NamedTuple):
    """A history that shows a former rule to be wrong."""

    seed: int
    theme: str = ""


RULES = tuple(field.name for field in fields(Former))
CAUGHT = {
    "writer_no_reread": Caught(9),
    "reader_no_reread": Caught(53),
    "reread_without_repository": Caught(184),
    "join_in_flight": Caught(23),
    "reader_compares_token": Caught(211),
    "suffix_is_prefix": Caught(141),
    "equal_tokens": Caught(2134),
    "lost_tree": Caught(141),
    "compaction_tokens_only": Caught(4316),
    "restoration_does_not_block": Caught(785),
    "clear_all_sealed": Caught(309),
    "absorbed_by_reset": Caught(34),
    "compacted_is_absorbed": Caught(141),
    "seal_without_swap": Caught(28),
    "reset_keeps_epoch": Caught(34),
    "drop_before_advance": Caught(10),
    "cleanup_after_swap": Caught(408),
    "cleaner_reads_branch_first": Caught(6123),
    "empty_token_removed": Caught(2848),
    "dirty_by_effect": Caught(80),
    "merge_drops_staged": Caught(5),
    "merge_keeps_compacted": Caught(1439),
    "hard_reset_keeps_compacted": Caught(2262),
    "hard_reset_unchecked": Caught(495),
    "transact_ignores_staged": Caught(29),
    "transact_ignores_compacted": Caught(1071),
    "transact_not_compacted": Caught(1277),
    "transact_validates_once": Caught(78),
    "commit_ignores_compacted": Caught(141),
    "reset_keeps_compacted": Caught(3560),
    "lost_means_failed": Caught(10),
    "lost_by_head": Caught(963),
    "lost_removal_by_absence": Caught(963),
    "compacted_by_content": Caught(5320),
    "record_changed_means_deleted": Caught(1523),
    "lost_once": Caught(115),
    "key_sought_once": Caught(50),
    "key_not_sought_last": Caught(50),
    "cheap_delete_entry_alone": Caught(16587, "write again, remove cheaply, transact, read"),
    "cheap_delete_token_only": Caught(5221),
    "cheap_delete_without_repository": Caught(
        47749, "write, remove cheaply, delete repository, create repository, read"
    ),
    "cheap_delete_any_base": Caught(225),
    "cheap_delete_head_only": Caught(31646),
    "cheap_delete_any_layers": Caught(1432),
    "lost_delete_repeated": Caught(465, "write again, write again, remove cheaply, read"),
}


def former(rule: str) -> Former:
    """That one rule set back, all others in force."""
    return Former(**{rule: True})


def first(rule: str, bound: int, theme: str = "") -> Caught | None:
    """The first history, of so many, that breaks a promise under a former rule: for recording it anew."""
    set_back = former(rule)
    return next((Caught(seed, theme) for seed in range(bound) if violation(seed, set_back, theme)), None)
