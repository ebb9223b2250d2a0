"""What flows tell of themselves: events through `logging`, spans through OpenTelemetry's API. Everything may import it.

Silent by default, as a library is: no handler but one that drops, no exporter. Hosts switch both on; the command line
does so with `--log-level`.
"""

from graveler_core.telemetry.flows import Flow, Said, changes_history, flow, retried, traced

__all__ = ["Flow", "Said", "changes_history", "flow", "retried", "traced"]
