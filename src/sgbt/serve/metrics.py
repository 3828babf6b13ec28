"""Metrics: what the server has done so far, counted, and written as Prometheus reads it (text format 0.0.4)."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from sgbt.serve.lanes import Lane, Message

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = tuple[tuple[str, str], ...]


class Histogram:
    """How many values lie at or below each bound, their number and their sum."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds, self._counts, self._sum = bounds, [0] * (len(bounds) + 1), 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def lines(self, name: str, labels: Labels = ()) -> Iterable[str]:
        """As cumulative counts."""
        total = 0
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._counts, strict=True):
            total += count
            yield _line(f"{name}_bucket", (*labels, ("le", bound)), total)
        yield _line(f"{name}_sum", labels, self._sum)
        yield _line(f"{name}_count", labels, total)


class Metrics:
    """Counted by the loop and by the threads of the workers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: defaultdict[str, Histogram] = defaultdict(lambda: Histogram(SECONDS))
        self._batches = Histogram(TEXTS)
        self._jobs: Counter[tuple[str, str]] = Counter()
        self._texts: Counter[str] = Counter()

    def answered(self, path: str, status: int, seconds: float) -> None:
        """A request was answered."""
        with self._lock:
            self._requests[path, status] += 1
            self._seconds[path].add(seconds)

    def batch(self, texts: int) -> None:
        """So many texts were given to a model in one call."""
        with self._lock:
            self._batches.add(texts)

    def ended(self, lane: Lane, messages: Sequence[Message], texts: int) -> None:
        """Jobs came to their ends, with so many texts in them."""
        with self._lock:
            self._jobs.update((str(lane), message["kind"]) for message in messages)
            self._texts[str(lane)] += texts

    def lines(self, *, waiting: Mapping[str, int], restarts: int) -> str:
        """Everything, one value per line."""
        with self._lock:
            found = [
                *_family("sgbt_requests_total", "counter", "Requests by path and status."),
                *(
                    _line("sgbt_requests_total", (("path", path), ("status", str(status))), count)
                    for (path, status), count in sorted(self._requests.items())
                ),
                *_family("sgbt_request_seconds", "histogram", "Seconds from a request's head to its whole answer."),
                *(
                    line
                    for path, seconds in sorted(self._seconds.items())
                    for line in seconds.lines("sgbt_request_seconds", (("path", path),))
                ),
                *_family("sgbt_batch_texts", "histogram", "Texts in one call of a model for predictions."),
                *self._batches.lines("sgbt_batch_texts"),
                *_family("sgbt_jobs_total", "counter", "Jobs by lane and how they ended."),
                *(
                    _line("sgbt_jobs_total", (("lane", lane), ("end", end)), count)
                    for (lane, end), count in sorted(self._jobs.items())
                ),
                *_family("sgbt_texts_total", "counter", "Texts in jobs that ended, by lane."),
                *(_line("sgbt_texts_total", (("lane", lane),), self._texts[lane]) for lane in Lane),
            ]
        found += _family("sgbt_jobs_waiting", "gauge", "Jobs that wait for a process, by lane.")
        found += [_line("sgbt_jobs_waiting", (("lane", lane),), count) for lane, count in waiting.items()]
        found += _family("sgbt_worker_restarts_total", "counter", "Processes started in the place of others.")
        found.append(_line("sgbt_worker_restarts_total", (), restarts))
        return "\n".join(found) + "\n"


def _family(name: str, kind: str, what: str) -> list[str]:
    return [f"# HELP {name} {what}", f"# TYPE {name} {kind}"]


def _line(name: str, labels: Labels, value: float) -> str:
    """One value. Labels are paths, statuses and names of this program's own: nothing in them needs escaping."""
    named = ",".join(f'{key}="{text}"' for key, text in labels)
    number = str(int(value)) if value == int(value) else repr(value)
    return f"{name}{{{named}}} {number}" if named else f"{name} {number}"
