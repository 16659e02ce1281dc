"""Missing pixels through every door that masks, against rasterio: by a mask image, by a nodata value, by alpha."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
import strile
import xarray as xr

SIZE = (3, 70, 90)


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


@pytest.mark.parametrize("kind", ["mask", "nodata", "alpha"])
def test_every_door_masks_as_rasterio_does(tmp_path: Path, kind: str) -> None:
    check_doors(made(tmp_path / "in.tif", kind))


@pytest.mark.parametrize("kind", ["mask", "nodata", "alpha", "differing nodata", "mask and nodata"])
def test_every_door_masks_mosaics_as_rasterio_does(tmp_path: Path, kind: str) -> None:
    check_doors(mosaic(tmp_path, kind), band_nodata="first")


def check_doors(path: Path, **keywords: Any) -> None:
    whole = expected(path)
    assert np.isnan(whole).any() and not np.isnan(whole).all()
    doors = {
        "read": strile.read(path, masked=True, device="cpu").numpy(),
        "Dataset.read": strile.open(path).read(masked=True).filled(0),
        "open_geotiff": np.moveaxis(strile.open_geotiff(path, masked=True, **keywords).values, -1, 0),
        "open_geotiff, chunks": np.moveaxis(strile.open_geotiff(path, masked=True, chunks=32, **keywords).values, -1, 0),
        "engine": xr.open_dataset(path, engine="strile", mask_and_scale=True).band_data.values,
        "read_batch": strile.read_batch([path], [(0, 0, 0, 90, 70)], masked=True, device="cpu").numpy()[0],
    }
    mask = np.ma.getmaskarray(strile.open(path).read(masked=True))
    np.testing.assert_array_equal(mask, np.isnan(whole))
    doors["Dataset.read"] = np.where(mask, np.nan, doors["Dataset.read"].astype(np.float32))
    for door, found in doors.items():
        np.testing.assert_array_equal(found, whole, err_msg=door)
    window = rasterio.windows.Window(20, 10, 50, 40)
    out = np.empty((len(whole), 40, 50), np.float32)
    strile.read(path, window=(20, 10, 50, 40), masked=True, out=out, device="cpu")
    np.testing.assert_array_equal(out, expected(path, window))


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
