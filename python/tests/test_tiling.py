"""Cloud-optimized files in the tiles of web maps, beside GDAL's COG driver: the same grid, levels and metadata, and the same pixels."""

import numpy as np
import pytest
import rasterio
import rasterio.shutil
import strile
from affine import Affine
from rasterio.warp import transform

UTM = Affine(10, 0, 500_000, 0, -10, 5_200_000)


def made(path, *, nodata=-9999, bands=1, dtype="int16", values=None, crs="EPSG:32632", place=UTM):
    if values is None:
        values = np.random.default_rng(5).integers(1, 200, (bands, 400, 500))
    with rasterio.open(
        path, "w", driver="GTiff", width=values.shape[2], height=values.shape[1], count=values.shape[0], dtype=dtype, crs=crs,
        transform=place, nodata=nodata, tiled=True, blockxsize=64, blockysize=64,
    ) as file:  # fmt: skip
        file.write(values.astype(dtype))
    return str(path)


def both(source, folder, **options):
    """The file of GDAL, and that of strile."""
    options = {"TILING_SCHEME": "GoogleMapsCompatible", **options}
    gdal, own = str(folder / "gdal.tif"), str(folder / "strile.tif")
    rasterio.shutil.copy(source, gdal, driver="COG", **options)
    strile.convert(source, own, format="cog", creation_options=options, overwrite=True)
    return gdal, own


def levels(path):
    with rasterio.open(path) as file:
        count = len(file.overviews(1))
    shapes = []
    for level in range(count):
        with rasterio.open(path, OVERVIEW_LEVEL=level) as file:
            shapes.append(file.shape)
    return shapes


def scheme(file):
    # rasterio writes the name of the set in capitals.
    return {name: value.upper() for name, value in file.tags(ns="TILING_SCHEME").items()}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"BLOCKSIZE": 512},
        {"BLOCKSIZE": 128},
        {"ZOOM_LEVEL_STRATEGY": "LOWER"},
        {"ZOOM_LEVEL_STRATEGY": "UPPER"},
        {"ZOOM_LEVEL": 15},
        {"ALIGNED_LEVELS": 1},
        {"ALIGNED_LEVELS": 3},
        {"ZOOM_LEVEL": 10, "ALIGNED_LEVELS": 2},
        {"ZOOM_LEVEL": 3, "ALIGNED_LEVELS": 10},
    ],
    ids=str,
)
def test_grid_levels_and_metadata_are_gdals(tmp_path, options):
    gdal, own = both(made(tmp_path / "a.tif"), tmp_path, **options)
    with rasterio.open(gdal) as expected, rasterio.open(own) as found:
        assert found.shape == expected.shape and found.crs == expected.crs and found.nodata == expected.nodata
        assert np.allclose(tuple(found.transform), tuple(expected.transform), rtol=1e-12, atol=0)
        assert found.block_shapes == expected.block_shapes and scheme(found) == scheme(expected)
        assert found.tags(ns="TILING_SCHEME")["NAME"] == "GoogleMapsCompatible"
    assert levels(own) == levels(gdal)
    assert strile.validate_cog(own)


@pytest.mark.parametrize("which", ["columns", "rows"])
def test_nearest_pixels_are_gdals_except_ties(tmp_path, which):
    rows, columns = np.mgrid[:400, :500]
    source = made(tmp_path / "a.tif", values=(columns if which == "columns" else rows)[None])
    gdal, own = both(source, tmp_path, WARP_RESAMPLING="NEAREST")
    with rasterio.open(gdal) as expected, rasterio.open(own) as found:
        theirs, ours, place = expected.read(1), found.read(1), found.transform
    row, column = np.mgrid[: ours.shape[0], : ours.shape[1]]
    x, y = place * (column.ravel() + 0.5, row.ravel() + 0.5)
    x, y = transform("EPSG:3857", "EPSG:32632", x, y)
    at = (~UTM * (np.asarray(x), np.asarray(y)))[0 if which == "columns" else 1].reshape(ours.shape)
    # Both may be an eighth of a pixel off.
    is_clear = np.abs(at - np.round(at)) > 0.13
    assert is_clear.mean() > 0.5
    assert np.array_equal(ours[is_clear], theirs[is_clear])
    inside = is_clear & (ours != -9999)
    assert np.array_equal(ours[inside], np.floor(at[inside])) and inside.sum() > 50_000


