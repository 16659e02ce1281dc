"""Results made ahead by threads: a bounded number of them is under way or waits to be taken, and they come in order.

No more is begun at the first error, or when the results are not wanted any more; leaving the context waits for what is under
way, so nothing runs after. A child of a fork does not have the threads and is told so."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any

from .errors import ForkedError


class Ahead:
    """See the module."""

    def __init__(self, read: Callable[[Any], Any], requests: Iterable[Any], depth: int, readers: int) -> None:
        self._read, self._requests, self._depth = read, iter(requests), depth
        self._process = os.getpid()
        self._threads = ThreadPoolExecutor(min(depth, readers), thread_name_prefix="strile-ahead")
        self._begun: deque[Future[Any]] = deque()
        self._failed = False

    def __enter__(self) -> Iterator[Any]:
        return self._results()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if os.getpid() == self._process:
            self._threads.shutdown(cancel_futures=True)

    def _results(self) -> Iterator[Any]:
        self._begin()
        while self._begun:
            if os.getpid() != self._process:
                raise ForkedError("these batches are read ahead by the process that this one was forked from")
            result = self._begun.popleft().result()
            self._begin()
            yield result

    def _begin(self) -> None:
        """Begins what there is room for. An error of the requests comes after the results of those before it."""
        while len(self._begun) < self._depth:
            try:
                request = next(self._requests)
            except StopIteration:
                return
            except BaseException as error:
                failed: Future[Any] = Future()
                failed.set_exception(error)
                self._begun.append(failed)
                return
            self._begun.append(self._threads.submit(self._call, request))

    def _call(self, request: Any) -> Any:
        if self._failed:
            return None  # nobody takes it: the error comes before
        try:
            return self._read(request)
        except BaseException:
            self._failed = True
            raise
