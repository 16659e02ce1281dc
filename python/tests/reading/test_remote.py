"""Remote sources: the same result as the local file, by ranges, with limits and without private hosts."""

from __future__ import annotations

import http.server
import pickle
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
import strile
import xarray as xr
from strile.reading import remote as transport
from strile.reading.storage import Storage

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def local(gtiff: Any, pixels: np.ndarray) -> Path:
    path: Path = gtiff(
        np.tile(pixels, (8, 8)),
        name="far.tif",
        nodata=7,
        crs="EPSG:32633",
        transform=(30.0, 0, 5e5, 0, -30.0, 4e6),
        tiled=True,
        blockxsize=64,
        blockysize=64,
        compress="deflate",
    )
    with rasterio.Env(TIFF_USE_OVR="YES"), rasterio.open(path, "r+") as file:
        file.build_overviews([2], rasterio.enums.Resampling.nearest)
    return path


class Served(http.server.SimpleHTTPRequestHandler):
    """A folder by ranges, counting the bytes it gave."""

    given: list[int]
    moved: str | None = None
    together: threading.Barrier | None = None
    """Requests are answered when so many are under way."""
    ranges = True

    def do_GET(self) -> None:
        # What lies beside a file may be asked for more than once: slow requests are repeated.
        if self.together is not None and self.path.startswith("/far.tif?"):
            try:
                self.together.wait(20)
            except threading.BrokenBarrierError:
                self.send_error(503)
                return
        if self.path.startswith("/moved") and self.moved is not None:
            self.send_response(302)
            self.send_header("Location", self.moved)
            self.end_headers()
            return
        path = Path(self.directory) / self.path.lstrip("/").partition("?")[0]
        if not path.is_file():
            self.send_error(404)
            return
        whole = path.read_bytes()
        start, stop = 0, len(whole)
        asked = self.headers.get("Range") if self.ranges else None
        if asked:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start, stop = int(first), int(last) + 1 if last else len(whole)
        part = whole[start:stop]
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Accept-Ranges", "bytes")
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{start + len(part) - 1}/{len(whole)}")
        self.end_headers()
        if self.command == "GET":
            self.given.append(len(part))
            self.wfile.write(part)

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, type[Served]]]:
    handler = type("Handler", (Served,), {"given": []})
    running = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *arguments: handler(*arguments, directory=str(tmp_path))
    )
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}", handler
    running.shutdown()
    running.server_close()


