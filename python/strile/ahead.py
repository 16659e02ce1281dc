"""Results made ahead by a thread: a bounded number of them waits to be taken.

The thread ends when there are no more requests, at the first error, or when the results are not wanted any more; leaving
the context waits for it, so nothing runs after. A child of a fork does not have the thread and is told so."""

from __future__ import annotations

import atexit
import os
import queue
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any

from .errors import ForkedError

_END = object()

_under_way: weakref.WeakSet[Ahead] = weakref.WeakSet()


class Ahead:
    """See the module."""

    def __init__(self, read: Callable[[Any], Any], requests: Iterable[Any], depth: int) -> None:
        self._ready: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(maxsize=depth)
        self._stopped = threading.Event()
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._work, args=(read, requests), name="strile-ahead", daemon=True)

    def __enter__(self) -> Iterator[Any]:
        _under_way.add(self)
        self._thread.start()
        return self._results()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # When the interpreter ends a thread like this one never runs again, and looks alive; `_stop_all` was there before.
        if os.getpid() != self._process or sys.is_finalizing():
            return
        self._stopped.set()
        while self._thread.is_alive():
            # A thread that waits for room to put its result sees the stop then.
            try:
                self._ready.get(timeout=0.05)
            except queue.Empty:
                pass
        self._thread.join()

    def _results(self) -> Iterator[Any]:
        while True:
            if os.getpid() != self._process:
                raise ForkedError("these batches are read ahead by the process that this one was forked from")
            result, error = self._ready.get()
            if error is not None:
                raise error
            if result is _END:
                return
            yield result

    def _work(self, read: Callable[[Any], Any], requests: Iterable[Any]) -> None:
        try:
            for request in requests:
                if self._stopped.is_set():
                    return
                self._put(read(request), None)
            self._put(_END, None)
        except BaseException as error:  # it is raised where the result would have been taken
            self._put(None, error)

    def _put(self, result: Any, error: BaseException | None) -> None:
        while not self._stopped.is_set():
            try:
                return self._ready.put((result, error), timeout=0.1)
            except queue.Full:
                continue


@atexit.register
def _stop_all() -> None:
    for ahead in list(_under_way):
        ahead.__exit__(None, None, None)