@pytest.mark.parametrize("resampling", ["CUBIC", "BILINEAR", "AVERAGE"])
def test_smooth_pixels_are_gdals(tmp_path, resampling):
    y, x = np.mgrid[:400, :500]
    source = made(tmp_path / "a.tif", values=1000 * np.sin(x / 40)[None] * np.cos(y / 30), dtype="float32")
    gdal, own = both(source, tmp_path, RESAMPLING=resampling)
    with rasterio.open(gdal) as expected, rasterio.open(own) as found:
        theirs, ours = expected.read(1), found.read(1)
    valid = (ours != -9999) & (theirs != -9999)
    # Values change by up to 33 from one pixel to the next, and places may be an eighth of a pixel off.
    assert valid.mean() > 0.15 and np.abs(ours - theirs)[valid].max() < 10 and np.abs(ours - theirs)[valid].mean() < 1


def test_without_nodata_a_mask_says_what_is_missing(tmp_path):
    source = made(tmp_path / "a.tif", nodata=None, bands=3, dtype="uint8")
    gdal, own = both(source, tmp_path, WARP_RESAMPLING="NEAREST")
    with rasterio.open(gdal) as expected, rasterio.open(own) as found:
        # GDAL adds a band of alpha.
        assert (expected.count, found.count) == (4, 3)
        assert (found.dataset_mask() != expected.dataset_mask()).mean() < 1e-4
        assert 0.1 < (found.dataset_mask() > 0).mean() < 0.9
        assert not found.read()[:, found.dataset_mask() == 0].any()
    jpeg = str(tmp_path / "jpeg.tif")
    strile.convert(source, jpeg, format="cog", creation_options={"TILING_SCHEME": "GoogleMapsCompatible", "COMPRESS": "JPEG"})
    with rasterio.open(jpeg) as file:
        assert (file.dataset_mask() != found_mask(own)).mean() < 1e-4


def found_mask(path):
    with rasterio.open(path) as file:
        return file.dataset_mask()


def test_a_raster_on_the_grid_keeps_its_pixels(tmp_path):
    pixel = 2 * 20_037_508.342_789_244 / 256 / 4096
    place = Affine(pixel, 0, 5130 * pixel - 20_037_508.342_789_244, 0, -pixel, 20_037_508.342_789_244 - 600 * pixel)
    source = made(tmp_path / "a.tif", crs="EPSG:3857", place=place)
    gdal, own = both(source, tmp_path, ALIGNED_LEVELS=2, WARP_RESAMPLING="NEAREST")
    with rasterio.open(gdal) as expected, rasterio.open(own) as found:
        assert found.shape == expected.shape and scheme(found) == scheme(expected) and np.array_equal(found.read(), expected.read())
        assert np.allclose(tuple(found.transform), tuple(expected.transform), rtol=1e-12, atol=0)


def test_what_does_not_go_together_is_refused(tmp_path):
    source, out = made(tmp_path / "a.tif"), str(tmp_path / "out.tif")
    web = {"TILING_SCHEME": "GoogleMapsCompatible"}
    for keywords, words in [
        ({"creation_options": {"TILING_SCHEME": "PseudoTMS_GlobalMercator"}}, "GOOGLEMAPSCOMPATIBLE"),
        ({"creation_options": {"ZOOM_LEVEL": 3}}, "is for TILING_SCHEME"),
        ({"creation_options": web | {"ZOOM_LEVEL": 31}}, "0 to 30"),
        ({"creation_options": web | {"ZOOM_LEVEL": 3, "ZOOM_LEVEL_STRATEGY": "LOWER"}}, "leave ZOOM_LEVEL out"),
        ({"creation_options": web, "bbox": (500_100, 5_199_000, 500_900, 5_199_900)}, "an area; convert twice"),
        ({"creation_options": web, "scale": (0, 10, 0, 255)}, "other values; convert twice"),
        ({"creation_options": web, "format": "gtiff"}, "cloud-optimized"),
    ]:
        with pytest.raises(strile.StrileError, match=words):
            strile.convert(source, out, **({"format": "cog"} | keywords))
    assert not (tmp_path / "out.tif").exists()
