"""All steps with their weights, and the public methods that none of them calls, with the reason."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.proofs.differential.steps import (
    checking,
    collecting,
    committing,
    history,
    merging,
    moving,
    naming,
    reading,
    replaying,
    transacting,
    upkeep,
    writing,
)
from tests.proofs.differential.world import World

Step = Callable[[World, Random], None]

STEPS: dict[Step, float] = {
    writing.put: 5,
    writing.stage: 24,
    writing.remove: 14,
    writing.stage_many: 7,
    writing.remove_many: 5,
    writing.remove_prefix: 3,
    writing.reset: 2,
    writing.reset_path: 2,
    writing.bad_paths: 0.5,
    committing.commit: 10,
    committing.compact: 1.5,
    committing.hard_reset: 2,
    committing.pressure: 0.5,
    committing.thresholds: 0.2,
    transacting.transact: 5,
    transacting.take_over: 0.4,
    merging.merge: 6,
    merging.conflicts: 1,
    replaying.cherry_pick: 3,
    replaying.revert: 3,
    replaying.transplant: 2,
    naming.create_branch: 5,
    naming.delete_branch: 1,
    naming.undelete_branch: 0.6,
    naming.tags: 1,
    naming.verify_tag: 0.1,
    naming.list_names: 0.3,
    naming.reflog: 1,
    naming.mend_reflog: 0.1,
    naming.protect: 0.3,
    naming.unprotect: 0.5,
    naming.read_only: 0.2,
    checking.report: 2,
    checking.require: 0.4,
    checking.approve: 0.6,
    checking.merges_with_rules: 1.5,
    checking.bad_reports: 0.2,
    checking.look: 0.5,
    reading.lookups: 5,
    reading.listing: 3,
    reading.snapshot: 2,
    reading.uncommitted: 2,
    reading.whole: 0.2,
    history.log: 1.2,
    history.diff: 2,
    history.merge_base: 1,
    history.commits: 0.4,
    upkeep.fsck: 0.1,
    upkeep.repair_indexes: 0.1,
    upkeep.sweep: 0.2,
    collecting.collect_content: 0.3,
    collecting.stage_again: 1,
    upkeep.clean: 0.15,
    upkeep.time_passes: 0.5,
    upkeep.doctor: 0.05,
    upkeep.properties: 0.2,
    moving.lifecycle: 0.1,
    moving.dump: 0.06,
}

SQL = "reads a SQL database: tests/unit/transfer/migration"
LAKEFS = "reads files of lakeFS: tests/integration/lakefs"
NESSIE = "reads and writes exports of Nessie: tests/integration/nessie"
LEFT_OUT = {
    "Graveler.compare_with": SQL,
    "Graveler.migrate_from": SQL,
    "Graveler.migrate_lakefs": LAKEFS,
    "Graveler.complete_migration": NESSIE,
    "Graveler.migrate_nessie": NESSIE,
    "Graveler.migrated_ids": SQL,
    "Graveler.verify_against": SQL,
    "Graveler.verify_lakefs": LAKEFS,
    "Graveler.verify_nessie": NESSIE,
    "Repository.export_nessie": NESSIE,
    "Graveler.diagnostics": "writes an archive that depends on the machine: tests/unit/diagnostics",
    "Graveler.iam": "users and policies are another subject: tests/unit/iam, tests/unit/facade",
    "Repository.tag": "shows one of the tags that are listed: tests/integration/test_cli_history.py",
    "Repository.settings": "settings in every order of calls: tests/unit/engine/references/test_repository_settings.py",
    "Repository.update_settings": "as `settings`",
    "Repository.assign_tag": "conditional changes in every order: tests/unit/engine/references/test_expected.py",
    **dict.fromkeys(
        ("Repository.read_objects", "Repository.stored_objects"),
        "records, compared with what is stored: tests/behaviours/test_nessie_object_table.py",
    ),
    "Branch.stage_sorted": "takes rows of a cluster: tests/unit/engine, tests/jobs",
    **dict.fromkeys(
        ("Branch.scan", "Snapshot.scan", "Repository.scan_diff", "Repository.open_scan", "Repository.next_offset"),
        "partitions are compared with listings: tests/unit/facade/test_scan.py",
    ),
    **dict.fromkeys(
        (
            "Branch.download",
            "Snapshot.download",
            "Branch.upload",
            "Branch.begin_upload",
            "Branch.link",
            "Branch.open",
            "Snapshot.open",
            "Branch.uri",
            "Snapshot.uri",
            "Branch.presign",
            "Snapshot.presign",
        ),
        "the object of one entry: tests/unit/facade/test_content.py",
    ),
    "Branch.remove_if": "as `stage_if`",
    "Branch.stage_if": "compares with what a reader has seen: tests/unit/engine/staging/test_conditional.py",
    **dict.fromkeys(
        (
            "Branch.begin_multipart",
            "Branch.upload_part",
            "Branch.presign_parts",
            "Branch.uploaded_parts",
            "Branch.assemble_multipart",
            "Branch.end_multipart",
            "Repository.multipart_uploads",
        ),
        "store content that an entry names later: tests/unit/engine/staging/test_multipart.py",
    ),
    **dict.fromkeys(
        ("Repository.collect", "Graveler.empty_namespaces"), "`collecting` calls their flows with another clock"
    ),
    **dict.fromkeys(
        ("Repository.retention", "Repository.retention_versions", "Repository.set_retention"),
        "the model has no ages of commits: tests/unit/gc/test_retention.py, tests/unit/gc/test_expiring_commits.py",
    ),
    **dict.fromkeys(
        (
            "Repository.begin_import",
            "Repository.begin_dump",
            "Repository.begin_restore",
            "Repository.task",
            "Repository.run_task",
            "Repository.cancel_task",
        ),
        "call imports, `dump_refs` and `restore_refs`: tests/unit/facade/test_tasks.py",
    ),
    **dict.fromkeys(
        ("Repository.metadata", "Repository.update_metadata"),
        "a record of its own that no other operation reads: tests/unit/facade/test_repository_metadata.py",
    ),
    **dict.fromkeys(
        ("Repository.erase", "Repository.erasures"),
        "the model keeps the content of former commits: tests/unit/erasure, tests/proofs/model/test_erasure.py",
    ),
    **dict.fromkeys(
        tuple(
            f"Repository.{name}"
            for name in ("hooks", "set_hook", "remove_hook", "hook_runs", "deliver_hooks", "repeat_hook")
        ),
        "the model has no receivers: tests/unit/engine/protocol/test_hooks.py, tests/unit/facade/test_hooks.py",
    ),
    "Graveler.user": "names the principal: tests/graveler/server",
    **dict.fromkeys(("Branch.dataset", "Snapshot.dataset"), "opens files: tests/unit/facade/test_dataset.py"),
    **dict.fromkeys(("Branch.usage", "Snapshot.usage"), "counts a listing: tests/unit/facade/test_usage.py"),
    "Repository.import_inventory": "differs from import_prefix in its listing alone: tests/unit/engine/importing",
}
"""Public methods of handles that no step calls."""
