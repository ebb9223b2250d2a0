"""Runs steps of a scenario in a separate process: the task comes from standard input, results go to standard output."""

from __future__ import annotations

import gc
import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.scenario import Place, suite


def main() -> None:
    """Run the steps that standard input requests. Print the measurements and the peak memory as JSON."""
    json.dump(performed(json.load(sys.stdin), gc.collect), sys.stdout)


def performed(task: dict[str, Any], before: Callable[[], object] | None = None) -> dict[str, Any]:
    """Run the requested steps. Return the measurements and the peak memory of the process.

    Args:
        task: Suite, scenario, place, and the steps to run.
        before: Called before anything is measured.
    """
    scenario = suite(task["suite"])[task["scenario"]]
    place = Place(**task["place"])
    measured = []
    if "prepare" in task["steps"]:
        scenario.prepare(place)
    if "measure" in task["steps"]:
        pa.array(np.zeros(1))  # Arrow imports pandas, if installed, when it first converts a NumPy array
        if before is not None:
            before()
        measured = [found.fields() for found in scenario.measure(place)]
    return {"measured": measured, "peak_mib": _peak_mib()}


def _peak_mib() -> float:
    """Return the peak resident memory of this process in MiB.

    On Linux, `getrusage` includes memory of the parent from before `exec`, so `/proc` is read instead.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1 << 20)


if __name__ == "__main__":
    main()
