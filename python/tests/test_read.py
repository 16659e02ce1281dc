"""The package as installed, on a file made here by hand; needs numpy alone. Run by pytest or as a program."""
import gc
import struct
import tempfile
from pathlib import Path

import numpy as np
import strile

SHAPE = (2, 5, 7)
PIXELS = np.arange(70, dtype=np.uint16).reshape(SHAPE) * 257


def made(folder: str) -> Path:
    """A classic little-endian TIFF, two separate planes of one strip each, not compressed."""
    bands, rows, columns = SHAPE
    plane = rows * columns * 2
    start = 8 + 2 + 12 * 10 + 4 + 8 + 8
    lists = start - 16
    tags = [
        (256, 3, 1, columns), (257, 3, 1, rows), (258, 3, 2, 16 | 16 << 16), (259, 3, 1, 1), (262, 3, 1, 1),
        (273, 4, 2, lists), (277, 3, 1, bands), (278, 3, 1, rows), (279, 4, 2, lists + 8), (284, 3, 1, 2),
    ]
    data = struct.pack("<2sHIH", b"II", 42, 8, len(tags))
    data += b"".join(struct.pack("<HHII", *tag) for tag in tags) + struct.pack("<I", 0)
    data += struct.pack("<4I", start, start + plane, plane, plane) + PIXELS.astype("<u2").tobytes()
    path = Path(folder) / "made.tif"
    path.write_bytes(data)
    return path


def test_pixels_by_every_way_out() -> None:
    with tempfile.TemporaryDirectory() as folder:
        raster = strile.read(made(folder), device="cpu")
    assert (raster.shape, raster.dtype, raster.device) == (SHAPE, "uint16", "cpu")
    arrays = [raster.numpy(), np.asarray(raster), np.from_dlpack(raster)]
    del raster
    gc.collect()
    for array in arrays:
        assert array.dtype == np.uint16 and np.array_equal(array, PIXELS)
    # One memory, three arrays.
    arrays[0][1, 2, 3] = 9
    assert arrays[1][1, 2, 3] == arrays[2][1, 2, 3] == 9


def test_copies_are_copies() -> None:
    with tempfile.TemporaryDirectory() as folder:
        raster = strile.read(made(folder))
    copy = np.from_dlpack(raster, copy=True)
    wide = np.asarray(raster, dtype=np.float64)
    copy[0, 0, 0] = 1
    assert np.array_equal(raster.numpy(), PIXELS) and wide.dtype == np.float64
    assert raster.__dlpack_device__() == (1, 0)
    # Capsules that nobody takes free what they hold.
    for version in (None, (1, 0)):
        raster.__dlpack__(max_version=version)


def test_windows_and_bands() -> None:
    with tempfile.TemporaryDirectory() as folder:
        part = strile.read(made(folder), window=(2, 1, 4, 3), bands=[2, 1])
    assert np.array_equal(part.numpy(), PIXELS[::-1, 1:4, 2:6])


def raised(work) -> Exception:
    try:
        work()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def test_errors_are_exceptions_with_a_sentence() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = made(folder)
        wrong = Path(folder) / "wrong.tif"
        wrong.write_bytes(b"this is no picture")
        assert isinstance(raised(lambda: strile.read(Path(folder) / "missing.tif")), FileNotFoundError)
        assert isinstance(raised(lambda: strile.read(wrong)), strile.StrileError)
        band = raised(lambda: strile.read(path, bands=[3]))
        assert isinstance(band, ValueError) and "there is no band 3" in str(band)
        assert "expected `cpu`, `cuda` or `cuda:N`" in str(raised(lambda: strile.read(path, device="tpu")))
        if not any(device["usable"] for device in strile.devices() if device["name"] != "cpu"):
            assert "device `cuda:0` cannot be used: " in str(raised(lambda: strile.read(path, device="cuda")))


def test_pixels_from_a_gpu() -> None:
    if not any(device["usable"] for device in strile.devices() if device["name"] == "cuda:0"):
        print("skipped: no usable GPU")
        return
    with tempfile.TemporaryDirectory() as folder:
        raster = strile.read(made(folder), device="cuda:0")
    assert (raster.device, raster.__dlpack_device__()) == ("cuda:0", (2, 0))
    assert np.array_equal(raster.numpy(), PIXELS)
    assert np.array_equal(np.from_dlpack(raster, device="cpu"), PIXELS)
    assert isinstance(raised(lambda: np.asarray(raster)), TypeError)


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(f"{name} ... ok")
