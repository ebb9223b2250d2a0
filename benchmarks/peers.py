"""Reference values for rows: target values of this project, and results of other systems on a similar machine.

The other systems were measured once, in process and without a network: lakeFS 71a45eeb ("tuned" means without its read
batching) and Nessie 0.108.1 on RocksDB. Neither syncs its writes to disk, so compare them with the durability
`process`.
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
    "8 threads, 1 branch: smallest share": "aim 0.5; Nessie: up to 33 times between threads",
    "8 threads, 1 branch: errors": "aim 0; lakeFS loses attempts",
    "8 threads, 8 branches: commits": "lakeFS 143–158, tuned 201–224",
    "8 processes, 1 branch: answered": "aim: as 1 committer",
    "8 processes, 1 branch: smallest share": "aim 0.5",
    "8 processes, 1 branch: errors": "aim 0",
    "transact 1,000 beside 3 of 1, threads: relative rate": "aim 0.5; Nessie starves: 0–3 calls in 15 s",
    "transact 1,000 beside 3 of 1, processes: relative rate": "aim 0.5",
}
_COMMITTED: dict[str, str | dict[int, str]] = {
    "stage, all entries": {1_000_000: "aim 1,000 with its commit; lakeFS 7,700–11,000"},
    "commit, all entries": {1_000_000: "lakeFS 3,100"},
    "commit, a tenth changed": {1_000_000: "Nessie 1,750–2,100 for 100 k puts"},
    "commit, the next change": {1_000_000: "Nessie 72"},
    "commit of 1 random change": {0: "aim 1", 1_000: "aim 1", 1_000_000: "aim 1; lakeFS 22–118"},
    "commit of 10 random changes": {0: "aim 1", 1_000: "aim 1", 1_000_000: "aim 1; lakeFS 498"},
    "commit of 100 random changes": {0: "aim 1", 1_000: "aim 1", 1_000_000: "aim 1; lakeFS 1,154"},
    "written by a commit of 1 random change": {1_000: "aim 20", 1_000_000: "aim 20; lakeFS 9,000"},
    "written by a commit of 10 random changes": {1_000: "aim 20", 1_000_000: "aim 20; lakeFS 52,000"},
    "written by a commit of 100 random changes": {1_000: "aim 20", 1_000_000: "aim 20; lakeFS 89,000"},
    "transact of 1 random change": {0: "aim 1; Nessie 0.17 on 0–5 k, PostgreSQL 1.1", 1_000_000: "aim 1"},
    "transact of 10 random changes": {100_000: "aim 1; Nessie 1.3–5 of 200 k, PostgreSQL 1.7–4.8", 1_000_000: "aim 1"},
    "written by a transact of 10 random changes": {100_000: "aim 20; Nessie 199 of 200 k", 1_000_000: "aim 20"},
    "transact of 10 random overwrites: commits": {
        200_000: "Nessie 200–660",
        1_000_000: "aim 1,000 (process), 500 (power); Nessie 200–660 of 200 k",
    },
    "transact of 10 random overwrites, p99": "aim 10; Nessie 31–85 of 200 k",
    "transact of 10 random overwrites, p99.9": "aim 50",
    "transact of 10 random overwrites: written, mean": "aim 20; Nessie 199 of 200 k",
    "transact of 10 new entries: commits": "Nessie 660, PostgreSQL 314: 20,000 commits",
    "transact of 1 put: calls": "aim 3,000; Nessie 4,500, PostgreSQL 800",
    "put of 100 bytes and commit": "aim 0.8 (process), 1.8 (power); lakeFS 29",
    "diff of 1 change": "aim 0.5; lakeFS over HTTP 0.73",
    "merge of 1 change": "aim 1.0 (process), 1.8 (power); lakeFS over HTTP 1.6",
    "diff, 1 change, cold": {1_000_000: "lakeFS 87; Nessie 61 of 100 k"},
    "diff, 1 change, warm": {1_000_000: "aim 1"},
    "diff, 1,000 changes, cold": {1_000_000: "aim 150; lakeFS 728; Nessie 37 of 100 k"},
    "diff, 1,000 changes, warm": {1_000_000: "aim 20"},
    "diff, 1,000 changes in 100 commits, cold": {1_000_000: "aim 150; lakeFS 728; Nessie 37 of 100 k"},
    "diff, 1,000 changes in 100 commits, warm": {1_000_000: "aim 20"},
    "diff, 100,000 changes, cold": {1_000_000: "lakeFS 822"},
    "diff, equal content of another history, cold": {1_000_000: "Nessie 31 of 100 k"},
    "diff, 1,000 changes of another history, cold": {1_000_000: "aim 150"},
    "merge, 1 against 1,000, cold": {1_000_000: "lakeFS 262; Nessie 70 of 100 k"},
    "merge, 1,000 against 1,000, cold": {1_000_000: "aim 300; lakeFS 2,036; Nessie 113 of 100 k"},
    "merge, 1,000 against 1,000, warm": {1_000_000: "aim 150"},
    "merge, 1,000 against 1,000, each in 100 commits, cold": {1_000_000: "aim 300; lakeFS 2,036"},
    "merge, 1,000 against 1,000, each in 100 commits, warm": {1_000_000: "aim 150"},
    "merge, 100,000 against 1,000, cold": {1_000_000: "lakeFS 1,975"},
    "get, warm": {1_000_000: "aim 0.05; lakeFS 3.4, tuned 0.088; Nessie 0.061 of 100 k"},
    "page of 1,000, warm": {1_000_000: "aim 0.8; lakeFS 4.2, tuned 0.88"},
    "first page, a tenth removed by one prefix, cold": {1_000_000: "aim 2"},
    "first page, a tenth removed one by one, cold": {1_000_000: "aim 70; lakeFS 126"},
    "first page, a tenth removed one by one, warm": {1_000_000: "aim 5"},
    "first page, a tenth removed one by one, compacted, warm": {1_000_000: "aim 2"},
    "first page, a tenth removed one by one, committed, cold": {1_000_000: "lakeFS 168–218"},
    "transact of 10: time": "aim 0.04: 1.5 times from 10³ to 10⁷",
}
_COMPACTION: dict[str, str | dict[int, str]] = {
    **{f"first page, removed {how}, compacted, warm": "aim 2" for how in ("one by one", "in bulk")},
    **{f"compact, staged {how}": {1_000_000: "aim 2,000"} for how in ("one by one", "in bulk")},
    **{
        f"stage during a compaction of {size:,} staged {how}, {by}: median": "aim 1.2"
        for size in (100_000, 1_000_000)
        for how in ("one by one", "in bulk")
        for by in ("threads", "processes")
    },
    "stage one, counted relative to not counted": "aim 1.02",
}
_IAM: dict[str, str | dict[int, str]] = {
    f"evaluate, {name}": {20: "aim 0.05"}
    for name in (
        "allowed",
        "allowed on a condition",
        "allowed past denials",
        "denied",
        "denied by default",
        "prefix, allowed",
        "prefix, denied",
    )
}
_SPARK: dict[str, str | dict[int, str]] = {
    f"{work}, {master}: rows per core": "aim: half of alone"
    for work in (
        "commit to an empty branch",
        "commit of rows to an empty branch",
        "commit among other entries",
        "compact among other entries",
        "merge of two changed fifths",
        "diff of two changed fifths",
    )
    for master in ("local[1]", "local[2]")
}
_SUITES = {
    "core": _CORE,
    "protocol": _PROTOCOL,
    "committed": _COMMITTED,
    "compaction": _COMPACTION,
    "iam": _IAM,
    "spark": _SPARK,
}


def reference(suite: str, name: str, size: int) -> str:
    """Return the reference values for a row in the row's unit, or an empty string if there are none."""
    known = _SUITES.get(suite, {}).get(name, "")
    return known if isinstance(known, str) else known.get(size, "")
