"""Prometheus metrics of a store: `collector` defines the metrics, `server` serves them."""

from graveler_core.metrics.collector import StoreCollector
from graveler_core.metrics.server import MetricsServer

__all__ = ["MetricsServer", "StoreCollector"]
