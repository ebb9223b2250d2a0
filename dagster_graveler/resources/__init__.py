"""Dagster resources: connections to graveler, with or without Spark, and the branch of a run."""
