"""Arrays on a GPU are written by the GPU, and the files are those of the CPU with `reproducible=True`."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")
da = pytest.importorskip("dask.array")
xr = pytest.importorskip("xarray")

import strile  # noqa: E402

PIXELS = np.random.default_rng(3).normal(0, 100, (610, 530)).astype(np.float32).round(1)
PIXELS[40:60, 300:400] = np.nan
LAYOUTS: list[dict[str, Any]] = [
    {},
    {"cog": True, "tile_size": 128, "nodata": -9999},
    {"tiled": False, "compression": "lzw"},
]


def on_device(name: str) -> Any:
    if name == "torch":
        return pytest.importorskip("torch").from_numpy(PIXELS).cuda()
    if name == "jax":
        return pytest.importorskip("jax").device_put(PIXELS)
    return cupy.asarray(PIXELS)


@pytest.mark.parametrize("layout", LAYOUTS, ids=["tiles", "cog", "strips"])
@pytest.mark.parametrize(
    "name", ["cupy", "torch", "jax", "dask of cupy", "numpy", "dask of numpy", "band first"]
)
def test_bytes_are_those_of_the_cpu(tmp_path: Path, name: str, layout: dict[str, Any]) -> None:
    chosen = {"compression": "zstd", "reproducible": True, **layout}
    data: Any = PIXELS
    expected: Any = PIXELS
    if name == "dask of cupy":
        data = da.from_array(cupy.asarray(PIXELS), chunks=(130, 110), asarray=False)
    elif name == "dask of numpy":
        data = da.from_array(PIXELS, chunks=(130, 110))
    elif name == "band first":
        data = xr.DataArray(cupy.asarray(np.stack([PIXELS, PIXELS * 2])), dims=("band", "y", "x"))
        expected = xr.DataArray(np.stack([PIXELS, PIXELS * 2]), dims=("band", "y", "x"))
    elif name != "numpy":
        data = on_device(name)
    strile.to_geotiff(expected, tmp_path / "cpu.tif", **chosen)
    for buffer in (1, 1 << 28):
        strile.to_geotiff(data, tmp_path / "gpu.tif", gpu=True, streaming_buffer_bytes=buffer, **chosen)
        assert (tmp_path / "gpu.tif").read_bytes() == (tmp_path / "cpu.tif").read_bytes()
    target = io.BytesIO()
    strile.to_geotiff(data, target, gpu=True, **chosen)
    assert len(target.getvalue()) > 1000


def test_a_device_array_stays_as_it_is_and_may_go_by_the_cpu(tmp_path: Path) -> None:
    data = cupy.asarray(PIXELS)
    strile.to_geotiff(data, tmp_path / "a.tif", nodata=-9999)
    strile.to_geotiff(data, tmp_path / "b.tif", nodata=-9999, gpu=False)
    np.testing.assert_array_equal(cupy.asnumpy(data), PIXELS)
    for name in ("a.tif", "b.tif"):
        np.testing.assert_array_equal(strile.open_geotiff(tmp_path / name, masked=True).values, PIXELS)


@pytest.mark.parametrize("dtype", ["float16", "bool"])
def test_types_are_widened_there(tmp_path: Path, dtype: str) -> None:
    data = cupy.asarray(np.nan_to_num(PIXELS) > 0).astype(dtype)
    strile.to_geotiff(data, tmp_path / "a.tif", color_ramp=True)
    np.testing.assert_array_equal(strile.open_geotiff(tmp_path / "a.tif").values, cupy.asnumpy(data))
