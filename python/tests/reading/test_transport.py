"""What a server may answer: an answer that is not the range that was asked for is an error, never pixels."""

from __future__ import annotations

import http.server
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
import strile

pytest.importorskip("fsspec")


class Server(http.server.BaseHTTPRequestHandler):
    """One object by ranges, as honest as `lie` says."""

    protocol_version = "HTTP/1.1"
    content = b""
    tag = '"first"'
    lie = ""
    asked: list[dict[str, str]]

    def do_GET(self) -> None:
        self.asked.append(dict(self.headers.items()))
        whole, asked = self.content, self.headers.get("Range")
        if asked is None:
            return self.answer(200, {}, whole)
        if self.headers.get("If-Match", self.tag) != self.tag and self.lie != "no If-Match":
            return self.answer(412, {}, b"")
        first, last = (int(number) for number in asked.removeprefix("bytes=").split("-"))
        part, stated = whole[first : last + 1], f"bytes {first}-{last}/{len(whole)}"
        more: dict[str, str] = {}
        if self.lie == "shifted":
            part, stated = whole[first + 1 : last + 2], f"bytes {first + 1}-{last + 1}/{len(whole)}"
        elif self.lie == "no Content-Range":
            stated = ""
        elif self.lie == "another total":
            stated = f"bytes {first}-{last}/{len(whole) + 1}"
        elif self.lie == "endless":
            return self.endless(stated)
        elif self.lie == "short":
            part = part[:-1]
        elif self.lie == "drip":
            return self.drip(stated, part)
        elif self.lie == "gzip":
            more = {"Content-Encoding": "gzip"}
        self.answer(206, ({"Content-Range": stated} if stated else {}) | more, part)

    def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for key, value in ({"ETag": self.tag, "Content-Length": str(len(body)), "Accept-Ranges": "bytes"} | headers).items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def endless(self, stated: str) -> None:
        """A body in chunks that never ends, until the client goes away."""
        self.send_response(206)
        self.send_header("Content-Range", stated)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        sent = 0
        try:
            while sent < 1 << 30:
                self.wfile.write(b"10000\r\n" + bytes(0x10000) + b"\r\n")
                sent += 0x10000
        except OSError:
            pass
        type(self).sent = sent
        self.close_connection = True

    def drip(self, stated: str, part: bytes) -> None:
        """A byte every two seconds, until the client goes away."""
        self.send_response(206)
        for key, value in {"ETag": self.tag, "Content-Range": stated, "Content-Length": str(len(part))}.items():
            self.send_header(key, value)
        self.end_headers()
        try:
            for at in range(len(part)):
                self.wfile.write(part[at : at + 1])
                time.sleep(2)
        except OSError:
            self.close_connection = True

    do_HEAD = do_GET

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, type[Server], np.ndarray]]:
    monkeypatch.setenv("STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS", "1")
    pixels = np.random.default_rng(1).integers(0, 255, (512, 512), np.uint8)
    path = tmp_path / "made.tif"
    with rasterio.open(path, "w", driver="GTiff", width=512, height=512, count=1, dtype="uint8", tiled=True,
                       blockxsize=64, blockysize=64) as file:  # fmt: skip
        file.write(pixels, 1)
    handler = type("Handler", (Server,), {"asked": [], "content": path.read_bytes()})
    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    running.daemon_threads = True
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}/far.tif", handler, pixels
    running.shutdown()
    running.server_close()


def test_ranges_are_asked_for_as_they_are_stored(server: Any) -> None:
    address, handler, pixels = server
    np.testing.assert_array_equal(strile.open(address).read(1), pixels)
    ranges = [headers for headers in handler.asked if "Range" in headers]
    assert ranges and all(headers["Accept-Encoding"] == "identity" for headers in ranges)
    # The first request for an object learns its version.
    assert all(headers.get("If-Match", "") == ("" if headers["Range"] == "bytes=0-32767" else '"first"') for headers in ranges)
    assert len(ranges) == len(handler.asked), "no HEAD, no request without a range"


@pytest.mark.parametrize(
    ("lie", "told"),
    [
        ("shifted", "another range than asked for: expected bytes"),
        ("no Content-Range", "another range than asked for"),
        ("another total", "has changed since it was opened"),
        ("short", "expected a body of"),
        ("gzip", "sends ranges of gzip"),
        ("endless", "more than the .* bytes asked for"),
    ],
)
def test_another_answer_is_an_error(server: Any, lie: str, told: str) -> None:
    address, handler, _ = server
    far = strile.open(address)
    handler.lie = lie
    with pytest.raises(strile.StrileError, match=told):
        far.read(1, window=(0, 100, 512, 300))
    assert getattr(handler, "sent", 0) < 64 << 20


@pytest.mark.parametrize("lie", ["", "no If-Match"])
def test_an_object_that_changes_is_told(server: Any, lie: str) -> None:
    """Blocks of two states of an object were put together into one picture."""
    address, handler, _ = server
    far = strile.open(address)
    handler.lie, handler.tag = lie, '"second"'
    handler.content = handler.content[:1000] + bytes(len(handler.content) - 1000)
    with pytest.raises(strile.StrileError, match="has changed since it was opened"):
        far.read(1)


