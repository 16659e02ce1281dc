"""Objects of remote stores, read in batches of ranges through fsspec.

An answer is used only if it is what was asked for: over HTTP the range, the size of the object and its version are
checked in each answer, and no more is read of a body than was asked for. Other stores are asked for the version after
each batch. An object that changes under a reader is an error. URLs are shown without credentials."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from .. import environment
from ..errors import StrileError, UnsafeURLError
from ..extras import require
from . import hosts
from .process import process
from .shown import redacted, shown

_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
_MARKS = ("ETag", "etag", "mtime", "LastModified", "last_modified", "Last-Modified", "created")
_AT_ONCE = 16
"""Requests under way at once for one object."""


def fsspec_of(location: str) -> tuple[Any, str]:
    """The file system of a location, and the path there."""
    fsspec = require("fsspec", f"reading {redacted(location)}", "remote")
    if _is_http(location):
        require("aiohttp", f"reading {redacted(location)}", "remote")
        # Not by `url_to_fs`, which takes `::` in a URL for a chain.
        return fsspec.filesystem("http", **hosts.options(location)), location
    if "::" in location and not environment.allow_chained_urls():
        raise UnsafeURLError(
            f"{redacted(location)}: chained URLs are not followed, because they can lead to any file and host; set "
            "STRILE_GEOTIFF_ALLOW_CHAINED_URLS=1 to permit them"
        )
    filesystem, path = fsspec.core.url_to_fs(location, **hosts.options(location))
    return filesystem, path


def _is_http(location: str) -> bool:
    return urlsplit(location).scheme.lower() in {"http", "https"}


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
        self._seen = {key: info[key] for key in ("ETag", "Last-Modified") if info.get(key)}

    def read_ranges(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        if process() != self._process:
            # A connection is not shared with the process that this one was forked from.
            self.fs, self.path = fsspec_of(self.location)
            self._process = process()
        if _is_http(self.location):
            from fsspec.asyn import sync

            return list(self._asked(lambda: sync(self.fs.loop, self._fetched, ranges)))
        return self._asked(lambda: self._of_store(ranges))

    def beside(self, suffix: str) -> str:
        """The location of a file beside this one; a query stays where it is."""
        head, mark, query = self.location.partition("?")
        return f"{head}{suffix}{mark}{query}"

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

    async def _fetched(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        session = await self.fs.set_session()
        slots = asyncio.Semaphore(_AT_ONCE)

        async def one(start: int, end: int) -> bytes:
            async with slots:
                return await self._one(session, start, end)

        tasks = [asyncio.ensure_future(one(start, end)) for start, end in ranges]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()

    async def _one(self, session: Any, start: int, end: int) -> bytes:
        headers = dict(self.fs.kwargs.get("headers") or {})
        headers |= {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
        if self._seen.get("ETag", "").startswith('"'):
            headers["If-Match"] = self._seen["ETag"]
        async with session.get(self.fs.encode_url(self.path), headers=headers) as answer:
            self._check(answer, start, end)
            try:
                body = await answer.content.readexactly(end - start)
            except asyncio.IncompleteReadError as short:
                raise StrileError(
                    f"{self.name}: the server sent {len(short.partial):,} of {end - start:,} bytes from {start:,}; try again"
                ) from None
            if await answer.content.read(1):
                answer.close()
                raise StrileError(f"{self.name}: the server sent more than the {end - start:,} bytes asked for")
            return bytes(body)

    def _check(self, answer: Any, start: int, end: int) -> None:
        """Refuses an answer that is not the range that was asked for, of the object that was opened."""
        status, headers = answer.status, answer.headers
        if status in (412, 416):
            raise self._changed()
        if status in (404, 410):
            raise FileNotFoundError(f"{self.name}: the server answers {status} {answer.reason or ''}".rstrip())
        if status not in (200, 206):
            raise OSError(f"{self.name}: the server answers {status} {answer.reason or ''}".rstrip())
        for key in ("ETag", "Last-Modified"):
            now = headers.get(key)
            if now and _strong(self._seen.setdefault(key, now)) != _strong(now):
                raise self._changed()
        encoding = headers.get("Content-Encoding", "identity")
        if encoding.lower() != "identity":
            raise StrileError(f"{self.name}: the server sends ranges of {encoding} in place of the object's own bytes")
        if status == 200:
            if (start, end, answer.content_length) == (0, self.size, self.size):
                return
            sent = "all" if answer.content_length is None else f"{answer.content_length:,}"
            raise StrileError(
                f"{self.name}: the server does not serve ranges: asked for {end - start:,} bytes from {start:,}, it sends "
                f"{sent}; use a server that does (`Accept-Ranges: bytes`), or read a copy on disk"
            )
        stated = headers.get("Content-Range", "")
        found = _RANGE.fullmatch(stated.strip())
        if found is None or (int(found[1]), int(found[2])) != (start, end - 1):
            raise StrileError(
                f"{self.name}: the server sends another range than asked for: expected bytes {start}-{end - 1}, got "
                f"{stated or 'no Content-Range'!r}"
            )
        if found[3] != "*" and int(found[3]) != self.size:
            raise self._changed()
        if answer.content_length is not None and answer.content_length != end - start:
            raise StrileError(
                f"{self.name}: expected a body of {end - start:,} bytes, the server announces {answer.content_length:,}"
            )

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


def _strong(tag: str) -> str:
    return tag.removeprefix("W/")


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
