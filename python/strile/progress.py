"""Converts `progress=` of a read or a write to the core's callback.

The callback is called on the caller's thread with (done, total) blocks, often enough for a bar and not more;
the last call has done equal to total. An exception of the callback stops the work."""

from __future__ import annotations

import sys
from collections.abc import Callable

Callback = Callable[[int, int], object]


def resolve(progress: bool | Callback | None, what: str = "strile") -> Callback | None:
    """Returns a callback. False or None: none. True: tqdm's bar if tqdm is installed, else a line on a terminal, else none. A
    callable is called as it is. `what` names the work in the bar."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return _bar(what)
    if callable(progress):
        return progress
    raise TypeError(f"progress is {progress!r}: expected True, False or a callable of (done, total)")


def _bar(what: str) -> Callback | None:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _line(what) if sys.stderr.isatty() else None
    bar = tqdm(total=None, desc=what, unit="block")

    def report(done: int, total: int) -> None:
        if bar.total != total:
            bar.total = total
        bar.update(done - bar.n)
        if done >= total:
            bar.close()

    return report


def _line(what: str) -> Callback:
    def report(done: int, total: int) -> None:
        end = "\n" if done >= total else ""
        share = done / total if total else 1.0
        print(f"\r{what}: {share:4.0%} of {total} blocks", end=end, file=sys.stderr, flush=True)

    return report
