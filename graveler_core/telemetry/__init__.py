"""Telemetry of flows: log events through `logging`, spans through the OpenTelemetry API. Every package may import it.

Telemetry is silent by default: there is no log handler except one that drops everything, and no exporter. Applications
configure both. The command line has the option `--log-level`.
"""

from graveler_core.telemetry.flows import Flow, FlowTarget, changes_history, flow, retried, traced

__all__ = ["Flow", "FlowTarget", "changes_history", "flow", "retried", "traced"]
