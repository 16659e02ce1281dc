"""`write_header_index`: the headers of many files in one, so that opening them costs no read and no request."""

from __future__ import annotations

import os
from collections.abc import Iterable


def write_header_index(
    target: str | os.PathLike[str], files: Iterable[str | os.PathLike[str]], *, sidecars: bool = True
) -> tuple[int, int, list[tuple[str, str]]]:
    """Writes an index of the headers of `files`, paths and `http(s)` URLs, to `target`.

    `Headers(index=...)` uses it: `read_batch` then opens these files without a read, and URLs without a request. A local file
    that has changed since is opened anew. A URL whose object has changed is an error when it is read. URLs are stored without
    credentials. `sidecars` says whether files beside local ones (`.ovr`, `.aux.xml`, world files) count.

    Returns how many files are in the index, its size in bytes, and the files that could not be opened, each with the reason."""
    from ._core import write_header_index as write
    from .reading import hosts
    from .reading.storage import Storage

    listed = [os.fspath(file) for file in files]
    for file in listed:
        if "://" in file:
            hosts.check_any(file)
    return write(os.fspath(target), listed, sidecars=sidecars, remote=Storage().for_core("http://"))
