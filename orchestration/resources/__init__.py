"""Dagster resources: the handles that assets, ops and checks are given."""
