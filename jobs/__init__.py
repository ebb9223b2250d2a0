"""PySpark: how commit, merge, diff, import and collection run on a cluster; the Spark data source."""