@pytest.fixture(params=["memory", "http"])
def remote(request: pytest.FixtureRequest, local: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS", "1")
    if request.param == "http":
        address, _ = request.getfixturevalue("server")
        return f"{address}/far.tif"
    store = fsspec.filesystem("memory")
    for path in (local, local.with_name("far.tif.ovr")):
        store.pipe(f"/store/{path.name}", path.read_bytes())
    return "memory://store/far.tif"


@pytest.mark.parametrize(
    "keywords", [{}, {"masked": True}, {"window": (30, 40, 90, 100)}, {"overview_level": 1}], ids=str
)
@pytest.mark.parametrize("route", [{}, {"chunks": 150}], ids=str)
def test_equals_the_local_file(
    remote: str, local: Path, keywords: dict[str, Any], route: dict[str, Any]
) -> None:
    far, near = (strile.open_geotiff(path, **keywords, **route) for path in (remote, str(local)))
    assert far.compute().identical(near.compute())


def test_windows_of_a_batch(remote: str, local: Path) -> None:
    windows, levels = [[0, 30, 40, 50, 60], [1, -9, 7, 50, 60], [0, 200, 5, 50, 60]], [0, 0, 1]
    near = strile.read_batch([local, local], windows, level=levels, device="cpu").numpy()
    for far in (remote, strile.open(remote)):
        found = strile.read_batch([far, local], windows, level=levels, device="cpu").numpy()
        np.testing.assert_array_equal(found, near)


def test_a_window_needs_a_part_of_the_file(server: Any, local: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS", "1")
    address, handler = server
    strile.open_geotiff(f"{address}/far.tif", window=(0, 0, 20, 20))
    assert sum(handler.given) < local.stat().st_size * 0.7


def test_files_of_a_batch_are_opened_and_read_together(
    server: Any, local: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS", "1")
    address, handler = server
    files = [f"{address}/far.tif?{number}" for number in range(6)]
    windows = [[number, 30 + number, 40, 50, 60] for number in range(6)]
    near = strile.read_batch([local] * 6, windows, device="cpu").numpy()
    handles = [strile.open(file) for file in files]
    handler.together = threading.Barrier(6)
    for far in (files, handles):
        np.testing.assert_array_equal(strile.read_batch(far, windows, device="cpu").numpy(), near)


def test_the_first_file_of_a_batch_that_is_not_there_is_named(
    server: Any, local: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS", "1")
    files = [f"{server[0]}/{name}.tif" for name in ("far", "none", "nothing", "never")]
    with pytest.raises(FileNotFoundError, match=r"none\.tif: the server answers 404"):
        strile.read_batch(files, [[number, 0, 0, 8, 8] for number in range(4)], device="cpu")


def test_a_server_without_ranges_is_told(server: Any, local: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS", "1")
    address, handler = server
    handler.ranges = False
    with pytest.raises(strile.StrileError, match=r"far\.tif: the server does not serve ranges: asked for .* bytes from"):
        strile.read_batch([f"{address}/far.tif"], [[0, 0, 0, 8, 8]], device="cpu")


def test_a_server_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS", "1")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/far.tif"
        with pytest.raises(ConnectionRefusedError, match="refused.*far"):
            strile.open_geotiff(address)


def test_what_openssl_says_is_kept() -> None:
    problem = FileNotFoundError("far")
    problem.__cause__ = ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number")
    told = transport._actual_error("https://far", problem)
    assert type(told) is ConnectionError and "WRONG_VERSION_NUMBER" in str(told)


def test_a_file_that_is_not_there(remote: str) -> None:
    with pytest.raises(FileNotFoundError):
        strile.open_geotiff(remote.replace("far", "nowhere"))


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1/a.tif", "HTTP://localhost/a.tif", "https://[::1]/a.tif", "http://10.0.0.1/a.tif",
                "http://169.254.169.254/latest", "simplecache::http://127.0.0.1/a.tif"]
)  # fmt: skip
@pytest.mark.parametrize("keywords", [{}, {"chunks": 16}], ids=str)
def test_private_hosts_are_refused(
    address: str, keywords: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS", raising=False)
    with pytest.raises(strile.UnsafeURLError):
        strile.open_geotiff(address, **keywords)


def test_a_redirect_to_a_private_host_is_refused(
    server: Any, local: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS", raising=False)
    # The server of the test is on this machine, and is let through by its number alone.
    given = Storage.reached
    monkeypatch.setattr(Storage, "reached", lambda *of: given(*of) | {"allowed_private_hosts": ["127.0.0.1"]})
    address, handler = server
    assert strile.open_geotiff(f"{address}/far.tif", window=(0, 0, 2, 2)).shape == (2, 2)
    handler.moved = f"{address.replace('127.0.0.1', 'localhost')}/far.tif"
    with pytest.raises(strile.UnsafeURLError, match="STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS=1"):
        strile.open_geotiff(f"{address}/moved.tif")


def test_objects_over_the_limit_are_refused_before_they_are_read(
    local: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsspec.filesystem("memory").pipe("/limit/far.tif", local.read_bytes())
    with pytest.raises(strile.CloudSizeLimitError):
        strile.open_geotiff("memory://limit/far.tif", max_cloud_bytes=100)
    monkeypatch.setenv("STRILE_GEOTIFF_MAX_CLOUD_BYTES", "100")
    with pytest.raises(strile.CloudSizeLimitError):
        strile.open_geotiff("memory://limit/far.tif")
    strile.open_geotiff("memory://limit/far.tif", max_cloud_bytes=None)
    strile.open_geotiff("memory://limit/far.tif", chunks=64).compute()
    with pytest.raises(strile.CloudSizeLimitError):
        strile.open_geotiff("memory://limit/far.tif", chunks=64, max_cloud_bytes=100).compute()
    strile.open_geotiff(local, max_cloud_bytes=100)


def test_the_limit_counts_what_is_fetched(local: Path) -> None:
    """It counted the bytes of the object, so 64 pixels of a large one were refused."""
    fsspec.filesystem("memory").pipe("/counted/far.tif", local.read_bytes())
    address, size = "memory://counted/far.tif", local.stat().st_size
    part = strile.open_geotiff(address, window=(0, 0, 20, 20), max_cloud_bytes=size // 2)
    assert part.identical(strile.open_geotiff(local, window=(0, 0, 20, 20)))
    with pytest.raises(strile.CloudSizeLimitError, match=r"would fetch [\d]+ bytes: `max_cloud_bytes` is"):
        strile.open_geotiff(address, max_cloud_bytes=size // 2)


def test_overviews_beside_are_limited_too(local: Path, gtiff: Any, pixels: np.ndarray) -> None:
    store = fsspec.filesystem("memory")
    store.pipe("/beside/far.tif", local.read_bytes())
    store.pipe("/beside/far.tif.ovr", gtiff(np.tile(pixels, (4, 4)), name="half.tif").read_bytes())
    size = local.stat().st_size
    with pytest.raises(strile.CloudSizeLimitError, match=r"far\.tif\.ovr"):
        strile.open_geotiff("memory://beside/far.tif", overview_level=1, max_cloud_bytes=100)
    strile.open_geotiff("memory://beside/far.tif", max_cloud_bytes=size)


def test_overviews_beside_may_be_placed_by_themselves(gtiff: Any, pixels: np.ndarray) -> None:
    path = gtiff(pixels, crs="EPSG:4326", transform=(10, 0, 100, 0, -10, 200))
    beside = gtiff(pixels[::2, ::2], name="b.ovr", crs="EPSG:3857", transform=(2.5, 0, 500, 0, -2.5, 800))
    store = fsspec.filesystem("memory")
    store.pipe("/placed/far.tif", path.read_bytes())
    store.pipe("/placed/far.tif.ovr", beside.read_bytes())
    array = strile.open_geotiff("memory://placed/far.tif", overview_level=1)
    assert array.attrs["crs"] == 3857
    assert array.attrs["transform"] == (2.5, 0, 500, 0, -2.5, 800)


@pytest.fixture
def asked(server: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths that the server was asked for."""
    monkeypatch.setenv("STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS", "1")
    handler, seen = server[1], []
    answer = handler.do_GET

    def noted(self: Any) -> None:
        seen.append(self.path)
        answer(self)

    handler.do_GET = noted
    return seen


def cog(path: Path, pixels: np.ndarray) -> None:
    strile.to_geotiff(np.tile(pixels, (32, 32)), path, crs=32633, transform=(30.0, 0, 5e5, 0, -30.0, 4e6), cog=True, tile_size=256)


def test_a_cog_is_opened_with_one_request(server: Any, asked: list[str], tmp_path: Path, pixels: np.ndarray) -> None:
    cog(tmp_path / "cog.tif", pixels)
    address = f"{server[0]}/cog.tif"
    for door in (strile.open, lambda url: strile.open_geotiff(url, chunks=256), lambda url: xr.open_dataset(url, engine="strile")):
        asked.clear()
        door(address)
        assert asked == ["/cog.tif"]


def test_what_lies_beside_a_file_is_told_as_on_disk(
    server: Any, asked: list[str], gtiff: Any, pixels: np.ndarray, tmp_path: Path
) -> None:
    path = gtiff(np.tile(pixels, (16, 16)), name="plain.tif")
    (tmp_path / "plain.tif.aux.xml").write_text(
        "<PAMDataset><PAMRasterBand band='1'><NoDataValue>7</NoDataValue><CategoryNames><Category>water</Category></CategoryNames>"
        "</PAMRasterBand></PAMDataset>"
    )
    (tmp_path / "plain.tfw").write_text("10\n0\n0\n-10\n500005\n4999995\n")
    address, near = f"{server[0]}/plain.tif", strile.open_geotiff(path)
    assert near.attrs["nodata"] == 7 and near.attrs["category_names"] == ["water"] and near.attrs["transform"][0] == 10
    assert strile.open_geotiff(address).identical(near)
    assert strile.open_geotiff(address, chunks=300).compute().identical(strile.open_geotiff(path, chunks=300).compute())
    asked.clear()
    assert "nodata" not in strile.open_geotiff(address, window=(0, 0, 1, 1), sidecars="never").attrs
    assert set(asked) == {"/plain.tif"}


def test_a_copy_loses_nothing_that_lies_beside(server: Any, asked: list[str], tmp_path: Path, pixels: np.ndarray) -> None:
    cog(tmp_path / "cog.tif", pixels)
    (tmp_path / "cog.tif.aux.xml").write_text("<PAMDataset><PAMRasterBand band='1'><NoDataValue>7</NoDataValue></PAMRasterBand></PAMDataset>")
    strile.convert(f"{server[0]}/cog.tif", tmp_path / "copy.tif")
    assert strile.open(tmp_path / "copy.tif").nodata == 7
    assert strile.info(f"{server[0]}/cog.tif")["nodata"] == 7
    assert strile.open(f"{server[0]}/cog.tif").nodata is None
    assert strile.open(f"{server[0]}/cog.tif", sidecars="always").nodata == 7


def test_a_remote_vrt_is_read_as_the_one_on_disk(server: Any, asked: list[str], local: Path, tmp_path: Path) -> None:
    strile.vrt([local], tmp_path / "all.vrt")
    near, address = strile.open_geotiff(tmp_path / "all.vrt"), f"{server[0]}/all.vrt"
    for route in ({}, {"chunks": 150}):
        far = strile.open_geotiff(address, **route)
        assert far.compute().identical(strile.open_geotiff(tmp_path / "all.vrt", **route).compute())
        assert pickle.loads(pickle.dumps(far)).compute().equals(near)
    np.testing.assert_array_equal(strile.read(address).numpy()[0], near.values)
    np.testing.assert_array_equal(strile.read_batch([address], [[0, 5, 6, 20, 20]]).numpy()[0, 0], near.values[6:26, 5:25])
    with xr.open_dataset(tmp_path / "all.vrt", engine="strile") as on_disk:
        assert xr.open_dataset(address, engine="strile").identical(on_disk)


def test_a_vrt_reaches_hosts_that_are_allowed(server: Any, asked: list[str], local: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    strile.vrt([local], tmp_path / "all.vrt")
    near = strile.open_geotiff(tmp_path / "all.vrt")
    text = (tmp_path / "all.vrt").read_text()
    there = tmp_path / "there.vrt"
    there.write_text(re.sub(r'relativeToVRT="1">[^<]*', f'relativeToVRT="0">/vsicurl/{server[0]}/far.tif', text))
    asked.clear()
    for keywords in ({}, {"allow_outside": True}, {"allowed_hosts": ["example.org"]}):
        with pytest.raises(strile.VRTUnsupportedError, match="`allowed_hosts`"):
            strile.open_geotiff(there, **keywords)
    assert asked == []
    for keywords in ({}, {"chunks": 150}):
        assert strile.open_geotiff(there, allowed_hosts=["127.0.0.1"], **keywords).compute().equals(near)
    np.testing.assert_array_equal(strile.read(there, allowed_hosts=["*"]).numpy()[0], near.values)
    monkeypatch.setenv("STRILE_VRT_ALLOWED_HOSTS", "example.org, 127.0.0.1")
    assert strile.open_geotiff(there).equals(near)
    monkeypatch.delenv("STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS")
    with pytest.raises(strile.UnsafeURLError):
        strile.open_geotiff(there)
