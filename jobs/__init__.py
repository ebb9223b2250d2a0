"""PySpark jobs of this deployment: the flights pipeline, and programs for `spark-submit` and Dagster Pipes."""
