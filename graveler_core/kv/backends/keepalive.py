"""TCP keepalive of pooled connections.

Firewalls and load balancers forget a connection over which nothing is sent for some minutes, often without notice. A
request on such a connection would wait for its answer until the time-out. So the system sends a probe to the server
after half a minute without data. The probe also prevents firewalls from forgetting the connection. The system closes
the connection after three probes without an answer. A pool notices this when it takes the connection.
"""

from __future__ import annotations

import socket
from typing import Final

IDLE_SECONDS: Final = 30
"""Time without data after which the system sends a probe."""
INTERVAL_SECONDS: Final = 10
"""Time until it sends the next probe."""
QUESTIONS: Final = 3
"""Number of probes without an answer after which it closes the connection."""

_BY_NAME: Final = {
    "TCP_KEEPIDLE": IDLE_SECONDS,
    "TCP_KEEPALIVE": IDLE_SECONDS,  # its name on macOS
    "TCP_KEEPINTVL": INTERVAL_SECONDS,
    "TCP_KEEPCNT": QUESTIONS,
}
TCP_OPTIONS: Final[dict[int, int]] = {
    getattr(socket, name): value for name, value in _BY_NAME.items() if hasattr(socket, name)
}
"""Values of the options of a TCP socket, as far as the system has them. `SO_KEEPALIVE` turns them on."""


def keep_alive(connection: socket.socket) -> None:
    """Turn the probes on for a connection, unless it is a Unix domain socket."""
    if connection.family in (socket.AF_INET, socket.AF_INET6):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in TCP_OPTIONS.items():
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
