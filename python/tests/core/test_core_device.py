"""Reads on a GPU and into its memory, on the stand-in for the CUDA driver: `STRILE_STANDIN` is its folder, which
`cargo run -p strile-emulate --example standin` prints. Real GPUs have tests of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

tifffile = pytest.importorskip("tifffile")

FOLDER = os.environ.get("STRILE_STANDIN")
pytestmark = pytest.mark.skipif(not FOLDER, reason="STRILE_STANDIN names no stand-in for the CUDA driver")

BEGIN = """
import sys
import numpy as np
import pytest
from asking import planned, read
from strile import _core, errors
dataset, turned, foreign = (_core.Dataset.open(path) for path in sys.argv[1:])
window = dict(window=(7, 5, 50, 40))
expected = read(dataset, device="cpu", **window).numpy()

class Interface:
    "Memory of a device by __cuda_array_interface__ alone."
    def __init__(self, raster, **keys):
        self.raster = raster
        self.__cuda_array_interface__ = {**raster.__cuda_array_interface__, **keys}

class Dlpack:
    "Memory of a device by DLPack alone."
    def __init__(self, raster, versions):
        self.raster, self.versions, self.streams = raster, versions, []
    def __dlpack_device__(self):
        return self.raster.__dlpack_device__()
    def __dlpack__(self, *, stream=None, **more):
        if more and not self.versions:
            raise TypeError("unexpected keyword")
        self.streams.append(stream)
        return self.raster.__dlpack__(**more)

def memory(shape=None):
    return read(dataset, device="cuda:0", window=(0, 0, 50, 40))
"""


def run(tmp_path: Path, code: str, folder: str | None = FOLDER) -> str:
    paths = [tmp_path / name for name in ("a.tif", "turned.tif", "foreign.tif")]
    pixels = np.random.default_rng(1).integers(0, 999, (2, 64, 96)).astype("u2")
    options = {"tile": (32, 32), "photometric": "minisblack", "planarconfig": "separate"}
    tifffile.imwrite(paths[0], pixels, compression="zlib", **options)
    tifffile.imwrite(paths[1], pixels, compression="zlib", extratags=[(274, 3, 1, 3, True)], **options)
    tifffile.imwrite(paths[2], pixels, compression="lzma", **options)
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + code, *map(str, paths)],
        env={**os.environ, "LD_LIBRARY_PATH": folder or "", "PYTHONPATH": str(Path(__file__).parent)}, capture_output=True, text=True, timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_pixels_stay_on_the_device_or_come_back(tmp_path: Path) -> None:
    run(tmp_path, """
raster = read(dataset, device="cuda:0", **window)
assert (raster.device, raster.__dlpack_device__(), raster.shape) == ("cuda:0", (2, 0), (2, 40, 50))
assert np.array_equal(raster.numpy(), expected)
assert np.array_equal(np.from_dlpack(raster, device="cpu"), expected)
interface = raster.__cuda_array_interface__
assert (interface["version"], interface["shape"], interface["typestr"]) == (3, (2, 40, 50), "<u2")
assert not hasattr(raster, "__array_interface__")
host = read(dataset, decode_on="cuda:0", **window)
assert host.device == "cpu" and np.array_equal(host.numpy(), expected)
assert not hasattr(host, "__cuda_array_interface__")
out = np.empty((2, 40, 50), "u2")
assert np.array_equal(read(dataset, decode_on="cuda:0", out=out, **window), expected)
pixel = read(dataset, device="cuda:0", interleave="pixel", **window)
assert pixel.shape == (40, 50, 2) and np.array_equal(pixel.numpy(), np.moveaxis(expected, 0, -1))
""")


@pytest.mark.parametrize(
    "wrap",
    [
        "Interface(m)", "Interface(m, stream=1)", "Interface(m, stream=2)", "Interface(m, version=2)",
        "Interface(m, strides=(4000, 100, 2))", "Dlpack(m, True)", "Dlpack(m, False)",
    ],
)
def test_outputs_on_the_device(tmp_path: Path, wrap: str) -> None:
    run(tmp_path, f"""
for keywords in ({{}}, {{"stream": 0}}, {{"stream": 1}}, {{"device": "cuda:0"}}):
    m = memory()
    out = {wrap}
    assert read(dataset, out=out, **keywords, **window) is out
    assert np.array_equal(m.numpy(), expected)
    if isinstance(out, Dlpack):
        assert out.streams == [1]
""")


def test_what_is_wrong_with_an_output_is_told(tmp_path: Path) -> None:
    run(tmp_path, """
def refused(out, words, error=errors.StrileError, **keywords):
    with pytest.raises(error, match=words):
        read(dataset, out=out, **keywords, **window)
m = memory()
refused(Interface(m, data=(m.__cuda_array_interface__["data"][0], True)), "read-only")
refused(Interface(m, version=1), "version 1, expected 2 or 3")
refused(Interface(m, typestr=">u2"), "byte order")
refused(Interface(m, typestr="<u4", shape=(1, 40, 50)), "the read gives")
refused(Interface(m, strides=(4000, -100, 2)), "negative stride")
refused(Interface(m, stream=0xdeadbeef), "stream 3735928559", errors.DeviceError)
refused(Interface(m), "device is `cpu`, but `out` is in the memory of `cuda:0`", device="cpu")
refused(Interface(m), "device is `cuda:1`, but `out` is in the memory of `cuda:0`", device="cuda:1")
refused(Interface(m), "cuda:1 cannot decode into memory of cuda:0", errors.DeviceError, decode_on="cuda:1")
""")


def test_plans_say_what_the_host_does(tmp_path: Path) -> None:
    run(tmp_path, """
