"""Masks of VRTs by alpha, by a mask band and by the nodata value of each band, against rasterio."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strile

rasterio = pytest.importorskip("rasterio")
xr = pytest.importorskip("xarray")

BAND = """<VRTRasterBand dataType="Byte" band="{n}">{said}<SimpleSource>
<SourceFilename relativeToVRT="1">a.tif</SourceFilename><SourceBand>{n}</SourceBand></SimpleSource></VRTRasterBand>"""
MASK = """<MaskBand><VRTRasterBand dataType="Byte"><SimpleSource><SourceFilename relativeToVRT="1">a.tif</SourceFilename>
<SourceBand>1</SourceBand></SimpleSource></VRTRasterBand></MaskBand>"""
ALPHA = "<ColorInterp>Alpha</ColorInterp>"


def nodata(value: int) -> str:
    return f"<NoDataValue>{value}</NoDataValue>"


CASES = {
    "alpha": (("", "", "", ALPHA), ""),
    "alpha of two": (("", ALPHA), ""),
    "nodata of each band": ((nodata(1), nodata(2), nodata(3)), ""),
    "nodata of the second band": (("", nodata(2)), ""),
    "nodata and alpha": ((nodata(1), "", "", ALPHA), ""),
    "nodata and alpha in turn": (("", nodata(2), "", ALPHA), ""),
    "mask band": (("", ""), MASK),
    "mask band and nodata": ((nodata(1), nodata(2)), MASK),
}


@pytest.fixture(params=CASES)
def path(request: Any, tmp_path: Path) -> Path:
    bands, mask = CASES[request.param]
    pixels = np.random.default_rng(5).integers(0, 5, (len(bands), 20, 30)).astype(np.uint8)
    profile = {"driver": "GTiff", "width": 30, "height": 20, "count": len(bands), "dtype": "uint8"}
    place = rasterio.transform.from_origin(0, 20, 1, 1)
    with rasterio.open(tmp_path / "a.tif", "w", crs="EPSG:32633", transform=place, **profile) as file:
        file.write(pixels)
    inside = "".join(BAND.format(n=n, said=said) for n, said in enumerate(bands, 1))
    text = f'<VRTDataset rasterXSize="30" rasterYSize="20"><SRS>EPSG:32633</SRS><GeoTransform>0,1,0,20,0,-1</GeoTransform>{inside}{mask}</VRTDataset>'
    made = tmp_path / "a.vrt"
    made.write_text(text)
    return made


def test_masks_of_the_handle(path: Path) -> None:
    with rasterio.open(path) as theirs, strile.open(path) as ours:
        assert ours.nodatavals == theirs.nodatavals
        np.testing.assert_array_equal(ours.read_masks(), theirs.read_masks())
        np.testing.assert_array_equal(ours.read_masks(2), theirs.read_masks(2))
        np.testing.assert_array_equal(ours.dataset_mask(), theirs.dataset_mask())
        for bands in (None, [2, 1]):
            expected, found = theirs.read(bands, masked=True), ours.read(bands, masked=True)
            np.testing.assert_array_equal(np.ma.getmaskarray(found), np.ma.getmaskarray(expected))
            np.testing.assert_array_equal(found.data, expected.data)
            out = np.empty_like(expected.data)
            filled = ours.read(bands, masked=True, out=out)
            assert np.shares_memory(filled, out)
            np.testing.assert_array_equal(np.ma.getmaskarray(filled), np.ma.getmaskarray(expected))
            np.testing.assert_array_equal(out, expected.data)


def test_masked_pixels_of_the_engine_and_open_geotiff(path: Path) -> None:
    with rasterio.open(path) as file:
        expected = np.where(file.read_masks() == 0, np.nan, file.read().astype(np.float64))
    engine = xr.open_dataset(path, engine="strile", masked=True).band_data
    np.testing.assert_array_equal(engine.values, expected)
    np.testing.assert_array_equal(engine[1, 3:9, 4:8].values, expected[1, 3:9, 4:8])
    opened = strile.open_geotiff(path, masked=True, band_nodata="first")
    np.testing.assert_array_equal(opened.values, np.moveaxis(expected, 0, -1))
    lazy = strile.open_geotiff(path, masked=True, band_nodata="first", chunks=8)
    np.testing.assert_array_equal(lazy.values, opened.values)
    one = strile.open_geotiff(path, masked=True, band_nodata="first", band=1)
    np.testing.assert_array_equal(one.values, expected[1])


def test_masked_pixels_of_the_core(path: Path) -> None:
    with rasterio.open(path) as file:
        expected = np.where(file.read_masks() == 0, np.nan, file.read().astype(np.float32))
    np.testing.assert_array_equal(strile.read(path, masked=True).numpy(), expected)
    np.testing.assert_array_equal(strile.read(path, masked=True, bands=[2], window=(4, 3, 9, 8)).numpy(), expected[1:2, 3:11, 4:13])
    windows = [(0, 0, 0, 12, 10), (0, 9, 5, 12, 10)]
    batch = strile.read_batch([path], windows, masked=True).numpy()
    for found, (_, column, row, width, height) in zip(batch, windows, strict=True):
        np.testing.assert_array_equal(found, expected[:, row : row + height, column : column + width])


def test_masked_pixels_in_memory_of_the_caller_and_on_a_grid(path: Path) -> None:
    """On the grid of its own pixels a mosaic has the pixels that it has without one. There nodata values count before a mask band,
    and alpha that masks all bands masks itself."""
    with rasterio.open(path) as file:
        masks, pixels, nodatas = file.read_masks(), file.read().astype(np.float32), file.nodatavals
        alpha = [at for at, meaning in enumerate(file.colorinterp) if meaning.name == "alpha"]
    expected = np.where(masks == 0, np.nan, pixels)
    out = np.empty_like(expected)
    assert strile.read(path, masked=True, out=out) is out
    np.testing.assert_array_equal(out, expected)
    batch = np.empty((1, *expected.shape), np.float32)
    strile.read_batch([path], [(0, 0, 0, 30, 20)], masked=True, out=batch)
    np.testing.assert_array_equal(batch[0], expected)
    on_grid = expected.copy()
    if set(nodatas) == {None}:
        for band in alpha:
            on_grid[band] = np.where(pixels[band] == 0, np.nan, pixels[band])
    elif not alpha:
        for band, value in enumerate(nodatas):
            hidden = masks[band] == 0 if value is None else pixels[band] == value
            on_grid[band] = np.where(hidden, np.nan, pixels[band])
    grid = strile.Grid("EPSG:32633", (1, 0, 0, 0, -1, 20), (20, 30))
    found = strile.read(path, masked=True, grid=grid)
    np.testing.assert_array_equal(found.numpy(), on_grid)
    strile.read(path, masked=True, grid=grid, out=out)
    np.testing.assert_array_equal(out, on_grid)


def test_whether_nodata_is_present_is_counted_by_the_read(path: Path) -> None:
    with rasterio.open(path) as file:
        pixels, nodatas = np.moveaxis(file.read(), 0, -1), file.nodatavals
    present = any(value is not None and (pixels[..., band] == value).any() for band, value in enumerate(nodatas))
    opened = strile.open_geotiff(path, band_nodata="first")
    if nodatas[0] is None:
        assert "nodata" not in opened.attrs or len(set(nodatas) - {None}) > 1
    if "nodata" in opened.attrs:
        assert opened.attrs["nodata_pixels_present"] is True and present
        masked = strile.open_geotiff(path, masked=True, band_nodata="first")
        assert masked.attrs["nodata_pixels_present"] is bool(np.isnan(masked.values).any())
