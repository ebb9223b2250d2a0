"""Sample content for a new repository: a text and a small table."""

from __future__ import annotations

from typing import Final

from graveler_core.facade.branch import Branch

_README: Final = """# Sample data

This repository was created with sample data:

| path | content |
|---|---|
| `README.md` | this text |
| `tables/rivers.csv` | five rivers, with their lengths in kilometres |

Try a change on a branch of its own. Create a branch, write to it, compare it with the default branch, and merge it. No
content is copied for a branch.
"""
_RIVERS: Final = """name,continent,length_km
Amazon,South America,6400
Danube,Europe,2850
Mekong,Asia,4350
Murray,Australia,2508
Nile,Africa,6650
"""
SAMPLE: Final = {
    "README.md": (_README, "text/markdown"),
    "tables/rivers.csv": (_RIVERS, "text/csv"),
}
"""Text and content type by path."""


def add_sample_data(branch: Branch) -> None:
    """Commit the sample to a branch."""
    for path, (text, content_type) in SAMPLE.items():
        branch.put(path, text.encode(), content_type=content_type)
    branch.commit("Add sample data")
