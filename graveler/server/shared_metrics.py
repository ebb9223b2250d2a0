"""Metrics of several processes of one server, in memory that they share.

A request for metrics reaches one of the processes, and must be answered with the sums of all of them. Therefore each
process writes its samples into its slot of the memory, at most once a second, and reads the slots of the others.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterable, Iterator
from multiprocessing import get_context
from typing import Any, Final

from prometheus_client import CollectorRegistry, Metric

SLOT_BYTES: Final = 1 << 20
"""Size of the slot of one process, several times as large as all operations need. Unused memory is not allocated."""
_LENGTH_BYTES: Final = 8
Samples = dict[str, list[tuple[str, dict[str, str], float]]]
"""Samples by the name of their metric: name, labels and value."""


class MetricsBoard:
    """Memory with one slot for each process. Create it before the processes are forked."""

    def __init__(self, processes: int) -> None:
        """Create empty slots.

        Args:
            processes: Number of processes.
        """
        self._memory = mmap.mmap(-1, _LENGTH_BYTES + processes * SLOT_BYTES)
        self._lock = get_context("fork").Lock()
        self._processes = processes

    def claim(self) -> int:
        """Return the number of a slot for this process."""
        with self._lock:
            number = self._number(0)
            self._set_number(0, number + 1)
        return number

    def write(self, slot: int, samples: Samples) -> None:
        """Replace the samples in a slot. If they are too large for it, the slot stays as it is."""
        content, start = json.dumps(samples).encode(), _start(slot)
        if len(content) > SLOT_BYTES - _LENGTH_BYTES:
            return
        with self._lock:
            self._set_number(start, len(content))
            self._memory[start + _LENGTH_BYTES : start + _LENGTH_BYTES + len(content)] = content

    def read(self, but: int) -> Iterator[Samples]:
        """Yield the samples of all slots except one. Empty slots are left out."""
        for slot in range(self._processes):
            start = _start(slot)
            with self._lock:
                length = self._number(start)
                content = self._memory[start + _LENGTH_BYTES : start + _LENGTH_BYTES + length]
            if slot != but and content:
                yield json.loads(content)

    def _number(self, at: int) -> int:
        return int.from_bytes(self._memory[at : at + _LENGTH_BYTES], "little")

    def _set_number(self, at: int, number: int) -> None:
        self._memory[at : at + _LENGTH_BYTES] = number.to_bytes(_LENGTH_BYTES, "little")


class SummedMetrics(CollectorRegistry):
    """The metrics of a registry, with the samples of other processes added."""

    def __init__(self, own: CollectorRegistry, others: Iterable[Samples]) -> None:
        super().__init__()
        self._own = own
        self._others = list(others)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of the registry with the sums of all samples."""
        for metric in self._own.collect():
            summed = Metric(metric.name, metric.documentation, metric.type)
            found: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
            mine = ((sample.name, sample.labels, sample.value) for sample in metric.samples)
            for name, labels, value in (*mine, *(each for other in self._others for each in other[metric.name])):
                key = (name, tuple(labels.items()))
                if key not in found:
                    found[key] = value
                else:
                    found[key] = min(found[key], value) if name.endswith("_created") else found[key] + value
            for (name, pairs), value in found.items():
                summed.add_sample(name, dict(pairs), value)
            yield summed


def samples_of(registry: CollectorRegistry) -> Samples:
    """Return all samples of a registry."""
    found: dict[str, Any] = {}
    for metric in registry.collect():
        found[metric.name] = [(sample.name, sample.labels, sample.value) for sample in metric.samples]
    return found


def _start(slot: int) -> int:
    return _LENGTH_BYTES + slot * SLOT_BYTES
