"""What is wrong with the key-value store itself, as far as it tells."""

from __future__ import annotations

from datetime import timedelta
from typing import Final
from urllib.parse import quote

from graveler_core.diagnostics.doctor.diagnosis import Ailment, Diagnosis, Severity
from graveler_core.diagnostics.doctor.examination import OFF_BY, Examination, clocks_differ
from graveler_core.kv.abilities import Description
from graveler_core.kv.bulk import describe

_TO_WAL: Final = (
    "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('PRAGMA journal_mode=WAL').fetchone()[0])"
)


def examine_store(of: Examination) -> None:
    """Ask the store for its description, and judge that."""
    with of.looking("the key-value store"):
        of.budget.tick()
        judge(of, describe(of.stores.kv))


def judge(of: Examination, told: Description) -> None:
    """What a description says that is wrong."""
    if told["backend"] == "sqlite":
        _sqlite(of, told)
    elif told["backend"] == "postgresql":
        _postgresql(of, told)


def _sqlite(of: Examination, told: Description) -> None:
    path = str(told["path"])
    if told["network"]:
        of.tell(
            Diagnosis(
                Ailment.STORE_ON_NETWORK,
                Severity.CRITICAL,
                path,
                f"the SQLite file is on a network file system ({told['file_system']})",
                "its locks do not hold between hosts, so acknowledged writes can be lost and the file damaged",
                "copy the store to a local disk or to PostgreSQL while nobody uses it, and use that",
                ("graveler", "kv", "copy", f"sqlite:///{quote(path)}", "sqlite:////LOCAL/DISK/meta.db"),
            )
        )
    if told["journal_mode"] != "wal":
        of.tell(
            Diagnosis(
                Ailment.STORE_WITHOUT_WAL,
                Severity.WARNING,
                path,
                f"the SQLite file has the journal mode {told['journal_mode']}, not wal",
                "readers wait for writers and writers for readers, until they are refused",
                "switch the mode while nobody has the file open",
                ("python3", "-c", _TO_WAL, path),
            )
        )


def _postgresql(of: Examination, told: Description) -> None:
    off = [name for name in ("fsync", "full_page_writes") if not told[name]]
    if off:
        of.tell(
            Diagnosis(
                Ailment.STORE_NOT_DURABLE,
                Severity.CRITICAL,
                "postgresql",
                f"the server has {' and '.join(off)} switched off",
                "a power cut can lose acknowledged writes, or the whole database",
                "switch it on in the server's configuration",
                (
                    "psql",
                    *(word for name in off for word in ("-c", f"ALTER SYSTEM SET {name} = on")),
                    *("-c", "SELECT pg_reload_conf()"),
                ),
            )
        )
    ahead = timedelta(seconds=float(told["clock_ahead"] or 0))
    if abs(ahead) > OFF_BY:
        of.tell(clocks_differ("the answer of the PostgreSQL server", ahead))
