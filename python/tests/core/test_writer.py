"""The core's Writer: pixels of every type, order of axes and strides, targets, failures. Read back by tifffile and GDAL."""

from __future__ import annotations

import gc
import io
import os
import signal
import tempfile
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
import tifffile
from strile import _core
from strile.errors import ClosedError, StrileError

TYPES = (
    "uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 float32 float64 complex64 complex128".split()
)


def tiles(**more: Any) -> _core.WriteOptions:
    return _core.WriteOptions(tile=(16, 16), compression="deflate", **more)


TILES = tiles()


def pixels(dtype: str, *shape: int) -> np.ndarray:
    generator = np.random.default_rng(7)
    if dtype.startswith("complex"):
        return (generator.normal(size=shape) + 1j * generator.normal(size=shape)).astype(dtype)
    if dtype.startswith("float"):
        return generator.normal(size=shape).astype(dtype)
    if dtype == "bool":
        return generator.integers(0, 2, shape).astype(bool)
    info = np.iinfo(dtype)
    return generator.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def raster_of(array: np.ndarray, axes: str = "yx", **more: Any) -> _core.RasterSpec:
    size = dict(zip(axes, array.shape, strict=True))
    dtype = "uint8" if array.dtype == bool else array.dtype.name
    return _core.RasterSpec(width=size["x"], height=size["y"], bands=size.get("b", 1), dtype=dtype, **more)


def write(target: Any, array: np.ndarray, axes: str = "yx", options: _core.WriteOptions = TILES, **raster: Any) -> dict:
    writer = _core.Writer(target, raster_of(array, axes, **raster), options)
    writer.write(array, 0, 0, axes=axes)
    return writer.finish()


def left(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


STRIDES = {
    "contiguous": lambda array: array,
    "column by column": np.asfortranarray,
    "every other": lambda array: np.repeat(array, 2, axis=-1)[..., ::2],
    "backwards": lambda array: np.ascontiguousarray(array[::-1, ::-1])[::-1, ::-1],
    "bands backwards": lambda array: np.ascontiguousarray(array[..., ::-1])[..., ::-1],
    "read-only": lambda array: np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape),
    "not aligned": lambda array: unaligned(array),
}


def unaligned(array: np.ndarray) -> np.ndarray:
    memory = np.zeros(array.nbytes + 1, np.uint8)
    memory[1:] = np.frombuffer(array.tobytes(), np.uint8)
    return memory[1:].view(array.dtype).reshape(array.shape)


@pytest.mark.parametrize("axes", ["yx", "byx", "yxb"])
@pytest.mark.parametrize("dtype", [*TYPES, "bool"])
def test_every_type_and_order_of_axes_arrives(dtype: str, axes: str, tmp_path: Path) -> None:
    shape = {"yx": (37, 45), "byx": (3, 37, 45), "yxb": (37, 45, 3)}[axes]
    array = pixels(dtype, *shape)
    write(tmp_path / "a.tif", array, axes, tiles(planar="contig"))
    found = tifffile.imread(tmp_path / "a.tif")
    expected = np.moveaxis(array, 0, -1) if axes == "byx" else array
    assert found.dtype == (np.uint8 if dtype == "bool" else array.dtype)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("strides", STRIDES)
@pytest.mark.parametrize("axes", ["yx", "byx", "yxb"])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float64"])
def test_any_strides(dtype: str, axes: str, strides: str, tmp_path: Path) -> None:
    shape = {"yx": (33, 20), "byx": (2, 33, 20), "yxb": (33, 20, 2)}[axes]
    array = pixels(dtype, *shape)
    given = STRIDES[strides](array)
    before = given.copy()
    write(tmp_path / "a.tif", given, axes)
    expected = np.moveaxis(array, 0, -1) if axes == "byx" else array
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "a.tif"), expected)
    np.testing.assert_array_equal(given, before)


def test_samples_that_repeat(tmp_path: Path) -> None:
    array = np.broadcast_to(np.arange(30, dtype="uint16"), (20, 30))
    write(tmp_path / "a.tif", array)
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "a.tif"), array)


