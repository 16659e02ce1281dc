"""A range server on loopback with latency and a rate per connection. It counts what it is asked.

    range_server.py FOLDER [--delay 0.03] [--rate 60e6]

Prints `listening PORT`. Answers GET and HEAD with `Range: bytes=a-b`, an ETag and `If-Match`. GET /__stats answers JSON (requests, heads,
bytes, connections, at_once) and sets the counters to 0. `--delay` is the time to the first byte of each answer in seconds, `--rate` the
bytes per second of one connection; 0 for no limit. Ends when standard input does."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

STEP = 1 << 18
ZEROS = {"requests": 0, "heads": 0, "bytes": 0, "connections": 0, "at_once": 0}
counts = dict(ZEROS)
under_way = 0


class Server:
    """The files of one folder."""

    def __init__(self, folder: str, delay: float, rate: float) -> None:
        self.folder, self.delay, self.rate = Path(folder).resolve(), delay, rate
        self.files: dict[Path, tuple[bytes, str]] = {}

    def content(self, path: str) -> tuple[bytes, str] | None:
        full = (self.folder / path.lstrip("/")).resolve()
        if not full.is_relative_to(self.folder) or not full.is_file():
            return None
        if full not in self.files:
            self.files[full] = (full.read_bytes(), f'"{full.stat().st_mtime_ns:x}"')
        return self.files[full]

    def answer(self, path: str, fields: dict[str, str]) -> tuple[str, str, memoryview]:
        """Status, headers and body of an answer to GET."""
        found = self.content(path)
        if found is None:
            return "404 Not Found", "", memoryview(b"")
        data, tag = found
        if fields.get("if-match", tag) not in (tag, "*"):
            return "412 Precondition Failed", "", memoryview(b"")
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", fields.get("range", ""))
        extra, body = f"ETag: {tag}\r\nContent-Type: image/tiff\r\n", memoryview(data)
        if not asked or not (asked[1] or asked[2]):
            return "200 OK", extra, body
        first = int(asked[1]) if asked[1] else max(0, len(data) - int(asked[2]))
        last = min(len(data) - 1, int(asked[2])) if asked[1] and asked[2] else len(data) - 1
        if first >= len(data):
            return "416 Range Not Satisfiable", f"Content-Range: bytes */{len(data)}\r\n", memoryview(b"")
        return "206 Partial Content", extra + f"Content-Range: bytes {first}-{last}/{len(data)}\r\n", body[first : last + 1]

    async def one(self, head: str, writer: asyncio.StreamWriter) -> None:
        global under_way
        method, target, _ = head.split(" ", 2)
        fields = {key.lower(): value.strip() for key, value in re.findall(r"^([^:\r\n]+):([^\r\n]*)", head, re.M)}
        path = unquote(urlsplit(target).path)
        if path == "/__stats":
            body = json.dumps(counts).encode()
            counts.update(ZEROS)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
            return
        counts["requests"] += 1
        counts["heads"] += method == "HEAD"
        under_way += 1
        counts["at_once"] = max(counts["at_once"], under_way)
        try:
            if self.delay:
                await asyncio.sleep(self.delay)
            status, extra, body = self.answer(path, fields)
            writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nAccept-Ranges: bytes\r\n{extra}\r\n".encode())
            for start in range(0, len(body) if method == "GET" else 0, STEP):
                part = body[start : start + STEP]
                writer.write(part)
                counts["bytes"] += len(part)
                await writer.drain()
                if self.rate:
                    await asyncio.sleep(len(part) / self.rate)
            await writer.drain()
        finally:
            under_way -= 1

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        counts["connections"] += 1
        try:
            while True:
                await self.one((await reader.readuntil(b"\r\n\r\n")).decode("latin-1"), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def main(server: Server) -> None:
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, limit=1 << 16, backlog=1024)
    print("listening", listening.sockets[0].getsockname()[1], flush=True)
    # The program that started it holds the other end.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--delay", type=float, default=0.03)
    parser.add_argument("--rate", type=float, default=60e6)
    given = parser.parse_args()
    try:
        import uvloop

        run = uvloop.run
    except ImportError:
        run = asyncio.run
    run(main(Server(given.folder, given.delay, given.rate)))
