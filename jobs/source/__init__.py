"""`spark.read.format("graveler")`: a data source for Spark in Python alone."""

from jobs.source.registration import register

__all__ = ["register"]
