"""End of a process although its threads still run operations, for which Python would wait without limit.

What such an operation has not acknowledged is there or not, as after a crash. Stores stay open, because the operations
use them.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import NoReturn


def leave() -> NoReturn:
    """End the process now, after its log is written."""
    try:
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)
