"""The ids of the system, one `NewType` each, so that no function takes a branch where a tag is meant."""

from __future__ import annotations

from typing import NewType

RepositoryId = NewType("RepositoryId", str)
"""The name people give a repository."""
RepositoryUid = NewType("RepositoryUid", str)
"""Fresh per creation: tells a repository from an earlier one of the same name."""
BranchId = NewType("BranchId", str)
BranchUid = NewType("BranchUid", str)
"""Fresh per creation: tells a branch from an earlier one of the same name."""
TagId = NewType("TagId", str)
CommitId = NewType("CommitId", str)
"""64 hex digits: the content hash of the commit's header."""
MetarangeId = NewType("MetarangeId", str)
"""64 hex digits: the content hash of a metarange's root node."""
RangeId = NewType("RangeId", str)
"""64 hex digits: the content hash of a range's entries."""
ObjectId = NewType("ObjectId", str)
"""64 hex digits: the content hash of a typed immutable object."""
StagingToken = NewType("StagingToken", str)
"""`<repository>/<branch>:<uuid>`: names the key-value partition of one generation of staged writes."""
LayerId = NewType("LayerId", str)
"""Fresh per layer; never listed again once it has left a branch record."""
Nonce = NewType("Nonce", str)
"""Fresh per state, so that no compare-and-swap succeeds on an equal older state."""
UserId = NewType("UserId", str)
"""The name of a user, as people chose it."""
GroupId = NewType("GroupId", str)
PolicyId = NewType("PolicyId", str)
AccessKeyId = NewType("AccessKeyId", str)
"""32 hex digits: names a credential. Not secret."""
EntityUid = NewType("EntityUid", str)
"""Fresh per creation: tells a user, group or policy from an earlier one of the same name."""
