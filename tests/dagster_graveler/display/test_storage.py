"""Results of collections as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dagster_graveler.display.storage import objects_table, outcome, storage_plot
from graveler_core.gc.collected import Collected

DUE = datetime(2030, 1, 8, 3, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("done", "said"),
    [
        (None, "Repository lake does not exist yet, so there is nothing to collect."),
        (
            Collected(dry_run=True, deleted=1, deleted_size=1_000, condemned=2, condemned_size=8),
            "Dry run: nothing was changed. "
            "A collection would delete 1 object (1,000 bytes) and condemn 2 objects (8 bytes).",
        ),
        (
            Collected(dry_run=False, condemned=2, condemned_size=8, waiting=2, waiting_size=8, due=DUE),
            "Deleted 0 objects (0 bytes) and condemned 2 objects (8 bytes). "
            "Condemned earlier or now: 2 objects (8 bytes). "
            "A collection from 2030-01-08 03:30 UTC on deletes those without a name.",
        ),
        (
            Collected(dry_run=False, removed=2, unreached=1_000),
            "Deleted 0 objects (0 bytes) and condemned 0 objects (0 bytes). "
            "Commits that no branch or tag has reached: 2 removed, 1,000 announced to be removed.",
        ),
    ],
    ids=["no-repository", "dry-run", "waiting", "removed"],
)
def test_a_collection_is_told_in_words(done: Collected | None, said: str) -> None:
    assert outcome("lake", done) == said


def test_the_table_has_the_states_of_the_objects() -> None:
    counts = {
        "named": 5_000,
        "named_size": 10_000,
        "history": 1_000,
        "history_size": 1_000,
        "young": 1,
        "young_size": 2,
        "deleted": 3,
        "deleted_size": 4,
    }
    dry, real = (objects_table(Collected(dry_run=dry_run, **counts)) for dry_run in (True, False))
    for table in (dry, real):
        assert "| live: a branch or a tag shows them | 4,000 | 9,000 |" in table
        assert "| only in older commits: kept | 1,000 | 1,000 |" in table
        assert "| younger than the grace period: kept | 1 | 2 |" in table
    assert "| condemned and due: a collection would delete them | 3 | 4 |" in dry
    assert "| deleted | 3 | 4 |" in real


def test_the_plot_shows_its_points() -> None:
    def shown(*values: int) -> str:
        points = [(datetime(2030, 1, 1, hour, tzinfo=UTC), 10, value) for hour, value in enumerate(values)]
        return str(storage_plot(points).value)

    assert shown(1, 2).startswith("![bytes of content and reclaimable bytes over time](data:image/png;base64,iVBOR")
    assert shown(1, 2) != shown(1, 3)
    assert shown()
