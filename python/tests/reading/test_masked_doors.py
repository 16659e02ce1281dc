"""Missing pixels through every door that masks, against rasterio: by a mask image, by a nodata value, by alpha."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
import strile
import xarray as xr

SIZE = (3, 70, 90)
STANDIN = os.environ.get("STRILE_STANDIN")


def made(path: Path, kind: str) -> Path:
    rng = np.random.default_rng(3)
    pixels = rng.integers(1, 200, SIZE, dtype=np.uint8)
    profile: dict[str, Any] = {"driver": "GTiff", "count": 3, "height": 70, "width": 90, "dtype": "uint8", "tiled": True}
    profile |= {"blockxsize": 32, "blockysize": 32, "compress": "deflate", "crs": "EPSG:32633"}
    profile["transform"] = rasterio.transform.from_origin(500_000, 5_000_000, 10, 10)
    if "nodata" in kind:
        profile["nodata"] = 7
    if kind == "alpha":
        pixels = np.concatenate([pixels, rng.integers(0, 2, (1, *SIZE[1:]), dtype=np.uint8) * 255])
        profile |= {"count": 4, "photometric": "rgb", "alpha": "yes"}
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(path, "w", **profile) as file:
        file.write(pixels)
        if "mask" in kind:
            file.write_mask(rng.integers(0, 2, SIZE[1:], dtype=np.uint8) * 255)
    return path


def mosaic(path: Path, kind: str) -> Path:
    """A VRT by GDAL over a file: its mask band, nodata values or alpha are those of the file, or values that differ by band."""
    from rasterio.shutil import copy

    copy(made(path / "in.tif", kind.removeprefix("differing ")), path / "in.vrt", driver="VRT")
    if kind == "differing nodata":
        text = (path / "in.vrt").read_text()
        for value in ("9", "11"):
            text = text.replace("<NoDataValue>7</NoDataValue>", f"<NoDataValue>{value}.0</NoDataValue>", 1)
        (path / "in.vrt").write_text(text)
    return path / "in.vrt"


def expected(path: Path, window: Any = None) -> Any:
    with rasterio.open(path) as file:
        masked = file.read(masked=True, window=window)
    return np.where(np.ma.getmaskarray(masked), np.nan, masked.data.astype(np.float32))


FILES = ["mask", "nodata", "alpha"]
MOSAICS = ["mask", "nodata", "alpha", "differing nodata", "mask and nodata"]


@pytest.mark.parametrize("kind", FILES)
def test_every_door_masks_as_rasterio_does(tmp_path: Path, kind: str) -> None:
    check_doors(made(tmp_path / "in.tif", kind))


@pytest.mark.parametrize("kind", MOSAICS)
def test_every_door_masks_mosaics_as_rasterio_does(tmp_path: Path, kind: str) -> None:
    check_doors(mosaic(tmp_path, kind), band_nodata="first")


@pytest.mark.skipif(not STANDIN, reason="STRILE_STANDIN names no stand-in for the CUDA driver")
def test_every_door_masks_on_a_device_as_rasterio_does(tmp_path: Path) -> None:
    """In a process of its own, which has the stand-in for the CUDA driver and a few lines instead of CuPy."""
    here = Path(__file__).parent
    package = Path(strile.__file__).parents[1]
    paths = [here.parent / "grids" / "standin", here, package]
    ended = subprocess.run(
        [sys.executable, "-B", "-W", "ignore", "-c", "import test_masked_doors; test_masked_doors.check_on_device()"],
        env={**os.environ, "LD_LIBRARY_PATH": STANDIN or "", "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
        timeout=600,
        cwd=tmp_path,
    )
    assert ended.returncode == 0, ended.stderr


def check_on_device() -> None:
    """Makes every file and mosaic in the current folder, and reads it onto the device."""
    here = Path.cwd()
    for kind in FILES:
        check_doors(made(here / f"{kind}.tif", kind), "cuda:0")
    for kind in MOSAICS:
        folder = here / kind
        folder.mkdir()
        check_doors(mosaic(folder, kind), "cuda:0", band_nodata="first")


def check_doors(path: Path, device: str = "cpu", **keywords: Any) -> None:
    whole = expected(path)
    assert np.isnan(whole).any() and not np.isnan(whole).all()
    opened = {**keywords, "masked": True, "gpu": device != "cpu"}
    if device != "cpu" and path.suffix == ".tif":
        opened["on_gpu_failure"] = "strict"
    windows = [(0, 0, 0, 90, 70)]
    read = strile.read(path, masked=True, device=device)
    batch = strile.read_batch([path], windows, masked=True, device=device)
    assert read.device == batch.device == device
    doors = {
        "read": read.numpy(),
        "open_geotiff": np.moveaxis(strile.open_geotiff(path, **opened).values, -1, 0),
        "open_geotiff, chunks": np.moveaxis(strile.open_geotiff(path, chunks=32, **opened).values, -1, 0),
        "engine": xr.open_dataset(path, engine="strile", mask_and_scale=True, device=device).band_data.values,
        "read_batch": batch.numpy()[0],
    }
    if device == "cpu":
        # A handle's results are numpy's masked arrays.
        found = strile.open(path).read(masked=True)
        mask = np.ma.getmaskarray(found)
        np.testing.assert_array_equal(mask, np.isnan(whole))
        doors["Dataset.read"] = np.where(mask, np.nan, found.filled(0).astype(np.float32))
    # Into an array that was there before: of numpy, or on the device.
    strile.read(path, masked=True, out=read, device=device)
    doors["read, out="] = read.numpy()
    assert strile.read_batch([path], windows, masked=True, device=device, out=batch) is batch
    doors["read_batch, out="] = batch.numpy()[0]
    for door, found in doors.items():
        np.testing.assert_array_equal(found, whole, err_msg=f"{door} of {path}")
    part = rasterio.windows.Window(20, 10, 50, 40)
    of_part = expected(path, part)
    out = np.empty(of_part.shape, np.float32) if device == "cpu" else strile.read(path, window=(0, 0, 50, 40), masked=True, device=device)
    strile.read(path, window=part, masked=True, out=out, device=device)
    np.testing.assert_array_equal(np.asarray(out if device == "cpu" else out.numpy()), of_part)


@pytest.mark.parametrize("kind", ["mask", "nodata", "alpha"])
def test_missing_pixels_do_not_count_when_windows_are_resampled(tmp_path: Path, kind: str) -> None:
    path = made(tmp_path / "in.tif", kind)
    whole = expected(path)[:3, :60, :90]
    found = strile.read_batch([path], [(0, 0, 0, 90, 60)], bands=[1, 2, 3], masked=True, size=(30, 20), resampling="average",
                              level=0, device="cpu").numpy()[0]  # fmt: skip
    blocks = whole.reshape(3, 20, 3, 30, 3)
    with np.errstate(invalid="ignore"):
        counts = (~np.isnan(blocks)).sum(axis=(2, 4))
        means = np.where(counts > 0, np.nansum(blocks, axis=(2, 4)) / np.maximum(counts, 1), np.nan)
    np.testing.assert_allclose(found, means, rtol=1e-6)
