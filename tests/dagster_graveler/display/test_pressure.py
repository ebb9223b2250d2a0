"""The pressure as people read it."""

from __future__ import annotations

from datetime import UTC, datetime

from dagster_graveler.display import pressure
from dagster_graveler.display.pressure import pressure_plot, pressure_table
from graveler_core import Thresholds, connect
from graveler_core.engine.staging.pressure import BranchPressure


def branches() -> list[BranchPressure]:
    with connect("memory://") as graveler:
        lake = graveler.create_repository("lake", "memory://lake", adopt=True, ephemeral=True)
        lake.set_thresholds(Thresholds(tombstones=1_000))
        for name, count in [("a_b", 500), ("worst", 1_500), ("least", 300)]:
            lake.create_branch(name, source="main").remove_many([f"path/{n:05}" for n in range(count)])
        return list(graveler.pressures())


def test_the_worst_stands_on_top_and_names_are_escaped() -> None:
    *heads, worst, middle, least = pressure_table(branches()).splitlines()
    assert len(heads) == 2
    assert worst.startswith("| worst | 150% | 1,500 | 1,500 | 1 | 0:00:0")
    assert worst.endswith("| 1,500 tombstones of 1,000 |")
    assert middle.startswith("| a\\_b | 50% |")
    assert least.startswith("| least | 30% |")


def test_a_long_table_is_cut_and_says_so(monkeypatch: object) -> None:
    shown = pressure_table(branches() * 30)
    assert shown.count("\n| ") == pressure.SHOWN
    assert shown.endswith("\n40 more branches with lower pressure.")


def test_nothing_is_said_in_words() -> None:
    assert pressure_table([]) == "No branch has counters, so few changes are staged."


def test_the_plot_shows_its_points() -> None:
    def shown(*values: float) -> str:
        points = [(datetime(2030, 1, 1, hour, tzinfo=UTC), value) for hour, value in enumerate(values)]
        return str(pressure_plot(points).value)

    assert shown(0.1, 2.0).startswith("![highest pressure on a branch over time](data:image/png;base64,iVBOR")
    assert shown(0.1, 2.0) != shown(0.1, 3.0)
    assert shown()