assert planned(dataset, device="cuda:0").fallback is None
assert planned(dataset, device="cuda:0").engine == "cuda:0"
oriented = planned(turned, device="cuda:0", apply_orientation=True)
assert oriented.fallback is None and "turned by Orientation 3 on cuda:0" in oriented.explain()
on_host = planned(turned, device="cuda:0", decode_on="cpu", apply_orientation=True)
assert "done on the host: turned by Orientation 3" in on_host.fallback
assert "decoded on the host" in planned(foreign, device="cuda:0").fallback
assert planned(foreign, device="cpu").fallback is None
assert "the CPU decodes" in planned(dataset, device="cuda:0", decode_on="cpu").fallback
assert np.array_equal(read(foreign, device="cuda:0", **window).numpy(), expected)
seen = read(turned, device="cuda:0", apply_orientation=True)
assert seen.device == "cuda:0" and np.array_equal(seen.numpy(), dataset.read().numpy()[:, ::-1, ::-1])
with pytest.raises(errors.DeviceError):
    planned(dataset, device="cuda:7")
""")


def test_ranges_are_read_for_the_device(tmp_path: Path) -> None:
    run(tmp_path, """
data = open(sys.argv[1], "rb").read()
class Reader:
    def read_ranges(self, ranges):
        return [data[start:end] for start, end in ranges]
far = _core.Dataset.open_ranges(Reader(), "far", len(data))
assert np.array_equal(read(far, device="cuda:0", **window).numpy(), expected)
""")


def test_who_decodes_and_where_the_result_lives_are_chosen_apart(tmp_path: Path) -> None:
    run(tmp_path, """
import strile
for decode_on in ("auto", "cpu", "cuda", "cuda:0"):
    for device in ("cpu", "cuda", "cuda:0"):
        raster = strile.read(sys.argv[1], device=device, decode_on=decode_on, **window)
        assert raster.device == ("cpu" if device == "cpu" else "cuda:0"), (device, decode_on)
        assert np.array_equal(raster.numpy(), expected), (device, decode_on)
        batch = strile.read_batch([sys.argv[1]], [window["window"]], device=device, decode_on=decode_on)
        assert batch.device == raster.device and np.array_equal(batch.numpy()[0], expected), (device, decode_on)
    m = memory()
    assert strile.read(sys.argv[1], out=Interface(m), decode_on=decode_on, **window) is not None
    assert np.array_equal(m.numpy(), expected), decode_on
    tensor = strile.read_batch([sys.argv[1]], [(0, 0, 50, 40)], device="cuda")
    strile.read_batch([sys.argv[1]], [window["window"]], out=Interface(tensor), decode_on=decode_on)
    assert np.array_equal(tensor.numpy()[0], expected), decode_on
""")


def test_a_script_gives_the_same_kinds_of_results_with_and_without_a_gpu(tmp_path: Path) -> None:
    """`strile.read` returned host memory on one machine and device memory on another, where `np.asarray` failed."""
    code = """
import strile
handle = strile.open(sys.argv[1])
results = [
    strile.read(sys.argv[1]), strile.read(sys.argv[1], masked=True), strile.read(handle, size=20),
    strile.read_batch([sys.argv[1]], [(0, 0, 8, 8)]), handle.read(), handle.read(masked=True), handle.raster(),
]
for result in results:
    array = np.asarray(result)
    print(type(result), getattr(result, "device", "cpu"), array.shape, array.dtype, int(np.nansum(array)))
"""
    there, absent = (run(tmp_path, code, folder) for folder in (FOLDER, None))
    assert there == absent and there.count("\n") == 7 and "cuda" not in there


def test_nodata_becomes_nan_and_white_is_inverted_as_on_the_host(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    for dtype in ("float32", "float64", "complex64", "complex128", "uint16"):
        pixels = rng.integers(0, 9, (3, 40, 50)).astype(dtype)
        if dtype.startswith("complex"):
            pixels.imag = rng.integers(0, 3, pixels.shape)
        if dtype != "uint16":
            pixels[:, 3, 4] = np.nan
        options = {"tile": (32, 32), "photometric": "miniswhite", "planarconfig": "separate", "metadata": None}
        tifffile.imwrite(tmp_path / f"{dtype}.tif", pixels, compression="zlib", extratags=[(42113, "s", 0, "7", True)], **options)
    run(
        tmp_path,
        f"""
for name in ("float32", "float64", "complex64", "complex128", "uint16"):
    file = _core.Dataset.open(f"{tmp_path}/{{name}}.tif")
    for more in (dict(), dict(look_for=7), dict(look_for=7, window=(3, 2, 31, 29)), dict(interleave="pixel", look_for=7)):
        asked = dict(masked=True, invert_white=not name.startswith("complex"), **more)
        host, there = (read(file, device=place, decode_on=place[:4].rstrip(":"), **asked) for place in ("cpu", "cuda:0"))
        assert there.device == "cuda:0" and there.found == host.found
        np.testing.assert_array_equal(there.numpy(), host.numpy())
        assert np.isnan(host.numpy()).any()
""",
    )
