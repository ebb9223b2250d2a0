"""Every public verb of the handles: what it does to a branch, and a call of it on the scene of `test_protection`.

The scene: `work`, at the second of two commits of `main`, then a commit of its own; `dev`, with a commit more than
`main`; the tag `v1`; `gone`, a branch that was deleted. A verb that is missing here fails `test_protection`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from io import BytesIO
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from graveler_core.errors import InvalidInput, NotFound
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model.compaction import Thresholds
from graveler_core.model.operations import Put
from graveler_core.model.protection import BranchAction
from tests.unit.engine.flows import table
from tests.unit.engine.importing.sources import lake
from tests.unit.engine.sorted_rows import PartedRows
from tests.unit.engine.world import entry
from tests.unit.facade.sources import (
    completed_again,
    lakefs_again,
    nessie_again,
    new_file,
    not_from_lakefs,
    not_from_nessie,
    nothing,
)

NEW = entry(9)


@dataclass(frozen=True, slots=True)
class Verb:
    """A call, and what may forbid it."""

    call: Callable[[Any], object]
    action: BranchAction | None = None
    """What a rule must block to forbid it."""
    changes: bool = False
    """Whether a read-only repository forbids it; so it does whatever is an action."""
    staged: bool = False
    """Whether something is staged on `work` beforehand."""
    single: bool = False
    """Whether it writes entry by entry, without a swap."""


def _repeat_hook(repo: Repository) -> None:
    with suppress(NotFound):  # no hook was ever called
        repo.repeat_hook("r1")


def _read(call: Callable[[Any], object]) -> Verb:
    return Verb(call)


def _no_task(call: Callable[[str], object]) -> None:
    with suppress(NotFound):
        call("0")


def _linked(branch: Branch) -> None:
    uploaded = branch.upload("n", b"x")
    branch.link("n", uploaded)


def _all(listing: Any) -> list[object]:
    return list(listing)


def _unsigned(branch: Branch) -> None:
    with suppress(InvalidInput):  # a store in memory signs no URLs
        branch.presign("content")


def _without_an_upload(call: Callable[[], object]) -> None:
    with suppress(NotFound):  # what a multipart upload may do: tests/unit/engine/staging
        call()


def _restored(repository: Repository) -> None:
    with suppress(InvalidInput):  # it is not bare; `tests/unit/transfer` has one that is bare and read-only
        repository.restore_refs("memory://dumps-of-verbs/none")


def _undeleted(g: Graveler) -> None:
    g.create_repository("short-lived", f"memory://short-lived-of-verbs/{uuid4()}")
    g.delete_repository("short-lived")
    g.undelete_repository("short-lived")


def _lake() -> str:
    return lake({"object": b"bytes"})


def _import_from_inventory(repository: Repository) -> None:
    file = pa.BufferOutputStream()
    pq.write_table(pa.table({"key": ["raw/object"], "size": [5]}), file)
    inventory = lake({"inventory.parquet": file.getvalue().to_pybytes()})
    repository.import_inventory(inventory, "memory://listed/raw", "work")


def _verified(repository: Repository) -> None:
    with suppress(InvalidInput):  # nothing is there to verify it
        repository.verify_tag("v1")


BRANCH: dict[str, Verb] = {
    "put": Verb(lambda b: b.put("n", b"new"), BranchAction.WRITE, single=True),
    "put_many": Verb(lambda b: b.put_many({"n": b"new", "o": b"new"}, remove=["p/1"]), BranchAction.WRITE, single=True),
    "stage": Verb(lambda b: b.stage("n", NEW), BranchAction.WRITE, single=True),
    "stage_if": Verb(lambda b: b.stage_if("n", NEW, None), BranchAction.WRITE),
    "remove_if": Verb(lambda b: b.remove_if("p/1", b.get("p/1")), BranchAction.WRITE),
    "begin_multipart": Verb(lambda b: b.begin_multipart("n"), BranchAction.WRITE),
    "remove": Verb(lambda b: b.remove("p/1"), BranchAction.WRITE, single=True),
    "stage_many": Verb(lambda b: b.stage_many(table({"n": 9, "m": 9})), BranchAction.WRITE),
    "stage_sorted": Verb(
        lambda b: b.stage_sorted(PartedRows(lambda: b._stores, [table({"n": 9})])), BranchAction.WRITE
    ),
    "remove_many": Verb(lambda b: b.remove_many(["p/1", "p/2"]), BranchAction.WRITE),
    "remove_prefix": Verb(lambda b: b.remove_prefix("p/"), BranchAction.WRITE),
    "reset": Verb(lambda b: b.reset(), BranchAction.WRITE, staged=True),
    "commit": Verb(lambda b: b.commit("staged"), BranchAction.COMMIT, staged=True),
    "transact": Verb(lambda b: b.transact([Put("n", NEW)], message="put"), BranchAction.COMMIT),
    "hard_reset": Verb(lambda b: b.hard_reset("main~1"), BranchAction.FORCE),
    "compact": Verb(lambda b: b.compact(every=timedelta(0)), staged=True),
    "id": _read(lambda b: b.id),
    "record": _read(lambda b: b.record()),
    "get": _read(lambda b: b.get("p/1")),
    "read": _read(lambda b: b.read("content")),
    "download": _read(lambda b: b.download("content", BytesIO())),
    "upload": _read(lambda b: b.upload("n", b"x")),
    "begin_upload": Verb(lambda b: b.begin_upload("n"), BranchAction.WRITE, changes=True),
    "link": Verb(_linked, BranchAction.WRITE, changes=True),
    "upload_part": _read(lambda b: _without_an_upload(lambda: b.upload_part("n", "0" * 32, 1, b"x"))),
    "presign_parts": _read(lambda b: _without_an_upload(lambda: b.presign_parts("n", "0" * 32, [1]))),
    "uploaded_parts": _read(lambda b: _without_an_upload(lambda: b.uploaded_parts("n", "0" * 32))),
    "assemble_multipart": _read(lambda b: _without_an_upload(lambda: b.assemble_multipart("n", "0" * 32, []))),
    "end_multipart": _read(lambda b: _without_an_upload(lambda: b.end_multipart("n", "0" * 32))),
    "open": _read(lambda b: b.open("content").read()),
    "uri": _read(lambda b: b.uri("content")),
    "presign": _read(_unsigned),
    "list": _read(lambda b: _all(b.list())),
    "usage": _read(lambda b: _all(b.usage())),
    "dataset": _read(lambda b: b.dataset(schema=pa.schema([]))),
    "scan": _read(lambda b: b.scan()),
    "staged": _read(lambda b: _all(b.staged())),
    "uncommitted": _read(lambda b: _all(b.uncommitted())),
    "pressure": _read(lambda b: b.pressure(exact=True)),
    "compactions": _read(lambda b: b.compactions()),
}
VARIANTS: dict[str, Verb] = {
    "reset of a prefix": Verb(lambda b: b.reset("s"), BranchAction.WRITE, staged=True),
    "removal of what is staged": Verb(lambda b: b.remove("s"), BranchAction.WRITE, staged=True, single=True),
    "removal of many that are staged": Verb(lambda b: b.remove_many(["s"]), BranchAction.WRITE, staged=True),
    "bulk write of nothing": Verb(lambda b: b.stage_many(table({})), BranchAction.WRITE),
    "empty commit": Verb(lambda b: b.commit("nothing", allow_empty=True), BranchAction.COMMIT),
    "commit under a key": Verb(lambda b: b.commit("staged", idempotency_key="k"), BranchAction.COMMIT, staged=True),
}
"""Other calls of the verbs of a branch, which take other ways."""
REPOSITORY: dict[str, Verb] = {
    "import_prefix": Verb(lambda r: r.import_prefix(_lake(), "work"), BranchAction.COMMIT),
    "import_inventory": Verb(_import_from_inventory, BranchAction.COMMIT),
    "import_objects": Verb(lambda r: r.import_objects([f"{_lake()}/object"], "work"), BranchAction.COMMIT),
    "merge": Verb(lambda r: r.merge("dev", into="work"), BranchAction.MERGE),
    "cherry_pick": Verb(lambda r: r.cherry_pick("dev", onto="work"), BranchAction.COMMIT),
    "transplant": Verb(lambda r: r.transplant(["dev"], onto="work"), BranchAction.COMMIT),
    "revert": Verb(lambda r: r.revert("work", onto="work"), BranchAction.COMMIT),
    "delete_branch": Verb(lambda r: r.delete_branch("work"), BranchAction.FORCE),
    "create_branch": Verb(lambda r: r.create_branch("new", "work"), changes=True),
    "undelete_branch": Verb(lambda r: r.undelete_branch("gone"), changes=True),
    "restore_refs": _read(_restored),
    "create_tag": Verb(lambda r: r.create_tag("v2", "work"), changes=True),
    "settings": _read(lambda r: r.settings()),
    "update_settings": _read(lambda r: r.update_settings(default_branch="dev", description="of verbs")),
    "assign_tag": Verb(lambda r: r.assign_tag("v1", "main~1", expected=r.commit("v1").id), changes=True),
    "delete_tag": Verb(lambda r: r.delete_tag("v1"), changes=True),
    "scan_diff": _read(lambda r: r.scan_diff("main", "work")),
    "open_scan": _read(lambda r: r.open_scan(r.at("main").scan().plan)),
    "next_offset": _read(lambda r: r.next_offset("work")),
    "protection": _read(lambda r: r.protection()),
    "protect": _read(lambda r: r.protect("other")),
    "unprotect": _read(lambda r: r.unprotect("work")),
    "set_protection": _read(lambda r: r.set_protection({})),
    "report_check": Verb(lambda r: r.report_check("rows", True, commit="work"), changes=True),
    "checks": _read(lambda r: r.checks("work")),
    "required_checks": _read(lambda r: r.required_checks()),
    "require_checks": _read(lambda r: r.require_checks("other", ["rows"])),
    "retention": _read(lambda r: r.retention()),
    "retention_versions": _read(lambda r: r.retention_versions()),
    "begin_import": _read(
        lambda r: r.begin_import("work", uri=lake({"raw/object": b"x"}, "memory://lake-of-tasks/here"))
    ),
    "begin_dump": _read(lambda r: r.begin_dump("memory://dumps-of-verbs/tasks")),
    "begin_restore": _read(lambda r: r.begin_restore("memory://dumps-of-verbs/none")),
    "task": _read(lambda r: _no_task(r.task)),
    "run_task": _read(lambda r: _no_task(r.run_task)),
    "cancel_task": _read(lambda r: _no_task(r.cancel_task)),
    "set_retention": _read(lambda r: r.set_retention(30)),
    "metadata": _read(lambda r: r.metadata()),
    "update_metadata": _read(lambda r: r.update_metadata({"owner": "eve"}, remove=["old"])),
    "hooks": _read(lambda r: r.hooks()),
    "set_hook": _read(lambda r: r.set_hook("h", "http://localhost", ["post-commit"])),
    "remove_hook": _read(lambda r: (r.set_hook("h", "http://localhost", ["post-commit"]), r.remove_hook("h"))),
    "hook_runs": _read(lambda r: r.hook_runs()),
    "deliver_hooks": _read(lambda r: r.deliver_hooks()),
    "repeat_hook": _read(_repeat_hook),
    "read_only": _read(lambda r: r.read_only),
    "set_read_only": _read(lambda r: r.set_read_only(False)),
    "set_thresholds": _read(lambda r: r.set_thresholds(Thresholds(layers=5))),
    "repair_indexes": _read(lambda r: r.repair_indexes()),
    "remove_damaged_layouts": _read(lambda r: r.remove_damaged_layouts()),
    "sweep": _read(lambda r: r.sweep()),
    "collect": _read(lambda r: r.collect()),
    "erase": Verb(lambda r: r.erase(["w"], why="a request", shared=True), changes=True),
    "erasures": _read(lambda r: r.erasures()),
    "id": _read(lambda r: r.id),
    "uid": _read(lambda r: r.uid),
    "storage_namespace": _read(lambda r: r.storage_namespace),
    "default_branch": _read(lambda r: r.default_branch),
    "creation_date": _read(lambda r: r.creation_date),
    "state": _read(lambda r: r.state),
    "branch": _read(lambda r: r.branch("work")),
    "branches": _read(lambda r: _all(r.branches())),
    "tag": _read(lambda r: r.tag("v1")),
    "tags": _read(lambda r: _all(r.tags())),
    "at": _read(lambda r: _all(r.at("work").list())),
    "commit": _read(lambda r: r.commit("work")),
    "log": _read(lambda r: _all(r.log("work"))),
    "commits": _read(lambda r: _all(r.commits())),
    "read_objects": _read(lambda r: r.read_objects([f"commit/{r.commit('work').id}"])),
    "stored_objects": _read(lambda r: _all(r.stored_objects())),
    "reflog": _read(lambda r: _all(r.reflog())),
    "mend_reflog": _read(lambda r: r.mend_reflog()),
    "trim_reflog": _read(lambda r: r.trim_reflog()),
    "check_references": _read(lambda r: _all(r.check_references())),
    "verify_tag": _read(_verified),
    "dump_refs": _read(lambda r: r.dump_refs(f"memory://dumps-of-verbs/{uuid4()}")),
    "export_nessie": _read(lambda r: r.export_nessie(f"memory://exports-of-verbs/{uuid4()}")),
    "diff": _read(lambda r: _all(r.diff("main", "work"))),
    "diff_summary": _read(lambda r: r.diff_summary("main", "work")),
    "merge_base": _read(lambda r: r.merge_base("main", "work")),
    "conflicts": _read(lambda r: _all(r.conflicts("dev", "work"))),
    "check_merge": Verb(lambda r: r.check_merge("dev", into="work"), BranchAction.MERGE),
    "fsck": _read(lambda r: _all(r.fsck())),
    "multipart_uploads": _read(lambda r: r.multipart_uploads()),
    "thresholds": _read(lambda r: r.thresholds()),
    "compactions": _read(lambda r: _all(r.compactions())),
}
STORE: dict[str, Verb] = {
    "delete_repository": Verb(lambda g: g.delete_repository("repo"), changes=True),
    "create_repository": _read(lambda g: g.create_repository("other", "memory://other-of-verbs/data")),
    "create_bare_repository": _read(lambda g: g.create_bare_repository("other", "memory://bare-of-verbs/data")),
    "repository": _read(lambda g: g.repository("repo")),
    "list_repositories": _read(lambda g: _all(g.list_repositories())),
    "pressures": _read(lambda g: _all(g.pressures())),
    "clean": _read(lambda g: g.clean()),
    "empty_namespaces": _read(lambda g: g.empty_namespaces()),
    "waiting": _read(lambda g: g.waiting()),
    "migrate_from": _read(lambda g: g.migrate_from(nothing())),
    "migrate_lakefs": _read(lambda g: lakefs_again(g, "memory://lakefs-of-verbs/data")),
    "verify_lakefs": _read(not_from_lakefs),
    "migrate_nessie": _read(lambda g: nessie_again(g, "memory://nessie-of-verbs/data")),
    "verify_nessie": _read(not_from_nessie),
    "complete_migration": _read(completed_again),
    "compare_with": _read(lambda g: [*g.compare_with(nothing())]),
    "verify_against": _read(lambda g: [*g.verify_against(nothing())]),
    "migrated_ids": _read(lambda g: _all(g.migrated_ids("repo"))),
    "diagnostics": _read(lambda g: g.diagnostics(new_file())),
    "doctor": _read(lambda g: g.doctor()),
    "deleted_repositories": _read(lambda g: _all(g.deleted_repositories())),
    "undelete_repository": _read(_undeleted),
    "iam": _read(lambda g: g.iam),
    "user": _read(lambda g: g.user),
    "close": _read(lambda g: None),
}
HANDLES: dict[type, dict[str, Verb]] = {Branch: BRANCH, Repository: REPOSITORY, Graveler: STORE}
