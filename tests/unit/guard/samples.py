"""A call of every public method of every handle, on one scene: what `test_permissions` judges.

The scene: `main` with two commits; `work`, with a commit of its own and `s` staged; `dev`, with a commit more than
`main`; the tag `v1`; `gone`, a branch that was deleted; the deleted repository `former`; the bare repository `bare`;
the user `ada`, one of the viewers.
A method without a sample fails the test.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from graveler_core.facade.access import Access
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.history import LogEntry
from graveler_core.facade.repository import Repository
from graveler_core.facade.scan import Scan
from graveler_core.facade.snapshot import Snapshot
from graveler_core.guard.scope import Scope
from graveler_core.iam.principal import Principal
from graveler_core.model.compaction import Thresholds
from graveler_core.model.entry import AddressType, Entry
from graveler_core.model.operations import Basis, Put, Remove, Unchanged
from graveler_core.model.secrets_keys import SecretsKeys
from tests.unit.engine.flows import table
from tests.unit.engine.importing.sources import lake
from tests.unit.engine.sorted_rows import PartedRows
from tests.unit.engine.world import World, entry
from tests.unit.facade.sources import (
    completed_again,
    lakefs_again,
    nessie_again,
    new_file,
    not_from_lakefs,
    not_from_nessie,
    nothing,
)
from tests.unit.guard.principals import branch, guarded, repository

Sample = Callable[[Any], object]
NAME = "world-of-samples"
POLICY = [{"effect": "allow", "actions": ["fs:ReadObject"], "resources": ["*"]}]
ELSEWHERE = Entry(address="memory://elsewhere/of/others", address_type=AddressType.FULL, size=1)
NEW = replace(entry(9), address=f"data/{9:032x}")


def scene(name: str = NAME) -> World:
    """The scene; it is forked for each call. Its objects belong to the name, so a process has one scene of a name."""
    world = World(name=name)
    repo = world.repository()
    main = repo.branch("main")
    main.put("content", b"bytes")
    for number in (1, 2):
        main.stage(f"p/{number}", entry(number))
        main.commit(f"main {number}")
    for branch_name, path in (("dev", "d"), ("work", "w")):
        made = repo.create_branch(branch_name, "main")
        made.stage(path, entry(3))
        made.commit(branch_name)
    repo.create_branch("gone", "main")
    repo.delete_branch("gone")
    repo.create_tag("v1", "main")
    work = repo.branch("work")
    work.stage("s", entry(4))
    work.begin_multipart("new")
    world.repository("former")
    world.graveler().delete_repository("former")
    world.graveler().create_bare_repository("bare", world.namespace("bare"))
    users = world.graveler().iam
    users.set_up("root")
    users.create_user("ada")
    users.add_member("Viewers", "ada")
    users.create_credential("ada")
    return world


def handle(world: World, cls: type, principal: Principal) -> Any:
    """A guarded handle on the scene, which nobody was asked for."""
    repo, past = repository(world, principal), world.graveler().repository("repo")
    made: dict[type, Callable[[], object]] = {
        Graveler: lambda: guarded(world, principal),
        Access: lambda: guarded(world, principal).iam,
        Branch: lambda: branch(world, principal, "work"),
        Snapshot: lambda: Snapshot(repo._stores, repo._record, "work", past.at("work")._resolved),
        LogEntry: lambda: replace(next(past.log("work")), _stores=repo._stores),
        Scan: lambda: Scan(
            repo._stores,
            past.scan_diff("main", "work", "w").plan,
            (Scope(repo.id, "main", "main"), Scope(repo.id, "work", "work")),
        ),
    }
    return made.get(cls, lambda: repo)()


def _lake() -> str:
    return lake({"raw/object": b"bytes"}, "memory://lake-of-samples/here")


def _inventory() -> str:
    file = pa.BufferOutputStream()
    pq.write_table(pa.table({"key": ["raw/object"], "size": [5]}), file)
    return lake({"inventory.parquet": file.getvalue().to_pybytes()}, "memory://inventory-of-samples/of")


def _mixed() -> pa.Table:
    columns = {"key": ["n", "s"], "address": [NEW.address, None], "size": [9, None], "removed": [False, True]}
    return pa.table(columns)


def _transaction(b: Branch) -> object:
    head = _open(b).record().commit_id
    operations = [Put("n", ELSEWHERE), Remove("w"), Unchanged("p/1")]
    return b.transact(operations, message="m", committer="eve", on=Basis(head, ("q/",)))


def _begun(b: Branch) -> str:
    """The multipart upload of the scene, found past the guard."""
    free = Repository(replace(b._stores, principal=None), b._record)
    return next(each.id for each in free.multipart_uploads())


def _key(a: Access) -> str:
    """The access key of `ada`, found past the guard."""
    return next(Access(replace(a._stores, principal=None)).credentials("ada")).access_key_id


def _open(b: Branch) -> Branch:
    """The same branch, past the guard."""
    return Branch(replace(b._stores, principal=None), b._record, b.name)


def _past_the_guard(r: Repository) -> Repository:
    """The same repository, past the guard."""
    return Repository(replace(r._stores, principal=None), r._record)


def _fresh(handle: Any, name: str) -> str:
    """A place in the world's own bucket where nothing is yet, not in its one spelling."""
    return f"memory://{NAME}/./{name}/{handle._stores.ids.fresh()}/"


