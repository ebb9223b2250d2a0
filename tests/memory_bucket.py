"""A store in a bucket that is in memory, through obstore: what the service does is exact and fast."""

from __future__ import annotations

from obstore.store import MemoryStore

from graveler_core.kv.backends.bucket.mark import prepare
from graveler_core.kv.backends.bucket.requests import BucketRequests
from graveler_core.kv.backends.bucket.store import BucketStore
from graveler_core.kv.backends.bucket.url import parse_url

URL = "s3://bucket/lake"


def memory_requests(memory: MemoryStore, requests: type[BucketRequests] = BucketRequests) -> BucketRequests:
    """Requests to a bucket in memory."""
    return requests(memory, memory, URL)


def memory_bucket(memory: MemoryStore) -> BucketStore:
    """The store in a bucket in memory. Calls with the same bucket open the same data."""
    target, requests = parse_url(URL), memory_requests(memory)
    prepare(requests, target.names)
    return BucketStore(target, requests)
