"""How often each call is drawn, and the themes: fixed selections of calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graveler_core.stores import Stores
from tests.proofs.simulation import approvals, cleaning, collecting, unreached, uploading
from tests.proofs.simulation.actors import (
    change,
    cherry_pick,
    commit_all,
    compact,
    get,
    hard_reset,
    listing,
    overwrite,
    put,
    put_again,
    put_if,
    put_many,
    remove,
    remove_prefix,
    reset_all,
    reset_path,
    reset_prefix,
    revert,
    transact_one,
    versioned_listing,
)
from tests.proofs.simulation.approvals import merge_reported, report, require
from tests.proofs.simulation.cast import Act, Cast
from tests.proofs.simulation.cleaning import bring_back, clean_up, delete_and_bring_back, delete_only
from tests.proofs.simulation.collecting import (
    collect_all,
    collect_slowly,
    collect_twice,
    days_pass,
    delete_other,
    empty_all,
    forget_elsewhere,
    name_elsewhere,
    name_old,
    put_content,
    set_rules,
    store_content,
    upload_for_days,
)
from tests.proofs.simulation.erasing import erase_some, put_slowly
from tests.proofs.simulation.lifecycles import (
    other_repository,
    protect,
    recreate_branch,
    recreate_repository,
    time_passes,
)
from tests.proofs.simulation.merging import merge_side, publish
from tests.proofs.simulation.references import THEME, drop_one, fold_log, move_one, name_one, undelete_one
from tests.proofs.simulation.sweeping import SUSPENDED, fold_head, sweep_after_a_day, sweep_all
from tests.proofs.simulation.unreached import (
    collect_for_days,
    drop_some,
    lose_commits,
    months_pass,
    move_told,
    name_told,
    write_oddly,
)
from tests.proofs.simulation.uploading import purge_all, upload_and_commit

ACTS: dict[Act, int] = {
    put: 10,
    remove: 3,
    put_many: 4,
    remove_prefix: 2,
    reset_prefix: 2,
    reset_all: 1,
    hard_reset: 1,
    get: 4,
    listing: 3,
    commit_all: 8,
    merge_side: 2,
    cherry_pick: 1,
    revert: 1,
    transact_one: 3,
    compact: 3,
    recreate_branch: 2,
}
"""How often each is drawn."""
LIFECYCLE: dict[Act, int] = {recreate_repository: 6, other_repository: 4, time_passes: 2}
"""Only in some histories: little else survives them."""
THEMES: dict[str, tuple[Act, ...]] = {
    "writes": (put, remove, commit_all),
    "resets": (put, commit_all, reset_all, compact),
    "branches": (put, put_many, commit_all, recreate_branch),
    "heads": (put, merge_side, cherry_pick, revert, compact),
    "transactions": (put, commit_all, transact_one, compact),
}
"""What some histories consist of alone: calls that get in each other's way."""
NAMING: dict[Act, int] = {name_one: 4, drop_one: 6, undelete_one: 2, move_one: 4, fold_log: 3}
UNREACHED: dict[Act, int] = {
    recreate_branch: 2,
    lose_commits: 6,
    write_oddly: 8,
    name_told: 14,
    move_told: 14,
    drop_some: 10,
    collect_for_days: 20,
    months_pass: 1,
}
OTHERS: dict[Act, int] = (
    {
        change: 5,
        versioned_listing: 12,
        sweep_all: 5,
        sweep_after_a_day: 6,
        fold_head: 3,
        put_again: 4,
        put_if: 20,
        reset_path: 8,
        overwrite: 8,
        publish: 6,
        upload_and_commit: 8,
        purge_all: 5,
        protect: 5,
        require: 8,
        report: 5,
        merge_reported: 8,
        clean_up: 9,
        bring_back: 9,
        delete_only: 4,
        delete_and_bring_back: 7,
        put_content: 8,
        store_content: 3,
        name_elsewhere: 8,
        forget_elsewhere: 3,
        delete_other: 5,
        collect_all: 8,
        collect_twice: 12,
        collect_slowly: 6,
        days_pass: 8,
        empty_all: 6,
        upload_for_days: 4,
        set_rules: 5,
        erase_some: 14,
        put_slowly: 14,
        name_old: 8,
    }
    | NAMING
    | UNREACHED
)
"""Only in themes."""
RARE_THEMES: dict[str, tuple[Act, ...]] = {
    "repositories": (get, recreate_repository, other_repository),
    "merges": (put, commit_all, merge_side, publish),
    "prefixes": (put, commit_all, reset_prefix),
    "compactions": (put, put_many, remove_prefix, reset_prefix, commit_all, hard_reset, compact, compact, compact),
    "removals": (put_again, remove, transact_one, put_again, remove, transact_one, commit_all),
    "removals and repositories": (put_again, remove, recreate_repository),
    "indexes": (change, change, revert),
    "overwrites": (put, put_many, remove, remove_prefix, reset_prefix, commit_all, transact_one, overwrite, compact),
    "conditions": (put_if, remove, put_many, commit_all, merge_side, transact_one, recreate_branch),
    "path resets": (put, put_if, remove, reset_path, reset_all, commit_all, transact_one, compact),
    "versions": (
        put,
        remove,
        remove_prefix,
        reset_prefix,
        reset_all,
        commit_all,
        hard_reset,
        compact,
        versioned_listing,
    ),
    "moves": (remove, change, compact, compact, hard_reset, hard_reset, hard_reset),
    uploading.THEME: (put, commit_all, compact, upload_and_commit, purge_all),
    "sweeps": (change, fold_head, sweep_all, compact),
    approvals.THEME: (
        put,
        remove,
        put_many,
        reset_all,
        commit_all,
        merge_side,
        transact_one,
        recreate_branch,
        protect,
        require,
        report,
        merge_reported,
        merge_reported,
    ),
    "protected removals": (put_again, remove, commit_all, protect),
    collecting.THEME: (
        *ACTS,
        upload_and_commit,
        upload_for_days,
        purge_all,
        put_content,
        store_content,
        name_elsewhere,
        forget_elsewhere,
        collect_all,
        collect_twice,
        days_pass,
    ),
    collecting.RACES: (put, transact_one, reset_all, commit_all, collect_all, collect_twice, collect_slowly, days_pass),
    collecting.LONG: (put, commit_all, delete_other, upload_for_days, days_pass),
    collecting.EMPTIED: (put_content, delete_only, clean_up, name_elsewhere, forget_elsewhere, days_pass, empty_all),
    collecting.RETENTION: (
        put,
        commit_all,
        hard_reset,
        revert,
        recreate_branch,
        name_old,
        set_rules,
        collect_twice,
        days_pass,
    ),
    collecting.ERASURES: (
        put,
        put_many,
        put_content,
        remove,
        transact_one,
        commit_all,
        reset_all,
        compact,
        revert,
        recreate_branch,
        name_elsewhere,
        forget_elsewhere,
        erase_some,
    ),
    collecting.ERASED_PUTS: (put_content, commit_all, put_slowly, erase_some),
    collecting.REPOSITORIES: (
        put,
        put_many,
        put_content,
        remove,
        reset_all,
        commit_all,
        compact,
        recreate_branch,
        recreate_repository,
        delete_only,
        delete_and_bring_back,
        bring_back,
        clean_up,
        name_elsewhere,
        forget_elsewhere,
        delete_other,
        collect_all,
        collect_twice,
        days_pass,
        empty_all,
    ),
    unreached.THEME: tuple(UNREACHED),
    unreached.REPOSITORIES: (*UNREACHED, recreate_repository),
    THEME: tuple(NAMING),
    "folds": (change, fold_head, fold_head, sweep_all, sweep_all),
    SUSPENDED: (change, change, commit_all, fold_head, compact, transact_one, merge_side, revert, sweep_after_a_day),
    cleaning.AMONG_OTHERS: (
        put,
        put_many,
        commit_all,
        recreate_branch,
        recreate_repository,
        other_repository,
        time_passes,
        delete_only,
        delete_and_bring_back,
        bring_back,
        clean_up,
    ),
    cleaning.LAYERS: (put, put_many, put_many, commit_all, reset_all, recreate_branch, clean_up),
    cleaning.CONTESTED: (delete_only, delete_and_bring_back, clean_up),
    cleaning.UNHEARD: (delete_and_bring_back, clean_up),
    cleaning.RESTORATIONS: (delete_only, delete_and_bring_back, bring_back, time_passes),
    cleaning.AT_THE_END: (
        put,
        put_many,
        commit_all,
        reset_all,
        recreate_branch,
        recreate_repository,
        time_passes,
        delete_only,
        delete_and_bring_back,
        bring_back,
    ),
}
"""Only where they are asked for."""


def life(cast: Cast, stores: Stores, name: str, acts: Sequence[Act]) -> Callable[[], None]:
    """A process that does these acts one after the other."""

    def body() -> None:
        for act in acts:
            act(cast, stores, name)

    return body
