"""Makes results ahead by threads: a bounded number of them is in progress or waits to be taken, and they come in order.

No result is started after the first error, or after the context is left. Leaving it, and the end of the interpreter, wait for running
reads. A child of a fork does not have the threads, and gets an error."""

from __future__ import annotations

import atexit
import math
import queue
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import Any

from .errors import ForkedError
from .reading.process import process

_under_way: weakref.WeakSet[Ahead] = weakref.WeakSet()


class Ahead:
    """Runs reads ahead of their use, on threads, and returns results in order."""

    def __init__(self, read: Callable[[Any], Any], requests: Iterable[Any], depth: int, readers: int) -> None:
        self._read, self._requests, self._depth = read, iter(requests), depth
        self._process = process()
        self._begun: deque[Future[Any]] = deque()
        self._count = 0
        self._asked: queue.SimpleQueue[tuple[int, Any, Future[Any]] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        # The number of the first request that failed, or of those that are not wanted any more.
        self._end = math.inf
        threads = range(min(depth, readers))
        self._threads = [threading.Thread(target=self._work, name="strile-ahead", daemon=True) for _ in threads]

    def __enter__(self) -> Iterator[Any]:
        _under_way.add(self)
        for thread in self._threads:
            thread.start()
        return self._results()

    def __exit__(self, *_error: object) -> None:
        # When the interpreter ends a thread like these never runs again, and looks alive; `_stop_all` was there before.
        if process() != self._process or sys.is_finalizing():
            return
        self._end_at(-1)
        for _ in self._threads:
            self._asked.put(None)
        for thread in self._threads:
            thread.join()
        self._begun.clear()

    def _results(self) -> Iterator[Any]:
        self._begin()
        while self._begun:
            if process() != self._process:
                raise ForkedError("these batches are read ahead by the process that this one was forked from")
            result = self._begun.popleft().result()
            self._begin()
            yield result

    def _begin(self) -> None:
        """Begins what there is room for. An error of the requests comes after the results of those before it."""
        while len(self._begun) < self._depth:
            future: Future[Any] = Future()
            try:
                request = next(self._requests)
            except StopIteration:
                return
            except Exception as error:
                self._requests = iter(())
                future.set_exception(error)
                self._begun.append(future)
                return
            self._begun.append(future)
            self._asked.put((self._count, request, future))
            self._count += 1

    def _work(self) -> None:
        while (asked := self._asked.get()) is not None:
            number, request, future = asked
            if number > self._end:
                future.cancel()  # never delivered: the error comes first
                continue
            try:
                future.set_result(self._read(request))
            except BaseException as error:  # it is raised where the result would have been taken
                self._end_at(number)
                future.set_exception(error)
            del asked, request, future

    def _end_at(self, number: int) -> None:
        with self._lock:
            self._end = min(self._end, number)


@atexit.register
def _stop_all() -> None:
    for ahead in list(_under_way):
        ahead.__exit__()