def test_ctrl_c_ends_a_wait_at_once(server: Any) -> None:
    """A read against a byte every two seconds could not be stopped."""
    address, handler, _ = server
    far = strile.open(address)
    handler.lie = "drip"
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    # A process that a shell starts in the background ignores SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for work in (lambda: far.read(1), lambda: strile.open(f"{address}?other")):
            timer = threading.Timer(0.3, interrupt)
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                work()
            assert time.monotonic() - sent[-1] < 1.5  # before the next byte
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_of_a_fork_reads_on(server: Any) -> None:
    """Connections and threads are those of the parent; the child makes its own."""
    address, _, pixels = server
    far = strile.open(address)
    np.testing.assert_array_equal(far.read(1, window=(0, 0, 512, 100)), pixels[:100])
    child = os.fork()
    if child == 0:
        same = False
        try:
            same = bool((far.read(1, window=(0, 200, 512, 100)) == pixels[200:300]).all())
        finally:
            os._exit(0 if same else 1)
    for _ in range(200):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the child does not end")
    assert status == 0
    np.testing.assert_array_equal(far.read(1), pixels)


def test_an_object_of_a_store_that_changes_is_told(server: Any) -> None:
    import fsspec

    _, handler, pixels = server
    store = fsspec.filesystem("memory")
    store.pipe("/changing/far.tif", handler.content)
    far = strile.open("memory://changing/far.tif")
    np.testing.assert_array_equal(far.read(1), pixels)
    store.pipe("/changing/far.tif", handler.content[:1000] + bytes(len(handler.content) - 1000))
    with pytest.raises(strile.StrileError, match="has changed since it was opened"):
        far.read(1)


@pytest.mark.parametrize(
    "address", ["simplecache::memory://a/b.tif", "zip://b.tif::memory://a.zip", "filecache::s3://a/b.tif"]
)
def test_chained_urls_are_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for door in (strile.open, strile.read, strile.open_geotiff):
        with pytest.raises(strile.UnsafeURLError, match="STRILE_GEOTIFF_ALLOW_CHAINED_URLS=1"):
            door(address)


def test_chained_urls_are_followed_where_that_is_permitted(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec

    _, handler, pixels = server
    fsspec.filesystem("memory").pipe("/chained/far.tif", handler.content)
    monkeypatch.setenv("STRILE_GEOTIFF_ALLOW_CHAINED_URLS", "1")
    np.testing.assert_array_equal(strile.open("simplecache::memory://chained/far.tif").read(1), pixels)


def test_a_host_that_cannot_be_found_is_no_unsafe_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS", raising=False)
    for scheme in ("https", "ftp"):
        with pytest.raises(ConnectionError, match="cannot find the host") as told:
            strile.open_geotiff(f"{scheme}://no.such.host.invalid/a.tif?sig=concealed")
        assert "no.such.host.invalid" in str(told.value) and "concealed" not in str(told.value)


def test_credentials_are_nowhere_to_be_seen(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """User info and signatures of URLs were in messages, `repr`, `encoding["source"]` and plans."""
    address, handler, pixels = server
    secret = address.replace("http://", "http://someone:concealed@") + "?X-Amz-Signature=concealed&token=concealed"
    handle = strile.open(secret)
    shown = [repr(handle), handle._repr_html_(), handle.name, handle.plan().explain(), str(handle.facts)]
    eager, lazy = strile.open_geotiff(secret), strile.open_geotiff(secret, chunks=64)
    np.testing.assert_array_equal(lazy.values, pixels)
    other = strile.open_geotiff(secret + "2", chunks=64)
    assert other.data.name != lazy.data.name, "other URLs are other arrays, however they are shown"
    engine = pytest.importorskip("xarray").open_dataset(secret, engine="strile")
    for array in (eager, lazy, engine, engine.band_data):
        shown += [repr(array), array._repr_html_(), str(array.encoding), str(array.attrs)]
        assert array.encoding["source"] == address
    shown.append(repr(next(value for key, value in lazy.data.dask.items() if "request" in str(key))))
    handler.lie = "shifted"
    strile.clear_cache()
    with pytest.raises(strile.StrileError) as raised:
        handle.read(1)
    shown.append(str(raised.value))
    handler.do_HEAD = handler.do_GET = lambda self: self.answer(403, {}, b"")
    for door in (strile.open, strile.open_geotiff, lambda far: strile.read_batch([far], [[0, 0, 0, 8, 8]])):
        with pytest.raises(OSError) as refused:
            door(secret + "&other")
        shown.append(str(refused.value))
    monkeypatch.delenv("STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS")
    with pytest.raises(strile.UnsafeURLError) as unsafe:
        strile.open(secret + "&more")
    shown.append(str(unsafe.value))
    assert not [text for text in shown if "concealed" in text]
