"""Tables and plots of the flights pipeline, for the Dagster UI."""
