"""Every way to read has the same limits, and panics and missing threads are exceptions like others."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strile
import strile._core

SIDE = 100_000


def _tiff(path: Path, width: int, height: int, tile: int, body: bytes) -> Path:
    """A grey image whose tiles all are `body`, compressed by Deflate."""
    tiles = -(-width // tile) * -(-height // tile)
    entries = [
        (256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, 8), (259, 3, 1, 8), (262, 3, 1, 1), (277, 3, 1, 1),
        (322, 4, 1, tile), (323, 4, 1, tile),
    ]  # fmt: skip
    table = 8 + 2 + 12 * 10 + 4
    at = table + 8 * tiles if tiles > 1 else table
    offsets, counts = (table, table + 4 * tiles) if tiles > 1 else (at, len(body))
    entries += [(324, 4, tiles, offsets), (325, 4, tiles, counts)]
    head = b"II*\0" + struct.pack("<IH", 8, len(entries))
    head += b"".join(struct.pack("<HHII", *entry) for entry in entries) + bytes(4)
    tables = b"" if tiles == 1 else struct.pack(f"<{tiles}I", *[at] * tiles) + struct.pack(f"<{tiles}I", *[len(body)] * tiles)
    path.write_bytes(head + tables + body)
    return path


@pytest.fixture
def huge(tmp_path: Path) -> Path:
    """Ten gigabytes of pixels in some hundred kilobytes: all tiles are the same bytes."""
    import zlib

    return _tiff(tmp_path / "huge.tif", SIDE, SIDE, 1024, zlib.compress(bytes(1024 * 1024)))


def _engine(path: Path, **options: Any) -> Any:
    xarray = pytest.importorskip("xarray")
    return xarray.open_dataset(path, engine="strile", **options)


def _eager(path: Path, **options: Any) -> Any:
    return _engine(path, **options).band_data.load()


def _chunked(path: Path, **options: Any) -> Any:
    pytest.importorskip("dask")
    return _engine(path, chunks={"y": SIDE, "x": SIDE}, **options).band_data.compute()


DOORS: dict[str, Callable[..., Any]] = {
    "read": strile.read,
    "read on the CPU": lambda path, **options: strile.read(path, device="cpu", **options),
    "Dataset.read": lambda path, **options: strile.open(path).read(1, **options),
    "Dataset.plan": lambda path, **options: strile.open(path).plan(**options),
    "plan": strile.plan,
    "open_geotiff": strile.open_geotiff,
    "open_geotiff, one chunk": lambda path, **options: strile.open_geotiff(path, chunks=SIDE, **options).compute(),
    "read_batch": lambda path, **options: strile.read_batch([path], [[0, 0, 0, SIDE, SIDE]], **options),
    "convert": lambda path, **options: strile.convert(path, path.with_name("made.tif"), **options),
    "add_overviews": lambda path, **options: strile.add_overviews(path, external=True, **options),
    "compare": lambda path, **options: strile.compare(path, path, **options),
    "xarray, loaded": _eager,
    "xarray, one chunk": _chunked,
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_has_the_same_limit(door: str, huge: Path) -> None:
    """`open_geotiff` alone had one: the same file took 9.6 GB by `read` and 37 GB by xarray's engine."""
    with pytest.raises(strile.PixelSafetyLimitError, match="more than 1024 times the size of the file"):
        DOORS[door](huge)
    with pytest.raises(strile.PixelSafetyLimitError, match="`max_pixels` is 1000"):
        DOORS[door](huge, max_pixels=1000)


@pytest.mark.parametrize("door", ["Dataset.plan", "plan"])
def test_the_limit_can_be_raised(door: str, huge: Path) -> None:
    try:
        DOORS[door](huge, max_pixels=SIDE * SIDE)
    except MemoryError:
        pass  # This machine has less; the limit did not refuse it.


