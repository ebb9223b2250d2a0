"""What a store tells Prometheus: see `collector` for the metrics, `server` for how they are scraped."""

from graveler_core.metrics.collector import StoreCollector
from graveler_core.metrics.server import MetricsServer

__all__ = ["MetricsServer", "StoreCollector"]
