"""Findings of the doctor."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from graveler_core.model.data_check import CompleteCheck


class Severity(StrEnum):
    """Severity of a problem."""

    CRITICAL = "critical"
    """Data is lost, cannot be read, or may be lost."""
    WARNING = "warning"
    """Operations are slow, or will soon be refused."""
    NOTICE = "notice"
    """Only space is wasted."""


class Ailment(StrEnum):
    """Kind of problem. Append-only, because scripts depend on it."""

    STORE_ON_NETWORK = "store-on-network"
    STORE_WITHOUT_WAL = "store-without-wal"
    STORE_NOT_DURABLE = "store-not-durable"
    STORE_NOT_CONSISTENT = "store-not-consistent"
    STORE_ALARM = "store-alarm"
    STORE_KEEPS_HISTORY = "store-keeps-history"
    CLOCKS_DIFFER = "clocks-differ"
    REPOSITORY_HALF_MADE = "repository-half-made"
    DELETED_DUE = "deleted-due"
    NAMESPACE_UNOWNED = "namespace-unowned"
    NAMESPACE_UNREADABLE = "namespace-unreadable"
    RECORD_DAMAGED = "record-damaged"
    BRANCH_LAYERS = "branch-layers"
    BRANCH_PRESSURE = "branch-pressure"
    LAYERS_LEFT = "layers-left"
    KEYS_OLD = "keys-old"
    UPLOADS_LEFT = "uploads-left"
    REFERENCE_LOG_DAMAGED = "reference-log-damaged"
    HEAD_DAMAGED = "head-damaged"
    COUNTERS_OFF = "counters-off"
    CONTENT_DAMAGED = "content-damaged"
    INDEX_WRONG = "index-wrong"
    STORE_EVICTS = "store-evicts"
    RESTORATION_STUCK = "restoration-stuck"
    REPOSITORY_INCOMPLETE = "repository-incomplete"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One problem."""

    ailment: Ailment
    severity: Severity
    where: str
    """URI graveler://…, or the name of the store."""
    what: str
    why: str
    """Consequences of the problem."""
    remedy: str
    """Description of the remedy."""
    command: tuple[str, ...] = ()
    """Arguments of the command that fixes the problem; empty if no command can."""


@dataclass(frozen=True, slots=True)
class DataChecked:
    """Last complete checks of the user data of a repository, by `fsck`."""

    repository: str
    sizes: CompleteCheck | None
    """Check of existence and size; `None` if there was none."""
    checksums: CompleteCheck | None
    """Check of checksums; `None` if there was none."""
    unfinished: datetime | None
    """Time when an unfinished check of checksums began, which can be resumed. `None` if there is none."""


@dataclass(frozen=True, slots=True)
class Examined:
    """Result of an examination."""

    found: tuple[Diagnosis, ...]
    """Problems, the most severe first."""
    unseen: tuple[tuple[str, str], ...]
    """Checks that failed or were incomplete, with the reason."""
    checked: tuple[DataChecked, ...] = ()
    """Last checks of user data, for each repository."""

    @property
    def healthy(self) -> bool:
        """True if all checks were complete and found no problem."""
        return not self.found and not self.unseen


class _Meaning(NamedTuple):
    """Text that all diagnoses of an ailment share."""

    severity: Severity
    why: str
    remedy: str


