"""Opens local files that Python itself reads: regular ones only.

Opening a named pipe waits for a writer, for ever; a device may have no end. `O_NONBLOCK` keeps the opening from waiting,
and the kind is checked on the open file, so that nothing can be exchanged in between."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO

_KINDS = (
    (stat.S_ISDIR, IsADirectoryError, "a directory"),
    (stat.S_ISFIFO, OSError, "a named pipe (FIFO)"),
    (stat.S_ISSOCK, OSError, "a socket"),
    (stat.S_ISCHR, OSError, "a device"),
    (stat.S_ISBLK, OSError, "a device"),
)


def opened(path: str) -> BinaryIO:
    """The file for reading; anything but a regular file is an error that names its kind."""
    _check(os.stat(path).st_mode, path)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags)
    try:
        _check(os.fstat(handle).st_mode, path)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _check(mode: int, path: str) -> None:
    if stat.S_ISREG(mode):
        return
    kind, name = next(((kind, name) for matches, kind, name in _KINDS if matches(mode)), (OSError, "something else"))
    raise kind(f"{path}: expected a regular file, got {name}")
