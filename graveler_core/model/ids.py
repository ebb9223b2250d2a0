"""Ids of the system. Each has its own `NewType`, so that a branch id cannot be passed for a tag id."""

from __future__ import annotations

from typing import NewType

RepositoryId = NewType("RepositoryId", str)
"""Name of a repository, chosen by its users."""
RepositoryUid = NewType("RepositoryUid", str)
"""Fresh for each creation. Distinguishes a repository from an earlier one with the same name."""
BranchId = NewType("BranchId", str)
BranchUid = NewType("BranchUid", str)
"""Fresh for each creation. Distinguishes a branch from an earlier one with the same name."""
TagId = NewType("TagId", str)
CommitId = NewType("CommitId", str)
"""64 hexadecimal digits: content hash of the commit header."""
MetarangeId = NewType("MetarangeId", str)
"""64 hexadecimal digits: content hash of the root node of a metarange."""
ObjectId = NewType("ObjectId", str)
"""64 hexadecimal digits: content hash of a typed immutable object."""
StagingToken = NewType("StagingToken", str)
"""`<repository>/<branch>:<uuid>`: name of the key-value partition of one generation of staged writes."""
LayerId = NewType("LayerId", str)
"""Fresh for each layer. Never listed again once it has left a branch record."""
Nonce = NewType("Nonce", str)
"""Fresh for each state, so that no compare-and-swap succeeds on an equal earlier state."""
UserId = NewType("UserId", str)
"""Name of a user, chosen by its users."""
GroupId = NewType("GroupId", str)
PolicyId = NewType("PolicyId", str)
AccessKeyId = NewType("AccessKeyId", str)
"""32 hexadecimal digits that identify a credential. Not secret."""
EntityUid = NewType("EntityUid", str)
"""Fresh for each creation. Distinguishes a user, group or policy from an earlier one with the same name."""