def test_an_array_in_the_order_of_memory_is_not_copied(tmp_path: Path) -> None:
    array = np.zeros((4096, 4096), "uint8")
    writer = _core.Writer(tmp_path / "a.tif", raster_of(array), _core.WriteOptions(compression="none"))
    tracemalloc.start()
    try:
        writer.write(array, 0, 0, axes="yx")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    writer.finish()
    assert most < array.nbytes // 16


@pytest.mark.parametrize(
    ("options", "any_order"),
    [
        (TILES, False),
        (tiles(format="cog"), True),
        (tiles(spooled=True), True),
        (_core.WriteOptions(strip_rows=8), False),
    ],
)
def test_pieces(options: _core.WriteOptions, any_order: bool, tmp_path: Path) -> None:
    array = pixels("int16", 70, 90)
    writer = _core.Writer(tmp_path / "a.tif", raster_of(array), options)
    corners = [(row, column) for row in range(0, 70, 30) for column in range(0, 90, 40)]
    if any_order:
        corners.reverse()
    for row, column in corners:
        writer.write(array[row : row + 30, column : column + 40], row, column, axes="yx")
    report = writer.finish()
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "a.tif"), array)
    assert report["file_len"] == (tmp_path / "a.tif").stat().st_size
    assert report["blocks"] == writer.blocks
    assert left(tmp_path) == ["a.tif"]


def test_a_cloud_optimized_file_is_one_to_gdal(tmp_path: Path) -> None:
    array = pixels("uint8", 100, 130)
    report = write(tmp_path / "a.tif", array, options=tiles(format="cog", resampling="mean"))
    with rasterio.open(tmp_path / "a.tif") as read:
        assert read.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"
        assert len(read.overviews(1)) == report["levels"] - 1 == 4
        np.testing.assert_array_equal(read.read(1), array)


def test_sparse_blocks_and_levels(tmp_path: Path) -> None:
    array = np.zeros((64, 64), "uint8")
    array[0, 0] = 255
    report = write(tmp_path / "a.tif", array, options=tiles(sparse=True, overviews=2))
    assert (report["levels"], report["blocks"]) == (3, 16 + 4 + 1)
    assert report["sparse"] == 15 + 3
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "a.tif"), array)


