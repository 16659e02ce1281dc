"""Keeps open sources of this process: opened once, found again by the state of the file, at most some dozens.

A file is known by its path, size, times and inode, and those of the files beside it, so one that was
replaced is opened anew; a dataset that is no longer kept lives on in those who hold it. A child of a fork
starts with none. Open files of the caller are never kept. """

from __future__ import annotations

import os
import stat
import threading
from collections import OrderedDict
from typing import Any

from .. import _core, environment
from ..errors import StrileError
from .remote import Ranges
from .source import OpenFile, Source

_SIDECARS = (".ovr", ".aux.xml", ".msk")
_LARGEST_AUX = 16 << 20
_kept: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
_lock = threading.Lock()


def forget() -> None:
    """Lets go of every open source: of a child after a fork, whose parent's files and threads are not its
    own."""
    global _lock
    _lock = threading.Lock()
    _kept.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget)


def dataset(
    source: Source,
    *,
    level: int = 0,
    missing: str = "raise",
    dtype: str | None = None,
    version: tuple[int, str] | None = None,
) -> Any:
    """Opens a source, or returns its open dataset. `level` is the overview that will be read, `dtype` the type that the
    bands of a mosaic are read as. With the `version` of an earlier
    opening no request is sent for a remote source that is still open, and a changed file is an error."""
    found = _found(source, level, missing, dtype, version)
    if version is not None and not _core.same_version(found.version, (version[0], version[1])):
        raise StrileError(f"{source} has changed since it was opened: open it again")
    return found


def datasets(paths: Any, places: dict[str, Any]) -> list[Any]:
    """Opens a path, an open `Dataset`, or a list of them, whose overviews may be needed."""
    given = list(paths) if isinstance(paths, list | tuple) else [paths]
    found = []
    for path in given:
        core = getattr(path, "_opened", None)
        found.append(dataset(Source.of(path, **places), level=1) if core is None else core())
    return found


def _found(
    source: Source, level: int, missing: str, dtype: str | None, version: tuple[int, str] | None
) -> Any:
    if source.is_object:
        reader = OpenFile(source.file)
        return _core.Dataset.open_ranges(reader, str(source), reader.size)
    if source.is_vrt and source.by_core:
        return _remote_vrt(source, missing, dtype, version)
    if source.is_vrt:
        return _keep(_vrt_key(source, missing, dtype), lambda: _open_vrt(source, missing, dtype))
    if source.is_remote:
        return _remote(source, level > 0, version)
    found = os.stat(source.location)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(f"{source}: expected a file, got a folder")
    look = source.sidecars != "never"
    key = ("local", os.path.abspath(source.location), look, *_marks(source.location, found))
    return _keep(key, lambda: _core.Dataset.open(source.location, sidecars=look))


def _marks(path: str, found: os.stat_result) -> tuple[Any, ...]:
    marks: list[Any] = list(_state(found))
    for suffix in _SIDECARS:
        try:
            # Most files have none, and an exception takes longer than to ask.
            marks.append(_state(os.stat(path + suffix)) if os.access(path + suffix, os.F_OK) else None)
        except OSError:
            marks.append(None)
    return tuple(marks)


def _state(found: os.stat_result) -> tuple[int, ...]:
    """Returns the state of a file. A replaced file of the same size and modification time has another inode or change time."""
    return found.st_size, found.st_mtime_ns, found.st_ino, found.st_dev, found.st_ctime_ns


def _keep(key: tuple[Any, ...], make: Any) -> Any:
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    opened = make()
    with _lock:
        opened = _kept.setdefault(key, opened)
        _kept.move_to_end(key)
        while len(_kept) > environment.open_files():
            _kept.popitem(last=False)
    return opened


def _remote(source: Source, overviews: bool, version: tuple[int, str] | None) -> Any:
    place = ("remote", source.location, source.storage, _known(source.store), source.sidecars, overviews)
    with _lock:
        for key in [key for key in _kept if key[: len(place)] == place]:
            if version is not None and tuple(_kept[key].version) == tuple(version):
                _kept.move_to_end(key)
                return _kept[key]
    if source.by_core:
        opened = _open_url(source, overviews)
        return _keep((*place, *opened.version), lambda: opened)
    ranges = Ranges(source.location, source.storage, source.store)
    return _keep((*place, ranges.size, ranges.mark), lambda: _open_ranges(ranges, overviews, source.sidecars))


def _known(store: Any) -> Any:
    """Returns the key of a store."""
    try:
        hash(store)
    except TypeError:
        return id(store)
    return store


def _open_url(source: Source, overviews: bool) -> Any:
    return _core.Dataset.open_remote(source.location, sidecars=source.sidecars, overviews=overviews, remote=source.for_core())


def _open_ranges(ranges: Ranges, overviews: bool, sidecars: str) -> Any:
    """Opens an object of a store. Beside it overviews are looked for if they are asked for, and metadata with `always`."""
    ovr = ranges.beside(".ovr") if sidecars == "always" or (overviews and sidecars == "auto") else None
    aux = ranges.beside(".aux.xml") if sidecars == "always" else None
    text = None
    if aux is not None:
        if aux.size > _LARGEST_AUX:
            raise StrileError(f"{aux.name} has {aux.size:,} bytes: expected at most {_LARGEST_AUX:,}; sidecars='never' leaves it out")
        text = bytes(aux.read_ranges([(0, aux.size)])[0]).decode(errors="replace")
    beside = None if ovr is None else (ovr, ovr.name, ovr.size)
    return _core.Dataset.open_ranges(ranges, ranges.name, ranges.size, overviews=beside, aux_xml=text)


def _vrt_key(source: Source, missing: str, dtype: str | None) -> tuple[Any, ...]:
    state = _state(os.stat(source.location))
    return ("vrt", os.path.abspath(source.location), *state, *_vrt_rules(source, missing, dtype))


def _vrt_rules(source: Source, missing: str, dtype: str | None) -> tuple[Any, ...]:
    allowed = (source.allow_outside, tuple(_vrt_roots(source)), tuple(_vrt_hosts(source)), environment.vrt_max_work())
    return (missing, dtype, *allowed, source.storage, source.sidecars, environment.allow_private_hosts())


def _remote_vrt(source: Source, missing: str, dtype: str | None, version: tuple[int, str] | None) -> Any:
    """Opens a mosaic at a URL, unless one of this version is open."""
    place = ("vrt", source.location, *_vrt_rules(source, missing, dtype))
    with _lock:
        if version is not None and (*place, *version) in _kept:
            return _kept[(*place, *version)]
    opened = _open_vrt(source, missing, dtype)
    return _keep((*place, *opened.version), lambda: opened)


def _vrt_hosts(source: Source) -> list[str]:
    return [*environment.vrt_hosts(), *source.allowed_hosts]


def _vrt_roots(source: Source) -> list[str]:
    return [*environment.vrt_roots(), *source.allowed_roots]


def _open_vrt(source: Source, missing: Any, dtype: str | None) -> Any:
    return _core.Dataset.open_vrt(
        source.location,
        missing=missing,
        allow_outside=source.allow_outside,
        allowed_roots=_vrt_roots(source),
        allowed_hosts=_vrt_hosts(source),
        max_bytes=environment.vrt_max_xml_bytes(),
        max_work=environment.vrt_max_work(),
        dtype=dtype,
        empty_holes=True,
        sidecars=source.sidecars,
        remote=source.for_core(),
    )
