"""Objects of stores that the core does not read itself, in batches of ranges: through fsspec, or through a store of the caller, which
is a filesystem of fsspec or a store of obstore (any with obspec's `head` and `get_ranges`).

A store is asked for the version of an object after each batch: one that changes under a reader is an error. URLs are
shown without credentials."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import Any, Protocol

from ..errors import ForkedError, StrileError, UnsafeURLError
from ..extras import require
from . import hosts
from .process import process
from .shown import redacted, shown
from .storage import Storage

_MARKS = ("ETag", "etag", "e_tag", "mtime", "LastModified", "last_modified", "Last-Modified", "created")


def beside(location: str, suffix: str) -> str:
    """Returns the location of a file beside another; a query stays where it is."""
    head, mark, query = location.partition("?")
    return f"{head}{suffix}{mark}{query}"


class _Store(Protocol):
    def info(self) -> dict[str, Any]: ...
    def ranges(self, starts: list[int], ends: list[int]) -> list[Any]: ...


class _Fsspec:
    """An object of a filesystem of fsspec."""

    def __init__(self, fs: Any, path: str) -> None:
        self.fs, self.path = fs, path

    def info(self) -> dict[str, Any]:
        return dict(self.fs.info(self.path))

    def ranges(self, starts: list[int], ends: list[int]) -> list[Any]:
        return list(self.fs.cat_ranges([self.path] * len(starts), starts, ends, on_error="raise"))


class _Obspec:
    """An object of a store of obstore."""

    def __init__(self, store: Any, path: str) -> None:
        self.store, self.path = store, path

    def info(self) -> dict[str, Any]:
        try:
            return dict(self.store.head(self.path))
        except Exception as problem:
            if type(problem).__name__ != "NotFoundError":
                raise
            raise FileNotFoundError(f"{self.path}: the store has no such object") from None

    def ranges(self, starts: list[int], ends: list[int]) -> list[Any]:
        return [bytes(part) for part in self.store.get_ranges(self.path, starts=starts, ends=ends)]


def is_store(store: Any) -> bool:
    """Returns whether objects can be read from it."""
    return _is_fsspec(store) or (hasattr(store, "head") and hasattr(store, "get_ranges"))


def _is_fsspec(store: Any) -> bool:
    return hasattr(store, "cat_ranges") and hasattr(store, "info")


def _opened(location: str, storage: Storage, store: Any) -> _Store:
    if store is not None:
        return _Fsspec(store, location) if _is_fsspec(store) else _Obspec(store, location)
    fsspec = require("fsspec", f"reading {redacted(location)}", "remote")
    hosts.check(location)
    filesystem, path = fsspec.core.url_to_fs(location, **storage.for_fsspec())
    return _Fsspec(filesystem, path)


class Ranges:
    """An object of a store, read in batches of ranges."""

    def __init__(self, location: str, storage: Storage | None = None, store: Any = None) -> None:
        """Asks for the size of the object."""
        self.location, self.name = location, shown(location)
        self.storage, self.store = storage or Storage(), store
        self._object = self._asked(lambda: _opened(location, self.storage, store))
        self._process = process()
        info = self._asked(self._object.info)
        if info.get("size") is None:
            raise StrileError(f"{self.name}: the server does not say how large the object is, and ranges need that")
        self.size = int(info["size"])
        self.mark = _mark(info)

    def beside(self, suffix: str) -> Ranges | None:
        """Returns the object beside this one; None if there is none."""
        location = self.location + suffix if self.store is not None else beside(self.location, suffix)
        try:
            return Ranges(location, self.storage, self.store)
        except FileNotFoundError:
            return None

    def read_ranges(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        if process() != self._process:
            # A connection is not shared with the process that this one was forked from.
            self._object = _opened(self.location, self.storage, _again(self.store))
            self._process = process()
        return self._asked(lambda: self._of_store(ranges))

    def _of_store(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        parts = self._object.ranges([start for start, _ in ranges], [end for _, end in ranges])
        now = self._object.info()
        if now.get("size") != self.size or _mark(now) != self.mark:
            raise self._changed()
        for (start, end), part in zip(ranges, parts, strict=True):
            if len(part) != end - start:
                raise StrileError(
                    f"{self.name}: the store does not serve ranges: asked for {end - start:,} bytes from {start:,}, got "
                    f"{len(part):,}; read a copy on disk"
                )
        return parts

    def _changed(self) -> StrileError:
        return StrileError(f"{self.name} has changed since it was opened: open it again")

    def _asked(self, ask: Callable[[], Any]) -> Any:
        """Calls a store, and removes credentials from its errors."""
        try:
            return ask()
        except (StrileError, ImportError):
            raise
        except FileNotFoundError as problem:
            raise _actual_error(self.name, problem) from None
        except Exception as problem:
            raise _without_credentials(self.name, problem) from None


def _again(store: Any) -> Any:
    """Returns a store of the caller for a child of a fork."""
    try:
        return None if store is None else pickle.loads(pickle.dumps(store))  # noqa: S301
    except Exception:
        raise ForkedError("the store was made before a fork and cannot be pickled: make it in this process") from None


def _mark(info: dict[str, Any]) -> str:
    return str(next((info[key] for key in _MARKS if info.get(key) is not None), ""))


def _actual_error(name: str, problem: FileNotFoundError) -> Exception:
    """Returns the error for a failure that fsspec reports as a missing file."""
    cause = problem.__cause__
    if isinstance(cause, UnsafeURLError):
        return cause
    if isinstance(cause, OSError):
        # Python picks the class by the number: `ConnectionRefusedError`, `TimeoutError`, … Other numbers may be those of
        # a library, as OpenSSL's are.
        number = cause.errno or 0
        error = OSError(number, f"{os.strerror(number)}; is the address right and the server up?", name)
        if isinstance(error, ConnectionError | TimeoutError):
            return error
        return ConnectionError(redacted(f"{name}: {cause or type(cause).__name__}"))
    status = getattr(cause, "status", None)
    if status is not None:
        return FileNotFoundError(f"{name}: the server answers {status} {getattr(cause, 'message', '')}".rstrip())
    return _without_credentials(name, problem)


def _without_credentials(name: str, problem: Exception) -> Exception:
    text = str(problem)
    if not isinstance(problem, OSError):
        return ConnectionError(redacted(f"{name}: {type(problem).__name__}: {text}"))
    if redacted(text) == text:
        return problem
    kinds = (FileNotFoundError, PermissionError, TimeoutError, ConnectionError)
    return next((kind for kind in kinds if isinstance(problem, kind)), OSError)(redacted(text))
