"""`spark.read.format("graveler")`: a data source for Spark in pure Python, and file contents read by Spark's own
readers.
"""

from graveler.spark.source.content import graveler_read
from graveler.spark.source.registration import register

__all__ = ["graveler_read", "register"]
