"""Writing to a branch without a commit: one path, many, none."""

from __future__ import annotations

from tests.unit.engine.budgets.costs import Act, Cost, costs
from tests.unit.engine.budgets.measured import Measured, path
from tests.unit.engine.flows import table
from tests.unit.engine.world import entry


@costs("stage", Cost((2, 0), (3, 0)))
def stage(m: Measured) -> Act:
    return lambda: m.main.stage("a", entry(1))


@costs("put", Cost((2, 0), (3, 0), writes="1 content"))
def put(m: Measured) -> Act:
    return lambda: m.main.put("a", b"data")


@costs("remove", Cost((3, 0), (3, 0)))
def remove(m: Measured) -> Act:
    return lambda: m.main.remove(path(150))


@costs("remove, staged and never committed", Cost((2, 0), (3, 0), reads="1 node per level", plain_reads="–"))
def remove_staged(m: Measured) -> Act:
    m.main.stage("a", entry(1))
    return lambda: m.main.remove("a")


@costs("remove below sealed layers", Cost((2, 0), (3, 0)))
def remove_below_layers(m: Measured) -> Act:
    m.main.stage_many(table({"b": 1}))
    m.main.stage("a", entry(1))
    return lambda: m.main.remove("a")


@costs("stage_many, 10 entries", Cost((5, 1), (15, 1)))
def stage_few(m: Measured) -> Act:
    return lambda: m.main.stage_many(table({f"m/{number}": number for number in range(10)}))


@costs("stage_many, 1,000 entries and more", Cost((5, 1), (6, 1), writes="2 layer files"))
def stage_many(m: Measured) -> Act:
    return lambda: m.main.stage_many(table({f"m/{number:04}": number for number in range(1_000)}))


@costs("remove_many, 10 paths", Cost((5, 1), (14, 1)))
def remove_many(m: Measured) -> Act:
    return lambda: m.main.remove_many([path(number) for number in range(10)])


@costs(
    "remove_many, 10 paths, staged and never committed",
    Cost((2, 0), (14, 1), reads="1 node per level", plain_reads="–"),
)
def remove_many_staged(m: Measured) -> Act:
    paths = [f"a{number}" for number in range(10)]
    for each in paths:
        m.main.stage(each, entry(1))
    return lambda: m.main.remove_many(paths)


@costs("remove_prefix", Cost((2, 1), (3, 1)))
def remove_prefix(m: Measured) -> Act:
    m.main.stage("a", entry(1))
    return lambda: m.main.remove_prefix("")


@costs("reset of a prefix", Cost((2, 1), (3, 1)))
def reset_prefix(m: Measured) -> Act:
    m.main.stage("k/a", entry(1))
    return lambda: m.main.reset("k/")


@costs("reset of a path, staged in the staging token", Cost((3, 0), (8, 1)))
def reset_path(m: Measured) -> Act:
    m.main.stage("a", entry(1))
    return lambda: m.main.reset(path="a")


@costs("reset of a path below sealed layers", Cost((5, 1), (10, 1)))
def reset_path_below_layers(m: Measured) -> Act:
    m.main.stage("a", entry(1))
    m.main.stage_many(table({"b": 1}))
    return lambda: m.main.reset(path="a")


@costs("reset, one entry staged", Cost((3, 1), (5, 2)))
def reset(m: Measured) -> Act:
    m.main.stage("a", entry(1))
    return m.main.reset


@costs("reset, a layer of files", Cost((4, 1), (6, 2), writes="1 layer file listed, 2 layer files removed"))
def reset_files(m: Measured) -> Act:
    m.unseen.branch("main").stage_many(table({f"m/{number:04}": number for number in range(1_000)}))
    return m.main.reset


@costs("hard reset", Cost((4, 1), (7, 1)))
def hard_reset(m: Measured) -> Act:
    return lambda: m.main.hard_reset("main~1")


@costs("compact, one change", Cost((7, 3), (10, 4), "1 range, 1 node per level", "1 range, 1 node per level"))
def compact(m: Measured) -> Act:
    m.main.stage(path(150), entry(999))
    return m.main.compact
