"""The suite `server`: requests to `graveler serve`, and the same requests to lakeFS.

lakeFS is measured if the environment variable `LAKEFS` has the path of its program: at its defaults, and tuned (without
its read batching). All servers run at the same time, on databases of one PostgreSQL server if the store is PostgreSQL,
with their objects in local directories. They take turns, so that other load on the machine slows all of them.
"""

from benchmarks.server import requests, transfers

__all__ = ["requests", "transfers"]