_CLEAN = "run the cleaner, preferably every day"
_COMPACT = "compact the branch; the compaction sensor for Dagster does this automatically"
_RESTORE = "restore this row of the key-value store from a backup, or the repository from a dump"
_MEANINGS: Final[dict[Ailment, _Meaning]] = {
    Ailment.STORE_ON_NETWORK: _Meaning(
        Severity.CRITICAL,
        "its locks do not work between hosts, so acknowledged writes can be lost, and the file can be damaged",
        "copy the store to a local disk or to PostgreSQL while nobody uses it, and use the copy",
    ),
    Ailment.STORE_WITHOUT_WAL: _Meaning(
        Severity.WARNING,
        "readers and writers block each other until their operations time out",
        "change the mode while no process has the file open",
    ),
    Ailment.STORE_NOT_DURABLE: _Meaning(
        Severity.CRITICAL,
        "a power failure can lose acknowledged writes, or the whole database",
        "turn it on in the configuration of the server",
    ),
    Ailment.STORE_NOT_CONSISTENT: _Meaning(
        Severity.CRITICAL,
        "processes in different regions overwrite each other's writes, so acknowledged commits can be lost",
        "remove the replicas, or create the table with multi-region strong consistency and copy the store to it",
    ),
    Ailment.STORE_ALARM: _Meaning(
        Severity.CRITICAL,
        "the cluster refuses writes",
        "free space or restore the damaged member, and disarm the alarm with `etcdctl alarm disarm`",
    ),
    Ailment.STORE_KEEPS_HISTORY: _Meaning(
        Severity.WARNING,
        "its database grows with every write up to its quota, and then the cluster refuses writes",
        "start the members with --auto-compaction-retention=1h, and compact once",
    ),
    Ailment.STORE_EVICTS: _Meaning(
        Severity.CRITICAL,
        "when its memory is full, the server deletes whole partitions, and with them branches and staged changes",
        "set it to noeviction, also in the configuration of the server, which is read at its start",
    ),
    Ailment.CLOCKS_DIFFER: _Meaning(
        Severity.WARNING,
        "operations that depend on ages (cleaning, sweeps, undeletion) act too early or too late",
        "synchronize the clocks of all machines that use the store, and of its server, with NTP",
    ),
    Ailment.REPOSITORY_HALF_MADE: _Meaning(
        Severity.WARNING,
        "the repository cannot be used, and its name is not free",
        "run the cleaner, which completes it",
    ),
    Ailment.REPOSITORY_INCOMPLETE: _Meaning(
        Severity.WARNING,
        "it was imported without indexes, so it cannot be read or changed",
        "complete it, which may be interrupted and repeated, or delete the repository",
    ),
    Ailment.RESTORATION_STUCK: _Meaning(
        Severity.WARNING,
        "the repository is incomplete, and no other dump can be restored into it",
        "if no process restores it any more, restore the same dump again, which completes it, or delete the repository",
    ),
    Ailment.DELETED_DUE: _Meaning(
        Severity.NOTICE,
        "their data uses space in the key-value store, and their storage namespaces are not free",
        _CLEAN,
    ),
    Ailment.NAMESPACE_UNOWNED: _Meaning(
        Severity.WARNING, "no repository can be created in these namespaces", "run the cleaner, which releases them"
    ),
    Ailment.NAMESPACE_UNREADABLE: _Meaning(
        Severity.CRITICAL,
        "committed data cannot be read",
        "check the network, the credentials, the permissions, and that the directory or bucket exists",
    ),
    Ailment.RECORD_DAMAGED: _Meaning(
        Severity.CRITICAL,
        "operations that need the record fail, and no sweep deletes anything in the repository",
        _RESTORE,
    ),
    Ailment.BRANCH_LAYERS: _Meaning(
        Severity.WARNING, "at the limit, bulk writes and prefix operations are refused", _COMPACT
    ),
    Ailment.BRANCH_PRESSURE: _Meaning(
        Severity.WARNING, "each read and listing must search all of it, and the next commit reads all of it", _COMPACT
    ),
    Ailment.LAYERS_LEFT: _Meaning(Severity.NOTICE, "the layers and their records use space", _CLEAN),
    Ailment.KEYS_OLD: _Meaning(Severity.NOTICE, "they use space and have no effect any more", _CLEAN),
    Ailment.UPLOADS_LEFT: _Meaning(
        Severity.NOTICE, "unreferenced files use space in the storage namespace", "delete them with a sweep"
    ),
    Ailment.REFERENCE_LOG_DAMAGED: _Meaning(
        Severity.WARNING,
        "undeletions and dumps fail, and reflogs fail or lack events; branches and tags themselves are not affected",
        "set it back to its newest intact commit, and remove damaged events",
    ),
    Ailment.HEAD_DAMAGED: _Meaning(
        Severity.CRITICAL,
        "the content of the branch cannot be read, or only a part of it",
        "restore the lost object from a backup (graveler fsck names it), or restore a dump into a new repository",
    ),
    Ailment.COUNTERS_OFF: _Meaning(
        Severity.WARNING,
        "sensors do not notice that the branch should be compacted",
        "count the records by reading them, which corrects the counters",
    ),
    Ailment.CONTENT_DAMAGED: _Meaning(
        Severity.CRITICAL, "commits and branches that refer to it cannot be read", _RESTORE
    ),
    Ailment.INDEX_WRONG: _Meaning(
        Severity.WARNING,
        "logs, diffs and merges must compare the whole commit with its parent, which is slow",
        "repair the index",
    ),
}


def diagnosis(ailment: Ailment, where: str, what: str, *command: str, remedy: str = "") -> Diagnosis:
    """Return the diagnosis of an ailment, with the severity, consequences and remedy that belong to it.

    Args:
        ailment: Kind of problem.
        where: URI graveler://…, or the name of the store.
        what: The problem.
        command: Arguments of the command that fixes the problem.
        remedy: Description of the remedy, if it is not the usual one of the ailment.
    """
    severity, why, usual = _MEANINGS[ailment]
    return Diagnosis(ailment, severity, where, what, why, remedy or usual, command)
