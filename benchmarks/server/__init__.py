"""The suite `server`: requests to `graveler serve`, and the same requests to lakeFS.

lakeFS is measured if the environment variable `LAKEFS` has the path of its program: at its defaults, and tuned (without
its read batching). All servers run at the same time, with their objects in local directories, on databases of one
PostgreSQL server or tables of one DynamoDB if that is the store. They take turns, so that other load on the machine
slows all of them.
"""

from benchmarks.server import requests, transfers

__all__ = ["requests", "transfers"]
