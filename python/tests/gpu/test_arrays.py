"""open_geotiff and to_geotiff with arrays on the device: the pixels, attributes and bytes of the CPU."""
from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import strile
from alike import same
from terrain import terrain

Made = tuple[Path, np.ndarray]


@pytest.mark.parametrize(
    "request_",
    [
        {}, {"window": (100, 50, 613, 411)}, {"band": 1}, {"chunks": 256}, {"chunks": (300, 500), "band": 2},
        {"overview_level": 1}, {"dtype": "float64"},
    ],
    ids=str,
)
@pytest.mark.parametrize("codec", ["deflate", "zstd", "lzw", "lerc", "none"])
def test_reads_equal_the_cpu(tmp_path: Path, codec: str, request_: dict) -> None:
    pixels = np.moveaxis(terrain((3, 700, 900), "float32"), 0, -1)
    path = str(tmp_path / "made.tif")
    strile.to_geotiff(pixels, path, compression=codec, cog=True, overview_levels=[2, 4], crs=32633, nodata=-1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", strile.GeoTIFFFallbackWarning)
        same(strile.open_geotiff(path, gpu=True, **request_), strile.open_geotiff(path, **{k: v for k, v in request_.items() if k != "chunks"}))


def test_what_has_no_kernel_is_told_and_strict_refuses(tmp_path: Path) -> None:
    path = str(tmp_path / "lzma.tif")
    strile.to_geotiff(terrain((300, 300), "float32"), path, compression="lzma")
    with pytest.warns(strile.GeoTIFFFallbackWarning, match="(?i)lzma"):
        strile.open_geotiff(path, gpu=True)
    with pytest.raises(strile.StrileError, match="(?i)lzma"):
        strile.open_geotiff(path, gpu=True, on_gpu_failure="strict")


@pytest.mark.parametrize("masked", [{"masked": True}, {"unpack": True}], ids=str)
def test_masking_on_the_device(tmp_path: Path, masked: dict) -> None:
    pixels = terrain((400, 500), "int16")
    pixels[30:60, 40:90] = -999
    path = str(tmp_path / "holes.tif")
    strile.to_geotiff(pixels, path, nodata=-999)
    found = strile.open_geotiff(path, gpu=True, **masked)
    same(found, strile.open_geotiff(path, **masked))
    assert found.dtype == np.float64 and int(found.isnull().sum().data) == 30 * 50


@pytest.mark.parametrize("cog", [False, True])
@pytest.mark.parametrize("codec", ["deflate", "zstd", "lzw"])
def test_written_from_the_device_as_from_the_host(tmp_path: Path, cupy, codec: str, cog: bool) -> None:
    """With `reproducible` the file does not tell where it was made; streamed or at once, NaN holes and all."""
    import dask.array as da
    import xarray as xr

    pixels = terrain((700, 900), "float32")
    pixels[100:200, 300:500] = np.nan
    attrs = {"crs": 32633, "transform": (30.0, 0.0, 4e5, 0.0, -30.0, 5e6), "nodata": -9999.0}
    options = {"compression": codec, "cog": cog, "reproducible": True, "predictor": 3}

    def write(name: str, data, **more) -> bytes:
        path = tmp_path / name
        strile.to_geotiff(xr.DataArray(data, dims=("y", "x"), attrs=attrs), str(path), **options, **more)
        return path.read_bytes()

    host = write("host.tif", pixels)
    assert write("device.tif", cupy.asarray(pixels)) == host
    lazy = da.from_array(pixels, chunks=(128, 300))
    assert write("uploaded.tif", lazy, gpu=True, streaming_buffer_bytes=1 << 20) == host
    assert write("streamed.tif", lazy.map_blocks(cupy.asarray), streaming_buffer_bytes=1 << 20) == host


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_arrays_of_other_libraries_are_written(tmp_path: Path, library: str) -> None:
    pixels = terrain((300, 400), "float32")
    if library == "torch":
        array = pytest.importorskip("torch").from_numpy(pixels).cuda()
    else:
        jax = pytest.importorskip("jax")
        array = jax.numpy.asarray(pixels)
    path = str(tmp_path / "made.tif")
    strile.to_geotiff(array, path)
    assert np.array_equal(strile.open_geotiff(path).values, pixels)


def test_the_callers_array_is_not_changed(tmp_path: Path, cupy) -> None:
    pixels = cupy.asarray(terrain((300, 400), "float32"))
    pixels[3:9] = cupy.nan
    before = pixels.copy()
    strile.to_geotiff(pixels, str(tmp_path / "made.tif"), nodata=-1.0)
    assert bool(((pixels == before) | (cupy.isnan(pixels) & cupy.isnan(before))).all())


def test_the_xarray_engine_on_the_device(raster: Made, cupy) -> None:
    xr = pytest.importorskip("xarray")
    path, pixels = raster
    dataset = xr.open_dataset(path, engine="strile", chunks={}, device="cuda", mask_and_scale=False)
    found = dataset["band_data"].data.compute()
    assert isinstance(found, cupy.ndarray) and np.array_equal(cupy.asnumpy(found), pixels)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint32", "int64", "float32", "float64"])
def test_nodata_is_found_wherever_it_is(cupy, tmp_path, dtype: str) -> None:
    pixels = np.full((511, 703), 7, dtype)

    def present(name: str, nodata: float) -> bool:
        path = str(tmp_path / f"{name}.tif")
        strile.to_geotiff(pixels, path, nodata=nodata)
        found = strile.open_geotiff(path, gpu=True)
        assert isinstance(found.data, cupy.ndarray)
        return bool(found.attrs["nodata_pixels_present"])

    assert not present("nowhere", 5) and present("everywhere", 7)
    pixels[510, 702] = 5
    assert present("corner", 5)
