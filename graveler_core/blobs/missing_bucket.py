"""Storage namespaces whose bucket somebody has deleted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from graveler_core.errors import Kind, Unavailable


@contextmanager
def bucket_may_be_missing() -> Iterator[None]:
    """Treat a bucket, container or directory that does not exist as empty, in the `with` statement."""
    try:
        yield
    except Unavailable as e:
        if e.kind is not Kind.BucketNotFound:
            raise
