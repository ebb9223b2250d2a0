"""Dagster definitions of this deployment: assets, checks, ops, jobs, the demo and the UI."""
