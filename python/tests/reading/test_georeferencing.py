"""Transforms, coordinates, reference systems and boxes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import rasterio
import strile

UTM = (30.1, 0.0, 500000.25, 0.0, -29.9, 4000000.5)
SCALE = (33550, "d", 3, (2.0, 3.0, 0.0))
POINT = (33922, "d", 6, (0.0, 0.0, 0.0, 100.0, 200.0, 0.0))


def keys(*entries: int) -> tuple[int, str, int, tuple[int, ...]]:
    return (34735, "H", 4 + len(entries), (1, 1, 0, len(entries) // 4, *entries))


PROJECTED = keys(1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32633)


def test_coordinates_are_pixel_centres(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    path = gtiff(pixels, crs="EPSG:32633", transform=UTM)
    array = read(path)
    with rasterio.open(path) as file:
        xs, _ = file.xy(0, range(50))
        _, ys = file.xy(range(40), 0)
    np.testing.assert_allclose(array.x, xs, rtol=1e-15)
    np.testing.assert_allclose(array.y, ys, rtol=1e-15)
    assert array.attrs["transform"] == UTM
    assert array.attrs["crs"] == 32633
    assert array.attrs["georef_status"] == "full"
    assert "raster_type" not in array.attrs
    assert rasterio.CRS.from_wkt(array.attrs["crs_wkt"]) == rasterio.CRS.from_epsg(32633)


def test_a_window_keeps_the_labels(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    path = gtiff(pixels, crs="EPSG:32633", transform=UTM)
    whole, part = read(path), read(path, window=(3, 5, 20, 30))
    assert part.equals(whole[3:20, 5:30])
    np.testing.assert_allclose(part.attrs["transform"], (30.1, 0, 500000.25 + 5 * 30.1, 0, -29.9, 4000000.5 - 3 * 29.9))


def test_without_georeferencing_labels_are_pixel_numbers(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    array = read(gtiff(pixels), window=(3, 5, 20, 30))
    assert array.x.dtype == np.int64
    assert array.x.values[0] == 5
    assert array.y.values[0] == 3
    assert "transform" not in array.attrs
    assert array.attrs["georef_status"] == "none"
    assert array.attrs["_xrspatial_no_georef"] is True


@pytest.mark.parametrize(
    ("profile", "status"), [({"crs": "EPSG:32633"}, "crs_only"), ({"transform": UTM}, "transform_only")]
)
def test_half_of_it(read: Any, gtiff: Any, pixels: np.ndarray, profile: dict[str, Any], status: str) -> None:
    array = read(gtiff(pixels, **profile))
    assert array.attrs["georef_status"] == status
    assert ("crs" in array.attrs) == (status == "crs_only")
    assert ("transform" in array.attrs) == (status == "transform_only")


def test_points_take_no_half_pixel(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    path = gtiff(
        pixels, crs="EPSG:32633", transform=UTM, after=lambda file: file.update_tags(AREA_OR_POINT="Point")
    )
    array = read(path)
    assert array.attrs["raster_type"] == "point"
    assert array.attrs["transform"][2] == array.x.values[0]
    np.testing.assert_allclose(array.x.values[0], 500000.25 + 30.1 / 2, rtol=1e-15)


def test_rotation_is_refused_or_dropped(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    path = gtiff(pixels, crs="EPSG:32633", transform=(1, 0.2, 5, 0.1, -1, 9))
    with pytest.raises(strile.RotatedTransformError):
        read(path)
    array = read(path, allow_rotated=True)
    assert array.attrs["rotated_affine"] == (1, 0.2, 5, 0.1, -1, 9)
    assert array.attrs["georef_status"] == "rotated_dropped"
    assert not {"crs", "crs_wkt", "transform"} & set(array.attrs)
    assert array.x.dtype == np.int64


@pytest.mark.parametrize("size", [(0.0, 1.0, 0.0), (float("nan"), 1.0, 0.0), (1.0, float("inf"), 0.0)])
def test_degenerate_pixels_are_refused(
    read: Any, tagged: Any, pixels: np.ndarray, size: tuple[float, ...]
) -> None:
    with pytest.raises(strile.DegeneratePixelSizeError):
        read(tagged(pixels, (33550, "d", 3, size), POINT))


def test_several_tiepoints(read: Any, tagged: Any, pixels: np.ndarray) -> None:
    agree = (33922, "d", 12, (0.0, 0.0, 0.0, 100.0, 200.0, 0.0, 10.0, 0.0, 0.0, 120.0, 200.0, 0.0))
    assert read(tagged(pixels, SCALE, agree)).attrs["transform"] == (2, 0, 100, 0, -3, 200)
    differ = (33922, "d", 12, (0.0, 0.0, 0.0, 100.0, 200.0, 0.0, 10.0, 0.0, 0.0, 125.0, 200.0, 0.0))
    with pytest.raises(strile.UnsupportedGeoTIFFFeatureError):
        read(tagged(pixels, SCALE, differ))


def test_a_tiepoint_elsewhere(read: Any, tagged: Any, pixels: np.ndarray) -> None:
    there = (33922, "d", 6, (5.0, 7.0, 0.0, 100.0, 200.0, 0.0))
    assert read(tagged(pixels, SCALE, there)).attrs["transform"] == (2, 0, 90, 0, -3, 221)


@pytest.mark.parametrize("orientation", [2, 3, 4])
def test_labels_turn_with_the_pixels(read: Any, tagged: Any, pixels: np.ndarray, orientation: int) -> None:
    plain = read(tagged(pixels, SCALE, POINT, PROJECTED, name="plain.tif"))
    turned = read(tagged(pixels, SCALE, POINT, PROJECTED, (274, "H", 1, orientation)))
    # The same labels over the grid, each on the pixel that stands there as stored.
    assert sorted(turned.x.values) == sorted(plain.x.values)
    a, _, c, _, e, f = turned.attrs["transform"]
    np.testing.assert_allclose(turned.x, c + a * (np.arange(50) + 0.5))
    np.testing.assert_allclose(turned.y, f + e * (np.arange(40) + 0.5))
    assert turned.sel(x=101.0, y=198.5) == plain.sel(x=101.0, y=198.5)


@pytest.mark.parametrize("orientation", [5, 6, 7, 8])
def test_swapped_axes_have_no_transform(read: Any, tagged: Any, pixels: np.ndarray, orientation: int) -> None:
    with pytest.raises(NotImplementedError):
        read(tagged(pixels, SCALE, POINT, (274, "H", 1, orientation)))


def test_contradicting_keys_are_refused(read: Any, tagged: Any, pixels: np.ndarray) -> None:
    with pytest.raises(strile.InconsistentGeoKeysError):
        read(tagged(pixels, SCALE, POINT, keys(1024, 0, 1, 2, 3072, 0, 1, 32633)))
    with pytest.raises(strile.InconsistentGeoKeysError):
        read(tagged(pixels, SCALE, POINT, keys(1024, 0, 1, 1, 2048, 0, 1, 4326)))
    base = read(tagged(pixels, SCALE, POINT, keys(1024, 0, 1, 1, 2048, 0, 1, 4258, 3072, 0, 1, 25833)))
    assert base.attrs["crs"] == 25833


@pytest.mark.parametrize(
    ("box", "rows", "columns"),
    [
        ((500010, 3999900, 500111, 3999999), (0, 4), (0, 4)),
        ((500100, 3999500, 500200, 3999600), (13, 17), (3, 7)),
        ((0, 0, 1e7, 1e7), (0, 40), (0, 50)),
    ],
)
def test_bbox_is_clamped_and_rounded_outwards(
    read: Any, gtiff: Any, pixels: np.ndarray, box: tuple[float, ...], rows: tuple[int, int], columns: tuple[int, int]
) -> None:
    path = gtiff(pixels, crs="EPSG:32633", transform=UTM)
    np.testing.assert_array_equal(read(path, bbox=box).values, pixels[slice(*rows), slice(*columns)])


def test_bbox_needs_a_place(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    with pytest.raises(ValueError, match="outside"):
        read(gtiff(pixels, transform=UTM), bbox=(0, 0, 1, 1))
    with pytest.raises(ValueError, match="georeferenced"):
        read(gtiff(pixels, name="none.tif"), bbox=(0, 0, 1, 1))
    rotated = gtiff(pixels, name="rotated.tif", transform=(1, 0.2, 5, 0.1, -1, 9))
    with pytest.raises(ValueError, match="rotated"):
        read(rotated, bbox=(0, 0, 9, 9), allow_rotated=True)


def test_no_coordinates_when_not_wanted(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    array = read(gtiff(np.stack([pixels, pixels]), transform=UTM), parse_coordinates=False)
    assert set(array.coords) == {"band"}
    assert array.attrs["transform"] == UTM


@pytest.mark.parametrize("point", [False, True])
def test_overviews_lie_where_the_full_resolution_lies(
    read: Any, gtiff: Any, pixels: np.ndarray, point: bool
) -> None:
    path = gtiff(
        np.tile(pixels, (8, 8)), crs="EPSG:32633", transform=UTM, nodata=5, tiled=True, blockxsize=64, blockysize=64
    )
    with rasterio.open(path, "r+") as file:
        if point:
            file.update_tags(AREA_OR_POINT="Point")
        file.build_overviews([2, 4], rasterio.enums.Resampling.nearest)
    for level, factor in ((0, 1), (1, 2), (2, 4)):
        array = read(path, overview_level=level)
        with rasterio.open(path, **({"overview_level": level - 1} if level else {})) as file:
            np.testing.assert_array_equal(array.values, file.read(1))
            xs, _ = file.xy(0, range(file.width))
            _, ys = file.xy(range(file.height), 0)
        np.testing.assert_allclose(array.x, xs, rtol=1e-14)
        np.testing.assert_allclose(array.y, ys, rtol=1e-14)
        assert array.attrs["nodata"] == 5
        assert array.attrs["crs"] == 32633
        assert array.attrs["transform"][0] == pytest.approx(30.1 * factor)
    with pytest.raises(ValueError, match="0 to 2"):
        read(path, overview_level=3)


def test_overviews_beside_the_file(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    path = gtiff(np.tile(pixels, (8, 8)), transform=UTM)
    with rasterio.Env(TIFF_USE_OVR="YES"), rasterio.open(path, "r+") as file:
        file.build_overviews([2], rasterio.enums.Resampling.nearest)
    with rasterio.open(path, overview_level=0) as file:
        np.testing.assert_array_equal(read(path, overview_level=1).values, file.read(1))


def test_a_damaged_file_beside_it_only_warns_where_it_is_not_needed(
    read: Any, gtiff: Any, pixels: np.ndarray
) -> None:
    path = gtiff(pixels)
    path.with_name(path.name + ".ovr").write_bytes(b"II*\0 not a directory")
    with pytest.warns(RuntimeWarning):
        np.testing.assert_array_equal(read(path).values, pixels)
    with pytest.raises(ValueError):  # noqa: PT011
        read(path, overview_level=1)


@pytest.mark.parametrize("own", [True, False])
def test_overviews_beside_a_file_may_be_placed_by_themselves(
    read: Any, gtiff: Any, pixels: np.ndarray, own: bool
) -> None:
    path = gtiff(pixels, crs="EPSG:4326", transform=(10, 0, 100, 0, -10, 200))
    stated = {"crs": "EPSG:3857", "transform": (2.5, 0, 500, 0, -2.5, 800)} if own else {}
    gtiff(pixels[::2, ::2], name=path.name + ".ovr", **stated)
    array = read(path, overview_level=1)
    np.testing.assert_array_equal(array.values, pixels[::2, ::2])
    assert array.attrs["crs"] == (3857 if own else 4326)
    assert array.attrs["transform"] == ((2.5, 0, 500, 0, -2.5, 800) if own else (20, 0, 100, 0, -20, 200))
    assert array.x.values[0] == (501.25 if own else 110)
    assert read(path).attrs["crs"] == 4326
