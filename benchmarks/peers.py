"""What rows are compared with: the aims, and what peers do on a machine of the same class.

Peers were measured once, in process and without a network (lakeFS 71a45eeb, "tuned" without its read batching; Nessie
0.108.1 on RocksDB); neither syncs its writes to disk, so the row to compare is `process`.
"""

from __future__ import annotations

_CORE: dict[str, str | dict[int, str]] = {
    "stage one by one": "aim 10,000 (process), 1,500 (power); lakeFS tuned 27,600, PostgreSQL 2,165",
    "stage_many": {1_000_000: "aim 1,000 with its commit; lakeFS 7,700–11,000"},
    "commit, staged in bulk": {1_000_000: "lakeFS 3,100"},
    "commit, staged one by one": {10_000: "lakeFS 49", 100_000: "lakeFS 280–464", 1_000_000: "aim 2,000; lakeFS 3,100"},
    "get, committed, warm": {1_000_000: "aim 0.05; lakeFS 3.4, tuned 0.088; Nessie 0.061 of 100 k"},
    "get, staged, warm": {1_000_000: "aim 0.05; lakeFS 3.2, tuned 0.010"},
    "page of 1,000, warm": {1_000_000: "aim 0.8; lakeFS 4.2, tuned 0.88"},
    "scan of 200,000": {1_000_000: "lakeFS 843"},
    "diff, 1 change, cold": {1_000_000: "lakeFS 87; Nessie 61 of 100 k"},
    "diff, 1 change, warm": {1_000_000: "aim 1"},
    "diff, 1,000 changes, cold": {1_000_000: "aim 150; lakeFS 728; Nessie 37 of 100 k"},
    "diff, 1,000 changes, warm": {1_000_000: "aim 20"},
    "diff, 100,000 changes, cold": {1_000_000: "lakeFS 822"},
    "merge, 1 against 1,000, cold": {1_000_000: "lakeFS 262"},
    "merge, 1,000 against 1,000, cold": {1_000_000: "aim 300; lakeFS 2,036"},
    "merge, 1,000 against 1,000, warm": {1_000_000: "aim 150"},
    "merge, 100,000 against 1,000, cold": {1_000_000: "lakeFS 1,975"},
    "commit of 1 random change": {1_000_000: "aim 1; lakeFS 22–118"},
    "commit of 10 random changes": {1_000_000: "aim 1; lakeFS 498; Nessie 1.3–5 of 200 k"},
    "commit of 100 random changes": {1_000_000: "aim 1; lakeFS 1,154"},
    "written by a commit of 1": {1_000_000: "aim 20; lakeFS 9,000"},
    "written by a commit of 10": {1_000_000: "aim 20; lakeFS 52,000; Nessie 199"},
    "written by a commit of 100": {1_000_000: "aim 20; lakeFS 89,000"},
    "create branch": "aim 0.3; lakeFS 13, tuned 0.13",
}
_PROTOCOL: dict[str, str | dict[int, str]] = {
    "1 committer: commits": "lakeFS 42, tuned 226–296, PostgreSQL 49; Nessie 4,500, PostgreSQL 800",
    "8 threads, 1 branch: answered": "aim: as 1 committer; lakeFS 35–45, tuned 136–154, PostgreSQL 42; "
    "Nessie 1,641, PostgreSQL 792",
    "8 threads, 1 branch: commit": "slowest: lakeFS 2,500–4,600; Nessie 4,700, PostgreSQL 3,300",
    "8 threads, 1 branch: least share": "aim 0.5; Nessie: up to 33 times between threads",
    "8 threads, 1 branch: errors": "aim 0; lakeFS loses attempts",
    "8 threads, 8 branches: commits": "lakeFS 143–158, tuned 201–224",
    "8 processes, 1 branch: answered": "aim: as 1 committer",
    "8 processes, 1 branch: least share": "aim 0.5",
    "8 processes, 1 branch: errors": "aim 0",
    "transact 1,000 beside 3 of 1, threads: kept": "aim 0.5; Nessie starves: 0–3 calls in 15 s",
    "transact 1,000 beside 3 of 1, processes: kept": "aim 0.5",
}
_SUITES = {"core": _CORE, "protocol": _PROTOCOL}


def reference(suite: str, name: str, size: int) -> str:
    """What to compare a row with, in the row's unit; empty where nothing is known."""
    known = _SUITES.get(suite, {}).get(name, "")
    return known if isinstance(known, str) else known.get(size, "")