@pytest.mark.parametrize("dtype", ["uint8", "bool"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_mask(dtype: str, order: str, tmp_path: Path) -> None:
    array = pixels("int16", 40, 50)
    mask = np.asarray(pixels("bool", 40, 50).astype(dtype), order=order)
    writer = _core.Writer(tmp_path / "a.tif", raster_of(array, mask=True), TILES)
    writer.write(array, 0, 0, axes="yx", mask=mask)
    writer.finish()
    with rasterio.open(tmp_path / "a.tif") as read:
        np.testing.assert_array_equal(read.dataset_mask() > 0, mask > 0)


class OnlyWrites:
    """Takes bytes, and says of how many where it is told to take few."""

    def __init__(self, most: int | None = None) -> None:
        self.taken: list[bytes] = []
        self.most = most

    def write(self, data: bytes) -> int | None:
        self.taken.append(bytes(data[: self.most]))
        return None if self.most is None else len(self.taken[-1])


@pytest.mark.parametrize("form", ["gtiff", "cog"])
def test_objects_get_the_bytes_of_the_file(form: Any, tmp_path: Path) -> None:
    array = pixels("uint16", 3, 60, 70)
    write(tmp_path / "a.tif", array, "byx", tiles(format=form, spooled=True))
    expected = (tmp_path / "a.tif").read_bytes()
    memory, plain, slow = io.BytesIO(), OnlyWrites(), OnlyWrites(1000)
    for target in (memory, plain, slow):
        report = write(target, array, "byx", tiles(format=form))
        assert report["file_len"] == len(expected)
    assert memory.getvalue() == b"".join(plain.taken) == b"".join(slow.taken) == expected


def test_what_an_object_raises_arrives_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    raised = LookupError("no room")

    class Full:
        def write(self, data: bytes) -> None:
            raise raised

    writer = _core.Writer(Full(), raster_of(np.zeros((20, 20), "uint8")), TILES)
    writer.write(np.zeros((20, 20), "uint8"), 0, 0, axes="yx")
    with pytest.raises(LookupError) as caught:
        writer.finish()
    assert caught.value is raised
    assert left(tmp_path) == []


@pytest.mark.parametrize("target", [None, 5, object()])
def test_a_target_that_is_none(target: Any) -> None:
    with pytest.raises(TypeError, match="expected a path or an object with `write`"):
        _core.Writer(target, raster_of(np.zeros((2, 2), "uint8")), _core.WriteOptions())


GOOD = np.ones((40, 40), "uint8")


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("fails", "error", "says"),
    [
        (lambda w: w.write(GOOD, 1, 0, axes="yx"), StrileError, "not inside the image"),
        (lambda w: w.write(GOOD.astype("int16"), 0, 0, axes="yx"), StrileError, "expected .*uint8, got .*int16"),
        (lambda w: w.write(GOOD, 0, 0, axes="byx"), StrileError, "2 axes, expected 3"),
        (lambda w: w.write(GOOD, 0, 0, axes="xy"), StrileError, "axes `xy`"),
        (lambda w: w.write(GOOD[:, :0], 0, 0, axes="yx"), StrileError, "0 samples along `x`"),
        (lambda w: w.write(GOOD, 0, 0, axes="yx", mask=GOOD), StrileError, "mask"),
        (lambda w: w.write(GOOD.astype(">i2"), 0, 0, axes="yx"), StrileError, "byte order"),
        (lambda w: w.write(GOOD.astype(object), 0, 0, axes="yx"), StrileError, "types"),
        (lambda w: w.write("text", 0, 0, axes="yx"), TypeError, "__dlpack__, got str"),
        (lambda w: w.finish(), StrileError, "never given"),
        (lambda w: w.write(GOOD, 0, 0, axes="yx", progress=interrupt), KeyboardInterrupt, None),
    ],
)
def test_a_failure_leaves_nothing_and_closes(fails: Any, error: type, says: str | None, tmp_path: Path) -> None:
    (tmp_path / "a.tif").write_bytes(b"old")
    writer = _core.Writer(tmp_path / "a.tif", raster_of(GOOD), TILES)
    with pytest.raises(error, match=says):
        fails(writer)
    assert left(tmp_path) == ["a.tif"]
    assert (tmp_path / "a.tif").read_bytes() == b"old"
    for further in (lambda: writer.write(GOOD, 0, 0, axes="yx"), writer.finish, lambda: writer.sidecar(".x", b"")):
        with pytest.raises(ClosedError):
            further()
    writer.abort()


def test_abort_and_drop_leave_nothing(tmp_path: Path) -> None:
    for end in (lambda writer: writer.abort(), lambda writer: None):
        writer = _core.Writer(tmp_path / "a.tif", raster_of(GOOD), TILES)
        writer.write(GOOD[:20], 0, 0, axes="yx")
        end(writer)
        del writer
        gc.collect()
        assert left(tmp_path) == []


def test_an_interrupt_stops_within_a_moment(tmp_path: Path) -> None:
    array = pixels("uint16", 3000, 4000)
    writer = _core.Writer(tmp_path / "a.tif", raster_of(array), _core.WriteOptions(compression="lzma", level=9))
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            writer.write(array, 0, 0, axes="yx")
            writer.finish()
        took = time.monotonic() - started
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert left(tmp_path) == []
    assert took < 2.0  # 0.2 s of promise, and a block of the unoptimised build on a busy machine
    with pytest.raises(ClosedError):
        writer.finish()


def test_one_thread_at_a_time(tmp_path: Path) -> None:
    inside, go_on = threading.Event(), threading.Event()

    class Waits:
        def write(self, data: bytes) -> None:
            inside.set()
            go_on.wait(10)

    writer = _core.Writer(Waits(), raster_of(GOOD), TILES)
    writer.write(GOOD, 0, 0, axes="yx")
    finishing = threading.Thread(target=writer.finish)
    finishing.start()
    assert inside.wait(10)
    with pytest.raises(StrileError):
        writer.write(GOOD, 0, 0, axes="yx")
    go_on.set()
    finishing.join(10)
    assert not finishing.is_alive()


def test_progress_grows_to_the_whole(tmp_path: Path) -> None:
    array, seen = pixels("uint8", 64, 64), []
    writer = _core.Writer(tmp_path / "a.tif", raster_of(array), tiles(format="cog"))
    for row in range(0, 64, 16):
        writer.write(array[row : row + 16], row, 0, axes="yx", progress=lambda *now: seen.append(now))
    writer.finish(lambda *now: seen.append(now))
    assert seen == sorted(seen)
    assert seen[-1] == (writer.blocks, writer.blocks) == (21, 21)
    assert {total for _, total in seen} == {21}


def test_sidecars(tmp_path: Path) -> None:
    (tmp_path / "a.tif.aux.xml").write_text("stale")
    writer = _core.Writer(tmp_path / "a.tif", raster_of(GOOD), TILES)
    writer.sidecar(".note", b"beside")
    writer.write(GOOD, 0, 0, axes="yx")
    assert not (tmp_path / "a.tif.note").exists()
    writer.finish()
    assert left(tmp_path) == ["a.tif", "a.tif.note"]
    assert (tmp_path / "a.tif.note").read_bytes() == b"beside"


def test_a_sidecar_of_gdal_is_joined_with_that_of_the_writer(tmp_path: Path) -> None:
    writer = _core.Writer(tmp_path / "a.tif", raster_of(GOOD, categories=["none", "some"]), TILES)
    item = '<PAMDataset>\n  <Metadata><MDI key="WHO">me</MDI></Metadata>\n</PAMDataset>\n'
    writer.sidecar(".aux.xml", item.encode())
    writer.write(GOOD, 0, 0, axes="yx")
    writer.finish()
    with rasterio.open(tmp_path / "a.tif") as read:
        assert read.tags()["WHO"] == "me"
    assert "<Category>some</Category>" in (tmp_path / "a.tif.aux.xml").read_text()
    assert _core.Dataset.open(str(tmp_path / "a.tif")).facts["categories"] == ["none", "some"]


@pytest.mark.parametrize("to_file", [True, False])
def test_no_place_for_a_sidecar(to_file: bool, tmp_path: Path) -> None:
    target = tmp_path / "a.tif" if to_file else io.BytesIO()
    writer = _core.Writer(target, raster_of(GOOD), tiles(sidecars=False))
    with pytest.raises(StrileError, match="no place beside it"):
        writer.sidecar(".note", b"beside")
    assert left(tmp_path) == []


def test_what_has_no_place_without_sidecars_is_told(tmp_path: Path) -> None:
    report = write(tmp_path / "a.tif", GOOD, options=tiles(sidecars=False), categories=["a", "b"])
    assert any(".aux.xml" in warning for warning in report["warnings"])
    assert left(tmp_path) == ["a.tif"]


def test_memory_is_asked_for_first(tmp_path: Path) -> None:
    with pytest.raises(MemoryError):
        writer = _core.Writer(tmp_path / "a.tif", raster_of(np.zeros((4000, 4000), "f8")), TILES, memory=1000)
        writer.write(np.zeros((4000, 4000), "f8"), 0, 0, axes="yx")
    gc.collect()
    assert left(tmp_path) == []


def test_what_it_says_of_itself(tmp_path: Path) -> None:
    writer = _core.Writer(tmp_path / "a.tif", raster_of(GOOD), tiles(encode_on="cpu"))
    assert writer.device == "cpu" and writer.encoder[0] == "cpu" and writer.blocks == 9
    assert "9 tiles of 16 × 16" in writer.explain()
    writer.abort()


def test_folders_and_files_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        _core.Writer(tmp_path / "nowhere" / "a.tif", raster_of(GOOD), TILES)
    with pytest.raises((IsADirectoryError, OSError)):
        _core.Writer(tmp_path, raster_of(GOOD), TILES)
