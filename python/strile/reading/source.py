"""Where pixels come from: a local file, a VRT, an object of a remote store, or an open file, and how each is
opened.

A `Source` says what was asked for and can be pickled unless it is an open file. Nothing is read before
`open`. What is remote goes through fsspec, in batches of ranges; hosts of URLs are checked first (`hosts`).
"""

from __future__ import annotations

import os
import posixpath
import re
import threading
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ..errors import CloudSizeLimitError, ForkedError, StrileError, UnsafeURLError
from . import hosts

_URI = re.compile(r"^[A-Za-z][A-Za-z0-9+.\-]+(::|://)")


@dataclass(frozen=True)
class Source:
    """What `open_geotiff` was given as its first argument."""

    location: str
    file: Any = None

    @staticmethod
    def of(source: Any) -> Source:
        if isinstance(source, (str, bytes, os.PathLike)):
            location = os.fsdecode(os.fspath(source))
            if "\0" in location:
                raise StrileError(
                    f"source is {len(location):,} characters with a null among them and no path: the content of a file "
                    "is read as io.BytesIO(content)"
                )
            if location.lower().startswith("file://"):
                location = unquote(urlsplit(location).path)
            return Source(location)
        if hasattr(source, "read") and hasattr(source, "seek"):
            return Source(getattr(source, "name", None) or "<file-like>", source)
        raise TypeError(
            f"source is {source!r} ({type(source).__name__}): a path, a URL, or a binary file with read and "
            "seek expected"
        )

    def anywhere(self) -> Source:
        """The same for a process that works in another folder."""
        if self.is_object or self.is_remote:
            return self
        return Source(os.path.abspath(self.location))

    def __str__(self) -> str:
        return self.location if isinstance(self.location, str) else repr(self.location)

    @property
    def is_object(self) -> bool:
        return self.file is not None

    @property
    def is_remote(self) -> bool:
        return not self.is_object and _URI.match(self.location) is not None

    @property
    def is_vrt(self) -> bool:
        return not self.is_object and self.location.lower().endswith(".vrt")

    @property
    def stem(self) -> str | None:
        """The name of the array: that of the file without its folder and suffix."""
        if self.is_object:
            return None
        if self.is_remote:
            return posixpath.splitext(posixpath.basename(urlsplit(self.location).path))[0] or None
        return Path(self.location).stem or None


def fsspec_of(location: str) -> tuple[Any, str]:
    """The file system of a location, and the path there."""
    import fsspec

    filesystem, path = fsspec.core.url_to_fs(location, **hosts.options(location))
    return filesystem, path


def _told(location: str, problem: FileNotFoundError) -> Exception:
    """What fsspec calls a file that is not there, which it does of every failure."""
    cause = problem.__cause__
    if isinstance(cause, UnsafeURLError):
        return cause
    if isinstance(cause, OSError):
        # Python picks the class by the number: `ConnectionRefusedError`, `TimeoutError`, … Other numbers may be those of
        # a library, as OpenSSL's are.
        number = cause.errno or 0
        told = OSError(number, f"{os.strerror(number)}; is the address right and the server up?", location)
        if isinstance(told, ConnectionError | TimeoutError):
            return told
        return ConnectionError(f"{location}: {cause or type(cause).__name__}")
    status = getattr(cause, "status", None)
    if status is not None:
        return FileNotFoundError(f"{location}: the server answers {status} {getattr(cause, 'message', '')}".rstrip())
    return problem


class Ranges:
    """An object of a remote store, read in batches of ranges."""

    def __init__(self, location: str, limit: int | None = None) -> None:
        """Asks for the size of the object; `limit` is the most bytes it may have."""
        hosts.check(location)
        self.location = location
        self._process = os.getpid()
        self.fs, self.path = fsspec_of(location)
        try:
            info = self.fs.info(self.path)
        except FileNotFoundError as problem:
            raise _told(location, problem) from None
        if info.get("size") is None:
            raise StrileError(f"{location}: the server does not tell how large it is, and ranges need that")
        self.size = int(info["size"])
        keys = ("ETag", "etag", "mtime", "LastModified", "last_modified", "created")
        marks = (info.get(key) for key in keys)
        self.mark = str(next((mark for mark in marks if mark is not None), ""))
        if limit is not None and self.size > limit:
            raise CloudSizeLimitError(
                f"{location} has {self.size:,} bytes and at most {limit:,} are taken: raise "
                "max_cloud_bytes, or read "
                "it lazily with chunks"
            )

    def read_ranges(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        if os.getpid() != self._process:
            # A connection is not shared with the process that this one was forked from.
            self.fs, self.path = fsspec_of(self.location)
            self._process = os.getpid()
        starts = [start for start, _ in ranges]
        ends = [end for _, end in ranges]
        parts = list(self.fs.cat_ranges([self.path] * len(ranges), starts, ends, on_error="raise"))
        for (start, end), part in zip(ranges, parts, strict=True):
            if len(part) > end - start:
                raise StrileError(
                    f"{self.location}: the server does not serve ranges: of the {end - start:,} bytes from {start:,} on it "
                    f"gave {len(part):,}; use one that does (`Accept-Ranges: bytes`), or read a copy on disk"
                )
        return parts

    def beside(self, suffix: str) -> str:
        """The location of a file beside this one; a query stays where it is."""
        head, mark, query = self.location.partition("?")
        return f"{head}{suffix}{mark}{query}"


_locks: weakref.WeakKeyDictionary[Any, dict[int, threading.Lock]] = weakref.WeakKeyDictionary()


def _locks_of(file: Any) -> dict[int, threading.Lock]:
    """The locks of a file object by process, the same for all who read it."""
    try:
        return _locks.setdefault(file, {})
    except TypeError:
        # It has no hash or takes no weak references: readers that were made apart do not know of each other.
        return {}


class OpenFile:
    """A file object of the caller, read from one thread at a time; its position is put back."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self._process = os.getpid()
        self._locks = _locks_of(file)
        with self._lock:
            if not hasattr(file, "tell"):
                raise TypeError(f"a {type(file).__name__} has no `tell`: a binary file that can be sought is expected")
            before = file.tell()
            self.size = file.seek(0, os.SEEK_END)
            if self.size is None:
                self.size = file.tell()
            file.seek(before)

    @property
    def _lock(self) -> threading.Lock:
        """That of this process: a child may have been forked while a thread of its parent had the parent's."""
        return self._locks.setdefault(os.getpid(), threading.Lock())

    def read_ranges(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        if os.getpid() != self._process:
            self._refuse_shared_position()
        parts = []
        with self._lock:
            before = self.file.tell()
            try:
                for start, end in ranges:
                    self.file.seek(start)
                    part = self.file.read(end - start)
                    if isinstance(part, str):
                        raise TypeError(
                            f"{type(self.file).__name__} gives text: expected a binary file, opened with mode 'rb'"
                        )
                    parts.append(bytes(part))
            finally:
                self.file.seek(before)
        return parts

    def _refuse_shared_position(self) -> None:
        """A file of the system has one position for parent and child: bytes of one could be given to the other. What
        lies in memory was copied by the fork."""
        try:
            self.file.fileno()
        except (AttributeError, OSError):
            return
        raise ForkedError("the file object was opened before a fork, which shares its position: open it in this process")
