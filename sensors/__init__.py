"""Sensors of this deployment, made by the factories of `dagster_graveler`."""
