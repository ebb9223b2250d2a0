"""One step of one run in a process of its own: reads what to do from standard input, answers on standard output."""

from __future__ import annotations

import gc
import json
import resource
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.scenario import Place, suite


def main() -> None:
    """Do the steps asked for, and say what was measured and how much memory the process had at most."""
    task = json.load(sys.stdin)
    scenario = suite(task["suite"])[task["scenario"]]
    place = Place(**task["place"])
    measured = []
    if "prepare" in task["steps"]:
        scenario.prepare(place)
    if "measure" in task["steps"]:
        pa.array(np.zeros(1))  # Arrow imports pandas, where it is installed, at the first array it takes over
        gc.collect()
        measured = [found.fields() for found in scenario.measure(place)]
    json.dump({"measured": measured, "peak_mib": _peak_mib()}, sys.stdout)


def _peak_mib() -> float:
    """Of this process alone: Linux counts in `getrusage` what the parent had before this program began."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1 << 20)


if __name__ == "__main__":
    main()
