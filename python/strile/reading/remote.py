"""Objects of remote stores, read in batches of ranges through fsspec. Plain `http` and `https` URLs are read by the core.

A store is asked for the version of an object after each batch: one that changes under a reader is an error. URLs are
shown without credentials."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from .. import environment
from ..errors import StrileError, UnsafeURLError
from ..extras import require
from . import hosts
from .process import process
from .shown import redacted, shown

_MARKS = ("ETag", "etag", "mtime", "LastModified", "last_modified", "Last-Modified", "created")


def fsspec_of(location: str) -> tuple[Any, str]:
    """The file system of a location, and the path there."""
    fsspec = require("fsspec", f"reading {redacted(location)}", "remote")
    if "::" in location and not environment.allow_chained_urls():
        raise UnsafeURLError(
            f"{redacted(location)}: chained URLs are not followed, because they can lead to any file and host; set "
            "STRILE_GEOTIFF_ALLOW_CHAINED_URLS=1 to permit them"
        )
    filesystem, path = fsspec.core.url_to_fs(location)
    return filesystem, path


def is_http(location: str) -> bool:
    """Whether the core reads it. `::` in such a URL does not chain URLs."""
    return urlsplit(location).scheme.lower() in {"http", "https"}


def beside(location: str, suffix: str) -> str:
    """The location of a file beside another; a query stays where it is."""
    head, mark, query = location.partition("?")
    return f"{head}{suffix}{mark}{query}"


class Ranges:
    """An object of a remote store, read in batches of ranges."""

    def __init__(self, location: str) -> None:
        """Asks for the size of the object."""
        self.location, self.name = location, shown(location)
        self.fs, self.path = fsspec_of(location)
        hosts.check(location)
        self._process = process()
        info = self._asked(lambda: self.fs.info(self.path))
        if info.get("size") is None:
            raise StrileError(f"{self.name}: the server does not say how large the object is, and ranges need that")
        self.size = int(info["size"])
        self.mark = _mark(info)

    def read_ranges(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        if process() != self._process:
            # A connection is not shared with the process that this one was forked from.
            self.fs, self.path = fsspec_of(self.location)
            self._process = process()
        return self._asked(lambda: self._of_store(ranges))

    def _of_store(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        starts, ends = [start for start, _ in ranges], [end for _, end in ranges]
        parts = list(self.fs.cat_ranges([self.path] * len(ranges), starts, ends, on_error="raise"))
        now = self.fs.info(self.path)
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
        """What a store answers; its errors without credentials."""
        try:
            return ask()
        except StrileError:
            raise
        except FileNotFoundError as problem:
            raise _told(self.name, problem) from None
        except Exception as problem:
            raise _without_credentials(self.name, problem) from None


def _mark(info: dict[str, Any]) -> str:
    return str(next((info[key] for key in _MARKS if info.get(key) is not None), ""))


def _told(name: str, problem: FileNotFoundError) -> Exception:
    """What fsspec calls a file that is not there, which it does of every failure."""
    cause = problem.__cause__
    if isinstance(cause, UnsafeURLError):
        return cause
    if isinstance(cause, OSError):
        # Python picks the class by the number: `ConnectionRefusedError`, `TimeoutError`, … Other numbers may be those of
        # a library, as OpenSSL's are.
        number = cause.errno or 0
        told = OSError(number, f"{os.strerror(number)}; is the address right and the server up?", name)
        if isinstance(told, ConnectionError | TimeoutError):
            return told
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
