"""Provides `Source`: a local file, a VRT, a URL, an object of a store, or an open file.

A `Source` can be pickled unless it is an open file. Nothing is read before
`opened.dataset`. Shown, a source has no credentials (`shown`). """

from __future__ import annotations

import os
import posixpath
import threading
import weakref
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from ..checks import is_listed, path_of, truth_of
from ..errors import ForkedError, StrileError, VRTUnsupportedError
from .process import process
from .remote import is_store
from .shown import is_uri, shown
from .storage import Storage, refuse, service_of, storage_of

if TYPE_CHECKING:
    from .. import _core

SOURCE_KEYWORDS = ("allow_outside", "allowed_roots", "allowed_hosts", "storage_options", "anonymous", "store", "sidecars")
"""Keywords of readers that say where a source is and how it is reached."""
_SIDECARS = ("auto", "always", "never")


@dataclass(frozen=True, repr=False)
class Source:
    """The source of a read: the first argument of `open_geotiff`, with the options that reach it."""

    location: str
    file: Any = None
    # Where sources of a VRT may lie besides its own folder: anywhere, or in these folders.
    allow_outside: bool = False
    allowed_roots: tuple[str, ...] = ()
    # Hosts and buckets that sources of a VRT may be on besides its own.
    allowed_hosts: tuple[str, ...] = ()
    # How a URL is reached, or the store that the location is a path in.
    storage: Storage = Storage()
    store: Any = None
    # Whether files beside it are looked for.
    sidecars: str = "auto"

    @staticmethod
    def of(
        source: Any,
        *,
        allow_outside: bool = False,
        allowed_roots: Any = (),
        allowed_hosts: Any = (),
        storage_options: Any = None,
        anonymous: Any = False,
        store: Any = None,
        sidecars: Any = "auto",
    ) -> Source:
        found = Source._of(source)
        if store is not None:
            found = found._in(store)
        if not isinstance(sidecars, str) or sidecars not in _SIDECARS:
            raise StrileError(f"sidecars is {sidecars!r}: expected 'auto', 'always' or 'never'")
        if found.is_vrt and found.is_remote and not found.by_core:
            raise VRTUnsupportedError(f"{found}: a VRT is read from a path, or from an http(s), s3, gs or az URL")
        hosts = hosts_of(allowed_hosts)
        storage = storage_of(_reached(found, hosts), storage_options, anonymous)
        if storage or sidecars != found.sidecars:
            found = replace(found, sidecars=sidecars, storage=storage)
        if storage and not (found.is_vrt and hosts) and (found.is_object or found.store is not None or not is_uri(found.location)):
            refuse(str(found), storage)
        anywhere = truth_of(allow_outside, "allow_outside")
        if isinstance(allowed_roots, (str, bytes, os.PathLike)):
            raise TypeError(f"allowed_roots is {allowed_roots!r}: expected a list of folders, got one path")
        if allowed_roots is not None and not is_listed(allowed_roots):
            raise TypeError(f"allowed_roots is {allowed_roots!r}: expected a list of folders")
        folders = [path_of(root, "a folder of allowed_roots") for root in (() if allowed_roots is None else allowed_roots)]
        if not anywhere and not folders and not hosts:
            return found
        if not found.is_vrt:
            raise StrileError(f"allow_outside, allowed_roots and allowed_hosts apply to a VRT, got {found}: drop them")
        roots = tuple(str(Path(root).resolve()) for root in folders)
        return replace(found, allow_outside=anywhere, allowed_roots=roots, allowed_hosts=hosts)

    def _in(self, store: Any) -> Source:
        """Returns the same path in a store of the caller."""
        if self.is_object or self.store is not None or is_uri(self.location):
            raise StrileError(f"store says where a path is, got {self}: pass the path in the store")
        if not is_store(store):
            raise TypeError(
                f"store is a {type(store).__name__}: expected a filesystem of fsspec or a store of obstore (with `head` and `get_ranges`)"
            )
        return replace(self, store=store)

    @staticmethod
    def _of(source: Any) -> Source:
        if isinstance(source, (str, bytes, os.PathLike)):
            location = os.fsdecode(os.fspath(source))
            if "\0" in location:
                raise StrileError(
                    f"source is {len(location):,} characters with a null among them, which is not a path: pass the "
                    "content of a file as io.BytesIO(content)"
                )
            if location.lower().startswith("file://"):
                location = unquote(urlsplit(location).path)
            return Source(location)
        if hasattr(source, "fs") and hasattr(source, "path") and hasattr(source, "open") and is_store(source.fs):
            # `fsspec.open`: a file that is not open yet.
            return Source(str(source.path), store=source.fs)
        if hasattr(source, "read") and hasattr(source, "seek"):
            return Source(getattr(source, "name", None) or "<file-like>", source)
        raise TypeError(
            f"source is {source!r} ({type(source).__name__}): expected a path, a URL, or a binary file with "
            "read and seek"
        )

    def anywhere(self) -> Source:
        """Returns the same for a process that works in another folder."""
        if self.is_object or self.is_remote:
            return self
        return replace(self, location=os.path.abspath(self.location))

    def __str__(self) -> str:
        """Returns the location without credentials."""
        return self.shown

    def __repr__(self) -> str:
        return f"Source({str(self)!r})" if self.file is None else f"Source({str(self)!r}, {self.file!r})"

    @property
    def shown(self) -> str:
        """Returns the location without credentials: of a local file its path."""
        return shown(self.location) if isinstance(self.location, str) else repr(self.location)

    @property
    def is_object(self) -> bool:
        return self.file is not None

    @cached_property
    def is_remote(self) -> bool:
        return not self.is_object and (self.store is not None or is_uri(self.location))

    @cached_property
    def by_core(self) -> bool:
        """Returns whether it is a URL that the core reads; other remote sources are read through a store."""
        return self.is_remote and self.store is None and service_of(self.location) is not None

    @cached_property
    def is_vrt(self) -> bool:
        if self.file is not None or ".vrt" not in self.location.lower():
            return False
        path = urlsplit(self.location).path if self.by_core else self.location
        return path[-4:].lower() == ".vrt"

    def for_core(self) -> _core.RemoteOptions:
        """Returns the options for the URL of the source, and for those that a VRT names."""
        return self.storage.for_core(self.location)

    @property
    def stem(self) -> str | None:
        """Returns the name of the array: that of the file without its folder and suffix."""
        if self.is_object:
            return None
        if self.is_remote:
            path = self.location if self.store is not None else urlsplit(self.location).path
            return posixpath.splitext(posixpath.basename(path))[0] or None
        return os.path.splitext(os.path.basename(self.location))[0] or None


