"""Spark as a Dagster resource: the lazy resource of dagster-pyspark, with the settings of `graveler.spark.session`."""

from graveler.spark.session import local_settings, pin_worker_interpreter
from graveler_core.extras import requires

with requires("dagster-spark"):
    from dagster_pyspark import LazyPySparkResource
    from pyspark.sql import SparkSession


def local_pyspark() -> LazyPySparkResource:
    """Return a small local session, started at first use and then kept by the process."""
    return LazyPySparkResource(spark_config=local_settings())


def session(pyspark: LazyPySparkResource) -> SparkSession:
    """Return the session. Its Python workers use this interpreter, and it can read `format("graveler")`."""
    from graveler.spark.source import register

    pin_worker_interpreter()
    spark: SparkSession = pyspark.spark_session
    register(spark)
    return spark
