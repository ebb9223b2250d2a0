"""PySpark: work that outgrows one machine. Imports `graveler_core`; knows nothing of Dagster."""
