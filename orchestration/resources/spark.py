"""Spark as a Dagster resource: dagster-pyspark's lazy one, with the settings of `jobs.session`."""

from dagster_pyspark import LazyPySparkResource
from pyspark.sql import SparkSession

from jobs.session import local_settings, pin_worker_interpreter


def local_pyspark() -> LazyPySparkResource:
    """A small local session, started when it is first used and then kept by the process."""
    return LazyPySparkResource(spark_config=local_settings())


def session(pyspark: LazyPySparkResource) -> SparkSession:
    """The session, with Python workers on this interpreter; it reads `format("graveler")`."""
    from jobs.source import register

    pin_worker_interpreter()
    spark: SparkSession = pyspark.spark_session
    register(spark)
    return spark
