"""`spark.read.format("graveler")`: a data source for Spark in Python alone, and content read by Spark's own readers."""

from jobs.source.content import graveler_read
from jobs.source.registration import register

__all__ = ["graveler_read", "register"]
