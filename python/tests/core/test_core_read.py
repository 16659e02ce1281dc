"""Pixels through the core: every keyword, every kind of output, every way of going wrong."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from asking import planned, read
from strile import _core, errors

tifffile = pytest.importorskip("tifffile")

SHAPE = (3, 70, 90)
PIXELS = np.random.default_rng(3).integers(0, 65536, SHAPE).astype("uint16")


@pytest.fixture(params=["contig", "separate"])
def dataset(request: pytest.FixtureRequest, tmp_path: Path) -> _core.Dataset:
    path = tmp_path / "a.tif"
    planar = request.param
    data = PIXELS if planar == "separate" else np.moveaxis(PIXELS, 0, -1)
    tifffile.imwrite(path, data, tile=(32, 16), planarconfig=planar, photometric="minisblack", compression="zlib")
    return _core.Dataset.open(str(path))


@pytest.mark.parametrize("interleave", ["band", "pixel"])
@pytest.mark.parametrize("bands", [None, [2], [3, 1]])
@pytest.mark.parametrize("window", [None, (5, 7, 40, 33)])
def test_windows_and_bands(dataset: _core.Dataset, interleave: str, bands: list[int] | None, window: tuple | None) -> None:
    raster = read(dataset, interleave=interleave, bands=bands, window=window, device="cpu")
    expected = expected_of(bands, window, interleave)
    assert raster.shape == expected.shape and raster.dtype == "uint16" and raster.faults == []
    assert np.array_equal(raster.numpy(), expected)
    assert np.array_equal(np.from_dlpack(raster), expected)


def expected_of(bands: list[int] | None, window: tuple | None, interleave: str) -> np.ndarray:
    column, row, width, height = window or (0, 0, SHAPE[2], SHAPE[1])
    expected = PIXELS[[band - 1 for band in bands or (1, 2, 3)], row : row + height, column : column + width]
    return np.moveaxis(expected, 0, -1) if interleave == "pixel" else expected


def outputs(shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Arrays of one shape with every kind of strides, all in larger memory that must stay as it is."""
    first, second, third = shape
    swapped = np.full((third, second, first), 9, "uint16")
    return {
        "contiguous": np.full(shape, 9, "uint16"),
        "fortran": np.full(shape, 9, "uint16", order="F"),
        "swapped": swapped.transpose(2, 1, 0),
        "inner part": np.full((first + 2, second + 4, third + 3), 9, "uint16")[1:-1, 2:-2, 1:-2],
        "every second": np.full((first, second, third * 2), 9, "uint16")[:, :, ::2],
        "every third row": np.full((first, second * 3, third), 9, "uint16")[:, 1::3],
    }


@pytest.mark.parametrize("interleave", ["band", "pixel"])
@pytest.mark.parametrize("kind", list(outputs((1, 1, 1))))
def test_outputs_of_all_strides(dataset: _core.Dataset, interleave: str, kind: str) -> None:
    expected = expected_of([2, 3], (1, 2, 50, 60), interleave)
    out = outputs(expected.shape)[kind]
    base = out if out.base is None else out.base
    given = read(dataset, interleave=interleave, bands=[2, 3], window=(1, 2, 50, 60), out=out, device="cpu")
    assert given is out and np.array_equal(out, expected)
    out[...] = 9
    assert (base == 9).all(), "bytes beside the output were written to"


def test_an_output_of_two_axes_is_one_band(dataset: _core.Dataset) -> None:
    out = np.zeros(SHAPE[1:], "uint16")
    for interleave in ("band", "pixel"):
        assert np.array_equal(read(dataset, bands=[2], out=out, interleave=interleave), PIXELS[1])
    with pytest.raises(errors.StrileError, match="the read gives 3"):
        read(dataset, out=out)


