"""Former rules of the branch register: each was part of a draft of the design, or is a mistake that is easy to make.

One flag a rule; all off are the rules that hold. A flow asks for the flag at the one place where the rule differs.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Former:
    """Which former rules are in force."""

    # Closing re-read
    writer_no_reread: bool = False
    """A writer acknowledges once its record is set."""
    reader_no_reread: bool = False
    """A reader answers from a cached record and does not look again."""
    reread_without_repository: bool = False
    """The closing re-read looks at the branch of the repository uid that it knows, not at the repository."""
    join_in_flight: bool = False
    """A re-read takes the answer of a read that began before it."""
    reader_compares_token: bool = False
    """A reader compares only the staging token."""

    # Install rule
    suffix_is_prefix: bool = False
    """Seed 003's words on lists that are newest first."""
    equal_tokens: bool = False
    """Swap on equal tokens although the head moved."""
    lost_tree: bool = False
    """A rebase takes the tree of the lost attempt."""
    compaction_tokens_only: bool = False
    """Compaction compares the tokens, not the base."""
    restoration_does_not_block: bool = False
    """A commit installs below a newer restoration."""
    clear_all_sealed: bool = False
    """An install clears all sealed tokens, not only those it was built from."""
    absorbed_by_reset: bool = False
    """The epoch is not looked at: discarded changes count as absorbed."""
    compacted_is_absorbed: bool = False
    """Layers that a compaction took count as committed."""
    seal_without_swap: bool = False
    """Sealing sets the record, whatever stands there."""
    reset_keeps_epoch: bool = False
    """A reset does not count."""

    # Retired layers
    drop_before_advance: bool = False
    """Layers are emptied before the swap that retires them."""
    cleanup_after_swap: bool = False
    """The cleanup records are written after the swap."""
    cleaner_reads_branch_first: bool = False
    """The cleaner reads the branch record before the cleanup records."""
    empty_token_removed: bool = False
    """A bulk write takes a token that looks empty out of the record."""

    # What a swap of the head must look at, and set
    dirty_by_effect: bool = False
    """A branch is dirty if its layers change something."""
    merge_drops_staged: bool = False
    """A merge takes the layers out instead of refusing."""
    merge_keeps_compacted: bool = False
    """A merge leaves the compacted tree."""
    hard_reset_keeps_compacted: bool = False
    """A hard reset leaves the compacted tree."""
    hard_reset_unchecked: bool = False
    """A hard reset does not look for staged changes."""
    transact_ignores_staged: bool = False
    """transact does not look for its own keys in the layers."""
    transact_ignores_compacted: bool = False
    """transact does not look for its own keys in the compacted tree."""
    transact_not_compacted: bool = False
    """transact is not applied to the compacted tree."""
    transact_validates_once: bool = False
    """transact looks at expected values in its first attempt only."""
    commit_ignores_compacted: bool = False
    """A commit builds on the head although there is a compacted tree."""
    reset_keeps_compacted: bool = False
    """A reset leaves the compacted tree."""

    # Whose change is it
    lost_means_failed: bool = False
    """A lost reply of an advance counts as not happened."""
    lost_by_head: bool = False
    """A lost reply of an advance is judged by the head alone."""
    lost_removal_by_absence: bool = False
    """A commit that changes nothing takes the absence of its layers for its own swap, after a lost reply."""
    compacted_by_content: bool = False
    """A compaction knows its own swap, after a lost reply, by the compacted tree alone."""
    record_changed_means_deleted: bool = False
    """A lost reply of a deletion counts as deleted if the record is another one."""
    lost_once: bool = False
    """A swap that was found not to have happened is believed never to happen."""
    key_sought_once: bool = False
    """Only the first attempt looks for the idempotency key."""

    key_not_sought_last: bool = False
    """A commit that ends without one does not look for its key once more."""

    # Cheap deletes
    cheap_delete_entry_alone: bool = False
    """A cheap delete asks for the entry alone, looks at the record before and afterwards, and mends by a tombstone."""
    cheap_delete_token_only: bool = False
    """A cheap delete asks of the branch record for the staging token alone."""
    cheap_delete_without_repository: bool = False
    """A cheap delete does not read the repository's record."""
    cheap_delete_any_base: bool = False
    """A cheap delete does not look into the tree below."""
    cheap_delete_head_only: bool = False
    """A cheap delete looks into the head although there is a compacted tree."""
    cheap_delete_any_layers: bool = False
    """A cheap delete does not look for sealed layers below."""
    lost_delete_repeated: bool = False
    """After a lost answer of a cheap delete, a tombstone makes the removal a success."""
