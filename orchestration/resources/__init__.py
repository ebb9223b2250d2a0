"""Source of the flights pipeline, as a Dagster resource."""
