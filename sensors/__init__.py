"""Dagster sensors: factories that are handed the job they start."""