def _reached(found: Source, hosts: tuple[str, ...]) -> str:
    """Returns the location that options are for: the source itself or, if that is a local mosaic, the bucket or the host that its sources may be on."""
    if not found.is_vrt or not hosts or is_uri(found.location):
        return found.location
    return next((host for host in hosts if service_of(host) is not None), "http://")


def hosts_of(hosts: Any) -> tuple[str, ...]:
    """Returns `allowed_hosts`, checked."""
    if isinstance(hosts, (str, bytes)) or (hosts is not None and not is_listed(hosts)):
        raise TypeError(f"allowed_hosts is {hosts!r}: expected a list of hosts and buckets, such as 'example.org' or 's3://bucket'")
    found = tuple(() if hosts is None else hosts)
    if odd := [host for host in found if not isinstance(host, str) or not host]:
        raise TypeError(f"allowed_hosts has {odd[0]!r}: expected the name of a host or bucket")
    return found


_locks: weakref.WeakKeyDictionary[Any, dict[tuple[int, int], threading.Lock]] = weakref.WeakKeyDictionary()


def _locks_of(file: Any) -> dict[tuple[int, int], threading.Lock]:
    """Returns the locks of a file object by process, which all its readers share."""
    try:
        return _locks.setdefault(file, {})
    except TypeError:
        # It has no hash or takes no weak references: readers that were made apart do not know of each other.
        return {}


class OpenFile:
    """A file object of the caller, read from one thread at a time; its position is put back."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self._process = process()
        self._locks = _locks_of(file)
        with self._lock:
            if not hasattr(file, "tell"):
                raise TypeError(f"a {type(file).__name__} has no `tell`: expected a seekable binary file")
            before = file.tell()
            self.size = file.seek(0, os.SEEK_END)
            if self.size is None:
                self.size = file.tell()
            file.seek(before)

    @property
    def _lock(self) -> threading.Lock:
        """Returns the lock of this process: a thread of the parent may have held the parent's during a fork."""
        return self._locks.setdefault(process(), threading.Lock())

    def read_ranges(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        if process() != self._process:
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
        """Refuses a file of the system, whose position parent and child share: each could get bytes of the other. What
        lies in memory was copied by the fork."""
        try:
            self.file.fileno()
        except (AttributeError, OSError):
            return
        raise ForkedError("the file object was opened before a fork, which shares its position: open it in this process")