BRANCH: dict[str, Sample] = {
    "put": lambda b: b.put("n", b"new"),
    "put_many": lambda b: b.put_many({"n": b"new", "o": b"new"}, remove=(path for path in ("p/1", "p/2"))),
    "stage": lambda b: b.stage("n", ELSEWHERE),
    "remove": lambda b: b.remove("p/1"),
    "stage_many": lambda b: b.stage_many(_mixed()),
    "stage_sorted": lambda b: b.stage_sorted(PartedRows(lambda: b._stores, [table({"n": 9})])),
    "remove_many": lambda b: b.remove_many(path for path in ("p/1", "p/2")),
    "remove_prefix": lambda b: b.remove_prefix("p/"),
    "reset": lambda b: b.reset(),
    "commit": lambda b: b.commit("staged", committer="eve"),
    "transact": _transaction,
    "hard_reset": lambda b: b.hard_reset("main~1"),
    "compact": lambda b: b.compact(every=timedelta(0)),
    "record": lambda b: b.record(),
    "get": lambda b: b.get("p/1"),
    "read": lambda b: b.read("content"),
    "open": lambda b: b.open("content"),
    "download": lambda b: b.download("content", BytesIO()),
    "upload": lambda b: b.upload("new", b"x"),
    "begin_upload": lambda b: b.begin_upload("new"),
    "link": lambda b: b.link("new", _open(b).get("content")),
    "stage_if": lambda b: b.stage_if("n", ELSEWHERE, None),
    "remove_if": lambda b: b.remove_if("p/1", _open(b).get("p/1")),
    "begin_multipart": lambda b: b.begin_multipart("new"),
    "upload_part": lambda b: b.upload_part("new", _begun(b), 1, b"x"),
    "presign_parts": lambda b: b.presign_parts("new", _begun(b), [1]),
    "uploaded_parts": lambda b: b.uploaded_parts("new", _begun(b)),
    "assemble_multipart": lambda b: b.assemble_multipart("new", _begun(b), []),
    "end_multipart": lambda b: b.end_multipart("new", _begun(b)),
    "uri": lambda b: b.uri("content"),
    "presign": lambda b: b.presign("content"),
    "list": lambda b: b.list("p/"),
    "usage": lambda b: b.usage("p/"),
    "dataset": lambda b: b.dataset("p/", schema=pa.schema([])),
    "scan": lambda b: b.scan("p/"),
    "staged": lambda b: b.staged(),
    "uncommitted": lambda b: b.uncommitted(),
    "pressure": lambda b: b.pressure(exact=True),
    "compactions": lambda b: b.compactions(),
}
REPOSITORY: dict[str, Sample] = {
    "import_prefix": lambda r: r.import_prefix(_lake(), "work", "to", mode="replace", committer="eve"),
    "import_inventory": lambda r: r.import_inventory(
        _inventory(), "memory://listed-of-samples/raw", "work", "to", committer="eve"
    ),
    "import_objects": lambda r: r.import_objects([f"{_lake()}/raw/object"], "work", "to", committer="eve"),
    "begin_import": lambda r: r.begin_import("work", "to", uri=_lake()),
    "begin_dump": lambda r: r.begin_dump(f"memory://{NAME}/dumps"),
    "begin_restore": lambda r: r.begin_restore(f"memory://{NAME}/none"),
    "task": lambda r: r.task("0"),
    "run_task": lambda r: r.run_task("0"),
    "cancel_task": lambda r: r.cancel_task("0"),
    "merge": lambda r: r.merge("dev", into="work", committer="eve", resolve={"d": ELSEWHERE}, unchanged=["q/"]),
    "check_merge": lambda r: r.check_merge("dev", into="work", resolve={"d": ELSEWHERE}, unchanged=["q/"]),
    "cherry_pick": lambda r: r.cherry_pick("dev", onto="work", committer="eve"),
    "transplant": lambda r: r.transplant(["dev"], onto="work"),
    "revert": lambda r: r.revert("work", onto="work", committer="eve"),
    "delete_branch": lambda r: r.delete_branch("work", by="eve"),
    "create_branch": lambda r: r.create_branch("new", "dev"),
    "undelete_branch": lambda r: r.undelete_branch("gone"),
    "restore_refs": lambda r: r.restore_refs(f"memory://{NAME}/none"),
    "create_tag": lambda r: r.create_tag("v2", "dev", tagger="eve"),
    "settings": lambda r: r.settings(),
    "update_settings": lambda r: r.update_settings(default_branch="dev", by="eve"),
    "assign_tag": lambda r: r.assign_tag("v1", "main~1", expected=_past_the_guard(r).tag("v1").commit_id, tagger="eve"),
    "delete_tag": lambda r: r.delete_tag("v1", by="eve"),
    "protection": lambda r: r.protection(),
    "protect": lambda r: r.protect("other"),
    "unprotect": lambda r: r.unprotect("other"),
    "set_protection": lambda r: r.set_protection({}),
    "report_check": lambda r: r.report_check("rows", True, commit="main"),
    "checks": lambda r: r.checks("main"),
    "required_checks": lambda r: r.required_checks(),
    "require_checks": lambda r: r.require_checks("other", ["rows"]),
    "retention": lambda r: r.retention(),
    "retention_versions": lambda r: r.retention_versions(),
    "set_retention": lambda r: r.set_retention(30),
    "metadata": lambda r: r.metadata(),
    "update_metadata": lambda r: r.update_metadata({"owner": "eve"}, remove=["old"]),
    "hooks": lambda r: r.hooks(),
    "set_hook": lambda r: r.set_hook("h", "http://localhost", ["post-commit"]),
    "remove_hook": lambda r: r.remove_hook("h"),
    "hook_runs": lambda r: r.hook_runs(),
    "deliver_hooks": lambda r: r.deliver_hooks(),
    "repeat_hook": lambda r: r.repeat_hook("r1"),
    "read_only": lambda r: r.read_only,
    "set_read_only": lambda r: r.set_read_only(True),
    "set_thresholds": lambda r: r.set_thresholds(Thresholds(layers=5)),
    "repair_indexes": lambda r: r.repair_indexes(),
    "remove_damaged_layouts": lambda r: r.remove_damaged_layouts(),
    "sweep": lambda r: r.sweep(),
    "collect": lambda r: r.collect(inventory=_inventory()),
    "erase": lambda r: r.erase(["s"], why="a request", committer="eve"),
    "erasures": lambda r: r.erasures(),
    "branch": lambda r: r.branch("work"),
    "branches": lambda r: r.branches(),
    "tag": lambda r: r.tag("v1"),
    "tags": lambda r: r.tags(),
    "at": lambda r: r.at("dev"),
    "commit": lambda r: r.commit("dev"),
    "log": lambda r: r.log("dev", since="main~1", prefix="d"),
    "commits": lambda r: r.commits(),
    "read_objects": lambda r: r.read_objects([f"commit/{_past_the_guard(r).commit('dev').id}"]),
    "stored_objects": lambda r: r.stored_objects(),
    "reflog": lambda r: r.reflog(),
    "mend_reflog": lambda r: r.mend_reflog(),
    "trim_reflog": lambda r: r.trim_reflog(),
    "check_references": lambda r: r.check_references(),
    "verify_tag": lambda r: r.verify_tag("v1"),
    "dump_refs": lambda r: r.dump_refs(_fresh(r, "dumps")),
    "export_nessie": lambda r: r.export_nessie(_fresh(r, "exports")),
    "diff": lambda r: r.diff("main", "dev", "d"),
    "scan_diff": lambda r: r.scan_diff("main", "dev", "d"),
    "open_scan": lambda r: r.open_scan(_past_the_guard(r).at("work").scan("p/").plan),
    "next_offset": lambda r: r.next_offset("dev", until=_past_the_guard(r).commit("work").id),
    "diff_summary": lambda r: r.diff_summary("main", "dev"),
    "merge_base": lambda r: r.merge_base("main", "dev"),
    "conflicts": lambda r: r.conflicts("dev", "work"),
    "fsck": lambda r: r.fsck(data=True),
    "multipart_uploads": lambda r: r.multipart_uploads(),
    "thresholds": lambda r: r.thresholds(),
    "compactions": lambda r: r.compactions(),
}
STORE: dict[str, Sample] = {
    "create_repository": lambda g: g.create_repository("other", _fresh(g, "other"), committer="eve"),
    "create_bare_repository": lambda g: g.create_bare_repository("other", _fresh(g, "other")),
    "repository": lambda g: g.repository("repo"),
    "list_repositories": lambda g: g.list_repositories("re"),
    "pressures": lambda g: g.pressures("repo/w"),
    "delete_repository": lambda g: g.delete_repository("repo"),
    "undelete_repository": lambda g: g.undelete_repository("former"),
    "deleted_repositories": lambda g: g.deleted_repositories(),
    "clean": lambda g: g.clean(repository="former"),
    "empty_namespaces": lambda g: g.empty_namespaces(),
    "waiting": lambda g: g.waiting(),
    "migrate_from": lambda g: g.migrate_from(nothing()),
    "migrate_lakefs": lambda g: lakefs_again(g, _fresh(g, "flights")),
    "verify_lakefs": not_from_lakefs,
    "migrate_nessie": lambda g: nessie_again(g, _fresh(g, "flights")),
    "verify_nessie": not_from_nessie,
    "complete_migration": completed_again,
    "compare_with": lambda g: g.compare_with(nothing()),
    "verify_against": lambda g: g.verify_against(nothing()),
    "migrated_ids": lambda g: g.migrated_ids("repo"),
    "diagnostics": lambda g: g.diagnostics(new_file(), repository="repo", user_data=True),
    "doctor": lambda g: g.doctor(),
}
SNAPSHOT: dict[str, Sample] = {
    "get": lambda s: s.get("p/1"),
    "read": lambda s: s.read("content"),
    "open": lambda s: s.open("content"),
    "download": lambda s: s.download("content", BytesIO()),
    "uri": lambda s: s.uri("content"),
    "presign": lambda s: s.presign("content"),
    "list": lambda s: s.list("p/"),
    "to_arrow": lambda s: s.to_arrow("p/"),
    "tree_id": lambda s: s.tree_id(),
    "usage": lambda s: s.usage("p/"),
    "dataset": lambda s: s.dataset("p/", schema=pa.schema([])),
    "scan": lambda s: s.scan("p/"),
}
SCAN: dict[str, Sample] = {
    "partitions": lambda s: s.partitions(),
    "read": lambda s: s.read(),
}
LOG_ENTRY: dict[str, Sample] = {
    "changes": lambda e: e.changes(),
    "summary": lambda e: e.summary(),
}
ACCESS: dict[str, Sample] = {
    "set_up": lambda a: a.set_up("root"),
    "users": lambda a: a.users("a"),
    "user": lambda a: a.user("ada"),
    "create_user": lambda a: a.create_user("eve"),
    "delete_user": lambda a: a.delete_user("ada"),
    "groups": lambda a: a.groups("V"),
    "group": lambda a: a.group("Viewers"),
    "create_group": lambda a: a.create_group("new"),
    "delete_group": lambda a: a.delete_group("Viewers"),
    "members": lambda a: a.members("Viewers"),
    "groups_of": lambda a: a.groups_of("ada"),
    "add_member": lambda a: a.add_member("Admins", "ada"),
    "remove_member": lambda a: a.remove_member("Viewers", "ada"),
    "policies": lambda a: a.policies("FS"),
    "policy": lambda a: a.policy("FSReadAll"),
    "create_policy": lambda a: a.create_policy("new", POLICY),
    "update_policy": lambda a: a.update_policy("FSReadAll", POLICY),
    "delete_policy": lambda a: a.delete_policy("FSReadAll"),
    "attach_policy": lambda a: a.attach_policy("FSFullAccess", user="ada"),
    "detach_policy": lambda a: a.detach_policy("FSReadAll", group="Viewers"),
    "policies_of": lambda a: a.policies_of(group="Viewers"),
    "credentials": lambda a: a.credentials("ada"),
    "create_credential": lambda a: a.create_credential("ada"),
    "reseal_secrets": lambda a: a.reseal_secrets(SecretsKeys(SecretsKeys.new())),
    "delete_credential": lambda a: a.delete_credential("ada", _key(a)),
    "simulate": lambda a: a.simulate("ada", "fs:ReadObject", "arn:graveler:fs:::repository/repo"),
}
HANDLES: dict[type, dict[str, Sample]] = {
    Graveler: STORE,
    Access: ACCESS,
    Repository: REPOSITORY,
    Branch: BRANCH,
    Snapshot: SNAPSHOT,
    LogEntry: LOG_ENTRY,
    Scan: SCAN,
}
CLEAN = {"merge", "check_merge", "cherry_pick", "transplant", "revert", "hard_reset"}
"""Methods that want nothing staged on `work`."""
ERRORS = {
    "set_up": "access control is already set up",
    "verify_tag": "there is no hook to verify it",
    "remove_hook": "has no webhook with this name",
    "repeat_hook": "has no run of a hook with this id",
    "assemble_multipart": "must be at least one",
    "unprotect": "repository 'repo' has no rule with it",
    "restore_refs": "repository 'repo'",
    "presign": "presigned URLs exist only for",
    "presign_parts": "presigned URLs exist only for",
    "task": "task '0' does not exist",
    "run_task": "task '0' does not exist",
    "cancel_task": "task '0' does not exist",
}
"""Methods whose sample is let through, and then fails by what it finds."""
EXEMPT: dict[type, dict[str, str]] = {
    Graveler: {
        "close": "gives back what the handle holds",
        "iam": "a handle, which asks itself",
        "user": "the caller's own name",
    },
    Access: {"is_set_up": "whoever opens a store finds out"},
    Repository: dict.fromkeys(
        ("id", "uid", "storage_namespace", "default_branch", "creation_date", "state"),
        "known since the handle was asked for",
    ),
    Branch: {"id": "the name that the handle was asked for by"},
    Snapshot: {"commit_id": "known since the handle was asked for"},
    LogEntry: {"token": "the place in a log that was asked for"},
    Scan: {
        "plan": "known since the handle was asked for",
        "schema": "that of every scan of its kind",
        "within": "a handle on less of the same, which asks itself",
    },
}
"""Methods and properties that ask nobody, and why."""
