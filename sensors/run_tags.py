"""Tags of runs that say which branch a run works on, and why."""

from __future__ import annotations

REPOSITORY_TAG = "graveler/repository"
BRANCH_TAG = "graveler/branch"
"""Work on this branch."""
UID_TAG = "graveler/uid"
"""The branch's uid: by it Dagster's limits let one branch be compacted once at a time."""
COMPACTION_TAG = "graveler/compaction"
"""What is compacted: the run key without its epoch."""
WHY_TAG = "graveler/why"
PRIORITY_TAG = "dagster/priority"
