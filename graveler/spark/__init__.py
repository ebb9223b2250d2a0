"""graveler on Apache Spark: the cluster for large work, `format("graveler")`, and staging of DataFrames.

Import from the modules: `graveler.spark.cluster`, `.connection`, `.source`, `.staging`, `.session`. The package
itself imports nothing, because `.session`, `.sizes` and `.report` are used where Spark is not installed.
"""