def test_parts_of_large_files_are_read(huge: Path) -> None:
    window = (50_000, 50_000, 100, 100)
    assert strile.read(huge, window=window, device="cpu").numpy().shape == (1, 100, 100)
    assert _engine(huge).band_data[0, 5:25, 7:27].values.shape == (20, 20)
    assert strile.read_batch([huge], [[0, *window]], device="cpu").numpy().shape == (1, 1, 100, 100)


@pytest.mark.parametrize("door", [name for name in DOORS if "chunk" not in name and name not in ("read_batch", "convert", "add_overviews", "compare")])
def test_blocks_of_padding_are_refused(door: str, tmp_path: Path) -> None:
    """One pixel of a tile of 60,000 x 60,000 took 3.5 GB."""
    padded = _tiff(tmp_path / "padded.tif", 1, 1, 60_000, bytes(100))
    with pytest.raises(strile.PixelSafetyLimitError, match="blocks of 60000 × 60000 pixels decode to 3.4 GiB each"):
        DOORS[door](padded)


def test_the_environment_limits_blocks(huge: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRILE_COG_MAX_TILE_BYTES", "1000")
    for door in ("read", "xarray, loaded"):
        with pytest.raises(strile.PixelSafetyLimitError):
            DOORS[door](huge)
    with pytest.raises(strile.PixelSafetyLimitError, match="`max_block_bytes` is 1000"):
        strile.read(huge, window=(0, 0, 1, 1), device="cpu")
    monkeypatch.setenv("STRILE_COG_MAX_TILE_BYTES", "many")
    with pytest.raises(strile.StrileError, match="STRILE_COG_MAX_TILE_BYTES is `many`"):
        strile.read(huge, window=(0, 0, 1, 1), device="cpu")


@pytest.mark.parametrize("side", ["width", "height"])
def test_sides_without_end_have_no_coordinates(side: str, tmp_path: Path) -> None:
    size = {"width": (4_000_000_000, 1), "height": (1, 4_000_000_000)}[side]
    path = _tiff(tmp_path / "long.tif", *size, 2_000_000_000, bytes(100))
    for opened in (lambda: _engine(path), lambda: strile.open_geotiff(path, chunks=100_000)):
        with pytest.raises(strile.StrileError):
            opened()


@pytest.mark.parametrize("place", ["thread", "at once", "with the interpreter"])
def test_a_panic_is_an_exception(place: str) -> None:
    """It was a `PanicException`, which `except Exception` does not catch."""
    with pytest.raises(strile.InternalError, match="a panic on purpose; this is a bug, please report it"):
        strile._core._panic(place)
    assert issubclass(strile.InternalError, (strile.StrileError, RuntimeError))


WITHOUT_THREADS = """
import sys, numpy, strile
path = sys.argv[1]
assert strile.read(path, device="cpu").numpy().shape == (1, 600, 500)
assert strile.open(path).read(1, device="cpu").shape == (600, 500)
assert strile.read_batch([path], [[0, 0, 0, 8, 8]], device="cpu").numpy().shape == (1, 1, 8, 8)
assert strile.open_geotiff(path).shape == (600, 500)
assert strile.write_header_index(sys.argv[2], [path, path])[0] > 0
strile.to_geotiff(numpy.zeros((600, 500), "uint8"), sys.argv[3])
print("all was done without threads")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="stacks are sized by Linux's means")
def test_nothing_panics_without_threads(tmp_path: Path) -> None:
    """Threads that could not be started were a `PanicException`."""
    path = tmp_path / "small.tif"
    strile.to_geotiff(np.arange(300_000, dtype="uint32").astype("uint8").reshape(600, 500), str(path))
    command = [sys.executable, "-c", WITHOUT_THREADS, str(path), str(tmp_path / "a.index"), str(tmp_path / "b.tif")]
    # Stacks larger than all addresses there are.
    run = subprocess.run(command, env=os.environ | {"RUST_MIN_STACK": str(1 << 47)}, capture_output=True, text=True)
    assert run.stdout.strip() == "all was done without threads", run.stderr
