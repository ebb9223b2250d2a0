"""Dagster: resources, IO managers, assets, ops, checks, jobs, schedules, definitions."""
