"""Description of a store in a bucket."""

from __future__ import annotations

from typing import Final

from graveler_core.kv.backends.bucket.requests import BucketRequests
from graveler_core.kv.backends.bucket.url import BucketTarget
from graveler_core.kv.store import Description

_SERVICES: Final = (".amazonaws.com", ".amazonaws.com.cn", ".blob.core.windows.net", "storage.googleapis.com")
"""Ends of the hosts of services that acknowledge a write when it is durable."""


def described(target: BucketTarget, requests: BucketRequests) -> Description:
    """Return the properties of a store by name.

    Args:
        target: Bucket and prefix.
        requests: Requests to the bucket.
    """
    host = requests.host(target.names.mark)
    return {
        "backend": "bucket",
        "service": target.place.scheme,
        "host": host,
        "bucket": target.place.bucket,
        "prefix": target.place.path,
        "durability": "power" if host is not None and host.endswith(_SERVICES) else "unknown",
    }
