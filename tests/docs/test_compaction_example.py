"""The example of the guide to compaction, smaller, and with its user in the place of the sensor."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path

from graveler_core import Thresholds, connect

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "compaction.py"


def test_what_it_shows_is_so(tmp_path: Path) -> None:
    example = run_path(str(EXAMPLE))
    with connect(f"sqlite:///{tmp_path / 'meta.db'}?durability=process") as graveler:
        branch = example["prepare"](graveler, tmp_path.as_uri(), 1_100)
        assert len(example["first_page"](branch)[0]) == 1_000
        repository = graveler.repository(example["REPOSITORY"])
        repository.set_thresholds(Thresholds(tombstones=1_000))
        example["remove_one_by_one"](branch, 1_100)
        assert [(found.token, found.pressure.over) for found in graveler.pressures()] == [("flights/many-files", True)]
        branch.compact()
        assert example["first_page"](branch)[0] == []
        assert list(graveler.pressures()) == []
        branch.commit("remove what is old")
        assert repository.diff_summary("many-files~1", "many-files").removed == 1_100