class OldInterface:
    """Memory known by `__array_interface__` alone."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    @property
    def __array_interface__(self) -> dict:
        return self.array.__array_interface__


class ByDlpack:
    """Memory known by DLPack alone, of the version before there were versions or after."""

    def __init__(self, array: np.ndarray, versions: bool) -> None:
        self.array = array
        if not versions:
            self.__class__ = OldDlpack

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **keywords: object) -> object:
        return self.array.__dlpack__(**keywords)


class OldDlpack(ByDlpack):
    def __dlpack__(self, *, stream: object = None) -> object:
        return self.array.__dlpack__()


@pytest.mark.parametrize(
    "wrap", [memoryview, OldInterface, lambda a: ByDlpack(a, True), lambda a: ByDlpack(a, False)],
    ids=["memoryview", "interface", "dlpack", "old dlpack"],
)
@pytest.mark.parametrize("strides", ["contiguous", "inner part", "fortran"])
def test_outputs_of_every_protocol(dataset: _core.Dataset, wrap: type, strides: str) -> None:
    out = outputs(SHAPE)[strides]
    wrapped = wrap(out)
    assert read(dataset, out=wrapped, device="cpu") is wrapped
    assert np.array_equal(out, PIXELS)


def readonly(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("out", "words"),
    [
        (np.zeros(SHAPE, "uint16")[:, ::-1], "negative stride"),
        (np.zeros(SHAPE, "int16"), "the output is 3 × 70 × 90 int16, the read gives 3 × 70 × 90 uint16"),
        (np.zeros(SHAPE, ">u2"), "byte order"),
        (np.zeros((3, 70, 91), "uint16"), "3 × 70 × 91"),
        (np.zeros(70, "uint16"), "1 axes"),
        (readonly(np.zeros(SHAPE, "uint16")), "read-only"),
        (OldInterface(readonly(np.zeros(SHAPE, "uint16"))), "read-only"),
        (np.broadcast_to(np.zeros((70, 90), "uint16"), SHAPE), "read-only"),
        (np.lib.stride_tricks.as_strided(np.zeros((70, 90), "uint16"), SHAPE, (0, 180, 2)), "share bytes"),
        (np.zeros(SHAPE, bool), "none of strile's types"),
        (np.zeros(SHAPE, "m8[s]"), None),
        ("text", None),
    ],
)
def test_outputs_that_are_refused(dataset: _core.Dataset, out: object, words: str | None) -> None:
    with pytest.raises((errors.StrileError, TypeError), match=words):
        read(dataset, out=out, device="cpu")


def test_an_output_outlives_its_names(dataset: _core.Dataset) -> None:
    given = [read(dataset, out=np.empty(SHAPE, "uint16"), device="cpu") for _ in range(20)]
    assert all(np.array_equal(one, PIXELS) for one in given)


@pytest.mark.parametrize("stored", ["int16", "uint8", "int32", "float32", "float64"])
@pytest.mark.parametrize("float_type", [None, "float32", "float64"])
def test_masked_pixels_have_the_type_asked_for(tmp_path: Path, stored: str, float_type: str | None) -> None:
    path = tmp_path / "a.tif"
    pixels = np.array([[5, 7, 9], [7, 1, 0]], stored)
    tifffile.imwrite(path, pixels, extratags=[(42113, 2, 0, "7", True)])
    exact = "float32" if np.dtype(stored).itemsize < 4 or stored == "float32" else "float64"
    seen = read(_core.Dataset.open(str(path)), masked=True, float_type=float_type).numpy()[0]
    assert seen.dtype == (float_type or exact)
    assert np.array_equal(seen, np.where(pixels == 7, np.nan, pixels), equal_nan=True)
    plain = read(_core.Dataset.open(str(path)), float_type=float_type)
    assert plain.dtype == stored


def test_wrong_requests_are_told(dataset: _core.Dataset) -> None:
    for request, words in [
        ({"level": 1}, "there is no level 1"),
        ({"page": 2}, "there is no page 2"),
        ({"bands": [4]}, "there is no band 4"),
        ({"window": (0, 0, 91, 1)}, "is not inside the image"),
        ({"interleave": "line"}, "interleave `line`: expected `band` or `pixel`"),
        ({"float_type": "float8"}, "expected one of `float16`, `float32`, `float64`"),
        ({"device": "tpu"}, "expected `cpu`, `cuda` or `cuda:N`"),
        ({"device": "auto"}, "`decode_on` says which processor decodes"),
        ({"decode_on": "gpu"}, "expected `auto`, `cpu`, `cuda` or `cuda:N`"),
        ({"threads": 0}, "expected at least 1"),
    ]:
        for call in (read, planned):
            with pytest.raises(errors.StrileError, match=words):
                call(dataset, **request)
    for request in ({"colour": 1}, {"window": 5}, {"bands": "x"}, {"page": "first"}):
        with pytest.raises(TypeError, match=next(iter(request))):
            read(dataset, **request)
    with pytest.raises(MemoryError, match="1000"):
        read(dataset, memory=1000)


def test_a_gpu_that_is_not_there_is_a_device_error(dataset: _core.Dataset) -> None:
    if any(device["usable"] for device in _core.devices() if device["name"] != "cpu"):
        pytest.skip("there is a GPU")
    for call in (read, planned):
        with pytest.raises(errors.DeviceError, match="`cuda:0` cannot be used"):
            call(dataset, device="cuda:0")


def test_plans_say_what_reads_do(dataset: _core.Dataset) -> None:
    plan = planned(dataset, window=(0, 0, 20, 20), bands=[1], decode_on="cpu")
    assert (plan.engine, plan.reason, plan.fallback) == ("cpu", "asked for", None)
    figures = plan.figures
    assert (figures["bands"], figures["rows"], figures["columns"], figures["dtype"]) == (1, 20, 20, "uint16")
    assert figures["blocks"] == 2 and figures["output_bytes"] == 800
    assert "engine   cpu (asked for)" in plan.explain() and plan.explain() in repr(plan)


def damaged(tmp_path: Path) -> tuple[_core.Dataset, np.ndarray]:
    """One tile of four has lost its first bytes."""
    path = tmp_path / "bad.tif"
    pixels = np.arange(64 * 64, dtype="u2").reshape(64, 64)
    tifffile.imwrite(path, pixels, tile=(32, 32), compression="zlib", extratags=[(42113, 2, 0, "77", True)])
    with tifffile.TiffFile(path) as file:
        offset = file.pages[0].dataoffsets[1]
    data = bytearray(path.read_bytes())
    data[offset : offset + 8] = bytes(8)
    path.write_bytes(data)
    return _core.Dataset.open(str(path)), pixels


def test_faulty_blocks_fail_or_are_filled_and_told(tmp_path: Path) -> None:
    dataset, pixels = damaged(tmp_path)
    with pytest.raises(errors.StrileError, match=r"block \(column 1, row 0\)"):
        dataset.read()
    raster = read(dataset, on_fault="fill")
    pixels[:32, 32:] = 77
    assert np.array_equal(raster.numpy()[0], pixels)
    ((place, problem),) = raster.faults
    assert place == "block (column 1, row 0)" and "corrupt" in problem
    out = np.empty((64, 64), "u2")
    with pytest.warns(errors.GeoTIFFFallbackWarning, match="1 blocks were filled"):
        read(dataset, on_fault="fill", out=out)
    assert np.array_equal(out, pixels)


def test_errors_have_their_classes(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    with pytest.raises(FileNotFoundError) as missing:
        _core.Dataset.open(str(path))
    assert missing.value.filename == str(path)
    with pytest.raises(IsADirectoryError):
        _core.Dataset.open(str(tmp_path))
    path.write_bytes(b"nothing of a picture")
    with pytest.raises(errors.StrileError, match=path.name):
        _core.Dataset.open(str(path))
    tifffile.imwrite(path, np.zeros((8, 8), "u1"))
    data = bytearray(path.read_bytes())
    # Compression becomes ImageLength once more, with another value.
    with tifffile.TiffFile(path) as file:
        at = file.pages[0].tags[259].offset
    struct.pack_into("<H", data, at, 257)
    path.write_bytes(data)
    with pytest.raises(errors.DuplicateIFDTagError):
        _core.Dataset.open(str(path))
    tifffile.imwrite(path, np.zeros((8, 8), "u1"))
    data = bytearray(path.read_bytes())
    struct.pack_into("<H", data, at + 8, 34712 + 12)
    path.write_bytes(data)
    with pytest.raises(errors.UnsupportedGeoTIFFFeatureError):
        _core.Dataset.open(str(path)).read()
