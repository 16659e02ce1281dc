"""What is in the file, by the word of rasterio, tifffile and GDAL's own sidecar reader."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

rasterio = pytest.importorskip("rasterio")
tifffile = pytest.importorskip("tifffile")
xr = pytest.importorskip("xarray")
da = pytest.importorskip("dask.array")

import strile  # noqa: E402

FLOATS = np.arange(64 * 48, dtype=np.float32).reshape(64, 48)
COORDS = {"y": np.arange(64) * -10.0 + 1000, "x": np.arange(48) * 10.0 + 500}
CORNERS = (10.0, 0.0, 495.0, 0.0, -10.0, 1005.0)
CONTRACT = {"_xrspatial_geotiff_contract": 5}

Write = Callable[..., str]


@pytest.fixture(params=["eager", "dask", "cog"])
def write(request: pytest.FixtureRequest, tmp_path: Path) -> Write:
    """Writes by every route and says where."""

    def written(data: Any, **keywords: Any) -> str:
        path = str(tmp_path / "a.tif")
        if request.param == "dask":
            named = isinstance(data, xr.DataArray)
            data = data.chunk(20) if named else da.from_array(data, chunks=20)
            keywords.setdefault("streaming_buffer_bytes", 5000)
        if request.param == "cog":
            keywords["cog"] = True
        before = data.copy(deep=True) if isinstance(data, xr.DataArray) and request.param != "dask" else None
        assert strile.to_geotiff(data, path, **keywords) == path
        if before is not None:
            xr.testing.assert_identical(before, data)
        return path

    return written


def array(
    pixels: np.ndarray = FLOATS, dims: tuple[str, ...] = ("y", "x"), coords: Any = None, **attrs: Any
) -> Any:
    return xr.DataArray(pixels, dims=dims, coords=coords, attrs=attrs)


@pytest.mark.parametrize(
    "dtype", ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64"]
)
def test_every_type(write: Write, dtype: str) -> None:
    pixels = (FLOATS % 120).astype(dtype)
    with rasterio.open(write(pixels)) as file:
        assert file.dtypes == (dtype,)
        np.testing.assert_array_equal(file.read(1), pixels)


@pytest.mark.parametrize(
    ("given", "stored"), [("float16", "float32"), ("bool", "uint8"), (">f4", "float32"), (">i2", "int16")]
)
def test_types_without_one_of_their_own(write: Write, given: str, stored: str) -> None:
    pixels = (FLOATS % 2).astype(given)
    with rasterio.open(write(pixels)) as file:
        assert file.dtypes == (stored,)
        np.testing.assert_array_equal(file.read(1), pixels.astype(stored))


def test_lists_and_arrays_that_run_backwards(tmp_path: Path) -> None:
    strile.to_geotiff([[1, 2], [3, 4]], tmp_path / "a.tif")
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "a.tif"), [[1, 2], [3, 4]])
    strile.to_geotiff(FLOATS[::-1, ::2], tmp_path / "a.tif")
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "a.tif"), FLOATS[::-1, ::2])


@pytest.mark.parametrize("dims", [("band", "y", "x"), ("bands", "lat", "lon"), ("channel", "row", "col")])
def test_bands_first_and_last(write: Write, dims: tuple[str, ...]) -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (3, 40, 50), dtype=np.uint8)
    for turned, names in ((pixels, dims), (np.moveaxis(pixels, 0, -1), (*dims[1:], dims[0]))):
        with rasterio.open(write(array(turned, names))) as file:
            np.testing.assert_array_equal(file.read(), pixels)
            assert file.colorinterp[0].name == "gray" and file.profile["interleave"] == "pixel"


@pytest.mark.parametrize(
    ("bands", "name", "photometric", "extra"),
    [
        (3, "auto", 1, (0, 0)),
        (3, "rgb", 2, ()),
        (4, "rgb", 2, (0,)),
        (5, "rgba", 2, (2, 0)),
        (4, "RGBA", 2, (2,)),
    ],
)
def test_meaning_of_samples(
    write: Write, bands: int, name: str, photometric: int, extra: tuple[int, ...]
) -> None:
    with tifffile.TiffFile(write(np.zeros((20, 30, bands), np.uint8), photometric=name)) as file:
        page = file.pages[0]
        assert int(page.photometric) == photometric
        assert tuple(map(int, page.extrasamples)) == extra


@pytest.mark.parametrize("lazy", [False, True])
def test_white_is_zero_inverts(tmp_path: Path, lazy: bool) -> None:
    pixels = (FLOATS % 250).astype(np.uint8)
    given = da.from_array(pixels, chunks=20) if lazy else pixels
    strile.to_geotiff(given, tmp_path / "a.tif", photometric="miniswhite", nodata=3)
    with tifffile.TiffFile(tmp_path / "a.tif") as file:
        np.testing.assert_array_equal(file.asarray(), 255 - pixels)
        assert file.pages[0].tags[42113].value == "252"
    np.testing.assert_array_equal(strile.open_geotiff(tmp_path / "a.tif").values, pixels)


def test_transform_from_coordinates(write: Write) -> None:
    with rasterio.open(write(array(coords=COORDS, crs=32633))) as file:
        assert tuple(file.transform)[:6] == CORNERS and file.crs.to_epsg() == 32633


@pytest.mark.parametrize("flip", ["y", "x"])
def test_axes_that_run_the_other_way(write: Write, flip: str) -> None:
    coords = {name: values[::-1] if name == flip else values for name, values in COORDS.items()}
    path = write(array(coords=coords))
    with tifffile.TiffFile(path) as file:
        assert 34264 in file.pages[0].tags
    back = strile.open_geotiff(path)
    np.testing.assert_array_equal(back[flip], coords[flip])


def test_transform_of_attrs_goes_first_to_the_bit(write: Write) -> None:
    transform = (0.1 + 0.2, 0.0, 1 / 3, 0.0, -1e-5 / 3, 2 / 7)
    path = write(array(coords=COORDS, transform=transform, raster_type="area"))
    assert strile.open_geotiff(path).attrs["transform"] == transform
    points = write(array(transform=transform, raster_type="point"))
    assert strile.open_geotiff(points).attrs["transform"] == pytest.approx(transform, rel=1e-15)


def test_affine_is_a_transform(write: Write) -> None:
    with rasterio.open(write(array(transform=rasterio.Affine(*CORNERS)))) as file:
        assert tuple(file.transform)[:6] == CORNERS


@pytest.mark.parametrize(
    ("attrs", "coords", "error"),
    [
        ({}, {**COORDS, "y": COORDS["y"] ** 2}, strile.NonUniformCoordsError),
        ({}, {**COORDS, "y": COORDS["y"] * 0}, strile.NonUniformCoordsError),
        ({}, {**COORDS, "y": COORDS["y"] * np.nan}, strile.NonUniformCoordsError),
        ({}, {**COORDS, "y": [str(number) for number in range(64)]}, strile.NonUniformCoordsError),
        ({"transform": (0.0, 0.0, 1.0, 0.0, -1.0, 1.0)}, None, strile.DegeneratePixelSizeError),
        ({"transform": (np.nan, 0.0, 1.0, 0.0, -1.0, 1.0)}, None, strile.DegeneratePixelSizeError),
        ({"transform": (1.0, 0.5, 1.0, 0.5, -1.0, 1.0)}, None, strile.RotatedTransformError),
        ({"transform": (1.0, 0.5)}, None, strile.StrileError),
        ({"rotated_affine": (1.0, 0.5, 1.0, 0.5, -1.0, 1.0)}, None, strile.RotatedTransformError),
        ({"nodata": -3.0, "nodatavals": (-1.0,)}, None, strile.ConflictingNodataError),
        ({"nodatavals": (-1.0, -2.0)}, None, strile.ConflictingNodataError),
        ({"nodata": "x"}, None, strile.StrileError),
        ({"crs": "EPSG:4326", "crs_wkt": "EPSG:32633"}, None, strile.ConflictingCRSError),
        ({"crs_wkt": "garbage"}, None, strile.UnparseableCRSError),
    ],
)
def test_attrs_that_have_no_one_meaning(
    tmp_path: Path, attrs: Any, coords: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        strile.to_geotiff(array(coords=coords, **attrs), tmp_path / "a.tif")
    assert list(tmp_path.iterdir()) == []


def test_rotation_dropped_by_wish(tmp_path: Path) -> None:
    strile.to_geotiff(
        array(transform=(1.0, 0.5, 1.0, 0.5, -1.0, 1.0)), tmp_path / "a.tif", drop_rotation=True
    )
    with tifffile.TiffFile(tmp_path / "a.tif") as file:
        assert not {33550, 33922, 34264} & {tag.code for tag in file.pages[0].tags}


def test_one_row_needs_to_know_its_pixels(tmp_path: Path) -> None:
    row = array(FLOATS[:1], coords={"y": [5.0], "x": COORDS["x"]})
    with pytest.raises(strile.StrileError):
        strile.to_geotiff(row, tmp_path / "a.tif")
    with pytest.raises(strile.StrileError):
        strile.to_geotiff(row.assign_attrs(assume_square_pixels_for_degenerate_axis=1), tmp_path / "a.tif")
    strile.to_geotiff(row.assign_attrs(assume_square_pixels_for_degenerate_axis=True), tmp_path / "a.tif")
    with rasterio.open(tmp_path / "a.tif") as file:
        assert tuple(file.transform)[:6] == (10.0, 0.0, 495.0, 0.0, -10.0, 10.0)


@pytest.mark.parametrize("crs", [4326, np.int32(4326), "EPSG:4326", "epsg:4326", "4326", "wkt"])
def test_reference_systems(write: Write, crs: Any) -> None:
    given = rasterio.crs.CRS.from_epsg(4326).to_wkt() if crs == "wkt" else crs
    with rasterio.open(write(array(coords=COORDS), crs=given)) as file:
        assert file.crs.to_epsg() == 4326


def test_a_system_of_nobody(write: Write) -> None:
    text = rasterio.crs.CRS.from_string("+proj=laea +lat_0=10 +lon_0=3 +datum=WGS84 +units=m").to_wkt()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = write(array(coords=COORDS), crs=text)
    with rasterio.open(path) as file:
        assert file.crs == rasterio.crs.CRS.from_wkt(text)
    with rasterio.open(write(array(coords=COORDS), crs="garbage", allow_unparseable_crs=True)) as file:
        assert file.read(1).shape == (64, 48)


def test_spatial_ref_of_rioxarray(write: Write) -> None:
    wkt = rasterio.crs.CRS.from_epsg(32633).to_wkt()
    named = array(coords={**COORDS, "spatial_ref": xr.DataArray(0, attrs={"crs_wkt": wkt})})
    with rasterio.open(write(named)) as file:
        assert file.crs.to_epsg() == 32633


@pytest.mark.parametrize(
    ("keyword", "attrs", "stored"),
    [
        (None, {"nodata": -1.0}, -1.0),
        (None, {"nodatavals": (-1.0, -1.0)}, -1.0),
        (None, {"nodatavals": (np.nan,)}, None),
        (None, {"_FillValue": np.float32(-1)}, -1.0),
        (-5, {"nodata": -1.0, "nodatavals": (-2.0,)}, -5.0),
        (None, {"nodata": np.nan}, np.nan),
    ],
)
def test_nodata(write: Write, keyword: Any, attrs: Any, stored: Any) -> None:
    pixels = FLOATS.copy()
    pixels[3, 4] = np.nan
    path = write(array(pixels, **attrs), nodata=keyword)
    with rasterio.open(path) as file:
        found = file.nodata
        assert found == stored or (np.isnan(found) and np.isnan(stored))
        value = file.read(1)[3, 4]
    assert np.isnan(value) if stored is None or np.isnan(stored) else value == stored


def test_nan_is_missing_whatever_an_attribute_says(write: Write) -> None:
    """`masked_nodata=False` left NaN in a file whose nodata value was another."""
    pixels = FLOATS.copy()
    pixels[3, 4] = np.nan
    with rasterio.open(write(array(pixels, nodata=-1.0, masked_nodata=False))) as file:
        assert file.read(1)[3, 4] == -1.0 and not np.isnan(file.read(1)).any()


@pytest.mark.parametrize(("dtype", "value"), [("int64", -(2**63)), ("uint64", 2**64 - 1)])
def test_exact_nodata(write: Write, dtype: str, value: int) -> None:
    with tifffile.TiffFile(write((FLOATS % 7).astype(dtype), nodata=value)) as file:
        assert file.pages[0].tags[42113].value == str(value)


def test_an_impossible_nodata_value_that_was_read_stays(write: Write) -> None:
    pixels = (FLOATS % 7).astype("uint8")
    with tifffile.TiffFile(write(array(pixels, nodata=-9999, **CONTRACT))) as file:
        assert file.pages[0].tags[42113].value == "-9999"


def test_tags_and_items_of_a_read(write: Write) -> None:
    attrs = {
        **CONTRACT,
        "gdal_metadata": {"A": "b<c", ("UNITS", 0): "m"},
        "extra_tags": [(305, 2, 4, "abc"), (65000, 12, 2, (1.5, 2.5)), (256, 3, 1, 9), (65002, 5, 1, (1, 3))],
        "x_resolution": 300.0,
        "y_resolution": 72.5,
        "resolution_unit": "inch",
        "image_description": "a field",
    }
    path = write(array(**attrs))
    with tifffile.TiffFile(path) as file:
        tags = file.pages[0].tags
        assert (tags[305].value, tags[270].value, tags[296].value) == ("abc", "a field", 2)
        assert tags[65000].value == (1.5, 2.5) and tags[65002].value == (1, 3)
        assert (tags[282].value, tags[283].value) == ((300, 1), (145, 2))
    with rasterio.open(path) as file:
        assert file.tags()["A"] == "b<c" and (file.width, file.height) == (48, 64)
    back = strile.open_geotiff(path)
    assert back.attrs["gdal_metadata"]["A"] == "b<c"


def test_a_palette_is_kept(write: Write) -> None:
    table = tuple(int(value) for value in np.random.default_rng(0).integers(0, 65535, 768))
    path = write(array((FLOATS % 256).astype(np.uint8), colormap=table))
    with tifffile.TiffFile(path) as file:
        assert tuple(file.pages[0].tags[320].value.ravel()) == table and int(file.pages[0].photometric) == 3


@pytest.mark.parametrize("bigtiff", [None, False, True])
def test_bigtiff(write: Write, bigtiff: bool | None) -> None:
    with open(write(FLOATS, bigtiff=bigtiff), "rb") as file:
        assert file.read(3)[2] == (43 if bigtiff else 42)


@pytest.mark.parametrize("lazy", [False, True])
def test_overviews(tmp_path: Path, lazy: bool) -> None:
    data = da.from_array(FLOATS, chunks=20) if lazy else FLOATS
    strile.to_geotiff(
        data, tmp_path / "a.tif", cog=True, tile_size=16, overview_levels=[2, 4], overview_resampling="max"
    )
    with rasterio.open(tmp_path / "a.tif") as file:
        assert file.overviews(1) == [2, 4] and file.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"
    with rasterio.open(tmp_path / "a.tif", overview_level=0) as file:
        np.testing.assert_array_equal(file.read(1), FLOATS.reshape(32, 2, 24, 2).max((1, 3)))


@pytest.mark.parametrize("levels", [[4], [2, 8], [8], []])
def test_overviews_that_leave_out_a_halving(tmp_path: Path, levels: list[int]) -> None:
    """Each is half of the one above, stored or not."""

    def write(name: str, data: Any, levels: list[int]) -> Path:
        strile.to_geotiff(data, tmp_path / name, cog=True, tile_size=16, overview_levels=levels)
        return tmp_path / name

    some = write("some.tif", FLOATS, levels)
    assert write("lazy.tif", da.from_array(FLOATS, chunks=20), levels).read_bytes() == some.read_bytes()
    every = write("every.tif", FLOATS, [2, 4, 8])
    with tifffile.TiffFile(some) as file:
        assert [page.shape for page in file.pages] == [(64 // by, 48 // by) for by in [1, *levels]]
    with rasterio.open(some) as file:
        assert file.overviews(1) == levels and file.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"
    for at, factor in enumerate(levels):
        with (
            rasterio.open(some, overview_level=at) as ours,
            rasterio.open(every, overview_level=[2, 4, 8].index(factor)) as all_of_them,
        ):
            np.testing.assert_array_equal(ours.read(1), all_of_them.read(1))
            expected = FLOATS.reshape(64 // factor, factor, 48 // factor, factor).mean((1, 3))
            np.testing.assert_allclose(ours.read(1), expected, rtol=1e-6)


@pytest.mark.parametrize("compression", ["none", "deflate", "lzw", "packbits", "zstd", "lerc", "LZW", "lzma"])
def test_codecs(write: Write, compression: str) -> None:
    with rasterio.open(write(FLOATS, compression=compression)) as file:
        np.testing.assert_array_equal(file.read(1), FLOATS)


def test_targets(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    path = tmp_path / "a.tif"
    assert strile.to_geotiff(FLOATS, path) == str(path)
    file = io.BytesIO(b"x" * 100_000)
    assert strile.to_geotiff(FLOATS, file) is file
    np.testing.assert_array_equal(tifffile.imread(io.BytesIO(file.getvalue())), FLOATS)
    for data in (FLOATS, da.from_array(FLOATS, chunks=20)):
        assert strile.to_geotiff(data, "memory://strile/a.tif", cog=True) == "memory://strile/a.tif"
        with fsspec.open("memory://strile/a.tif") as stored:
            np.testing.assert_array_equal(tifffile.imread(stored), FLOATS)


def test_categories_and_stale_sidecars(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    pixels = (FLOATS % 2).astype(np.uint8)
    names, colours = ["water", "land & <more>"], [(0, 0, 255, 255), (10, 200, 30, 128)]
    strile.to_geotiff(array(pixels, category_names=names, category_colors=colours), path, color_ramp=True)
    back = strile.open_geotiff(path).attrs
    assert (back["category_names"], [tuple(c) for c in back["category_colors"]]) == (names, colours)
    with rasterio.open(path) as file:
        assert file.colormap(1)[1] == colours[1]
    assert not (tmp_path / "a.qml").exists()
    strile.to_geotiff(FLOATS, path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.tif"]


@pytest.mark.parametrize(
    "ramp", ["viridis", "plasma", "magma", "inferno", "cividis", "greys", "spectral", "terrain"]
)
def test_styles(tmp_path: Path, ramp: str) -> None:
    strile.to_geotiff(array(nodata=0.0), tmp_path / "a.tif", color_ramp=ramp)
    style = ElementTree.fromstring((tmp_path / "a.qml").read_text().split("\n", 1)[1])
    items = style.findall(".//colorrampshader/item")
    assert [float(item.get("value", "")) for item in items] == pytest.approx(list(np.linspace(1, 3071, 9)))
    with rasterio.open(tmp_path / "a.tif") as file:
        tags = file.tags(1)
        assert float(tags["STATISTICS_MINIMUM"]) == 1 and float(tags["STATISTICS_STDDEV"]) == pytest.approx(
            FLOATS[FLOATS > 0].std()
        )


def test_styles_that_would_say_nothing(tmp_path: Path) -> None:
    strile.to_geotiff(FLOATS * 0, tmp_path / "constant.tif", color_ramp=True)
    strile.to_geotiff(np.zeros((9, 9, 2), np.uint8), tmp_path / "bands.tif", color_ramp=True)
    strile.to_geotiff(FLOATS, io.BytesIO(), color_ramp=True)
    assert not list(tmp_path.glob("*.qml"))
    strile.to_geotiff(FLOATS, tmp_path / "a.tif", color_ramp="greys", color_ramp_range=(1, 5))
    assert "STATISTICS_MEAN" not in (tmp_path / "a.tif.aux.xml").read_text() and (tmp_path / "a.qml").exists()


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("georeferenced", [False, True])
def test_mosaics(tmp_path: Path, lazy: bool, georeferenced: bool) -> None:
    data = array(coords=COORDS, crs=32633, nodata=5) if georeferenced else array()
    given = data.chunk({"y": 40, "x": 30}) if lazy else data
    path = str(tmp_path / "v.vrt")
    assert strile.to_geotiff(given, path, tile_size=32) == path
    assert sorted(entry.name for entry in (tmp_path / "v_tiles").iterdir()) == [
        f"tile_{row:02d}_{column:02d}.tif" for row in (0, 1) for column in (0, 1)
    ]
    with rasterio.open(path) as file:
        np.testing.assert_array_equal(file.read(1), FLOATS)
        if georeferenced:
            assert (tuple(file.transform)[:6], file.crs.to_epsg(), file.nodata) == (CORNERS, 32633, 5)
    with pytest.raises(FileExistsError):
        strile.to_geotiff(given, path)


def test_a_mosaic_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail(block: Any) -> Any:
        raise RuntimeError("of the task")

    lazy = da.from_array(FLOATS, chunks=20).map_blocks(fail, dtype="f4", meta=FLOATS[:0, :0])
    with pytest.raises(RuntimeError):
        strile.to_geotiff(lazy, tmp_path / "v.vrt")
    for keywords in ({"cog": True}, {"tiled": False}, {"overview_levels": [2]}):
        with pytest.raises(ValueError):
            strile.to_geotiff(FLOATS, tmp_path / "v.vrt", **keywords)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("lazy", [False, True])
def test_pack_reverses_unpack(tmp_path: Path, lazy: bool) -> None:
    pixels = np.random.default_rng(2).integers(-100, 100, (30, 40), dtype=np.int16)
    pixels[0, :5] = -128
    attrs = {"nodata": -128, "gdal_metadata": {("SCALE", 0): "0.1", ("OFFSET", 0): "7"}, **CONTRACT}
    strile.to_geotiff(array(pixels, **attrs), tmp_path / "a.tif")
    unpacked = strile.open_geotiff(tmp_path / "a.tif", unpack=True, **({"chunks": 16} if lazy else {}))
    assert float(unpacked[1, 1]) == pytest.approx(pixels[1, 1] * 0.1 + 7) and bool(np.isnan(unpacked[0, 0]))
    strile.to_geotiff(unpacked, tmp_path / "b.tif", pack=True)
    back = strile.open_geotiff(tmp_path / "b.tif")
    assert back.dtype == np.int16 and back.attrs["nodata"] == -128
    np.testing.assert_array_equal(back.values, pixels)
    for wrong in (unpacked + 1e9, unpacked * np.inf):
        with pytest.raises(ValueError, match="pack"):
            strile.to_geotiff(wrong.assign_attrs(unpacked.attrs), tmp_path / "c.tif", pack=True)
    assert not (tmp_path / "c.tif").exists()


@pytest.mark.parametrize("kind", ["area", "point"])
def test_a_part_lies_where_its_coordinates_say(write: Write, tmp_path: Path, kind: str) -> None:
    """xarray keeps `attrs["transform"]` when it selects: the part must not be written at the whole's place."""
    whole = strile.open_geotiff(write(array(coords=COORDS, crs=32633, raster_type=kind)))
    every = slice(None, None, 2)
    for part in (
        whole.isel(y=slice(5, 30), x=slice(7, 40)),
        whole.isel(y=slice(None, None, -1)),
        whole.isel(y=every, x=every),
        whole.isel(y=[9]),
        whole.coarsen(y=2, x=2).mean(),
    ):
        strile.to_geotiff(part, tmp_path / "part.tif")
        back = strile.open_geotiff(tmp_path / "part.tif")
        np.testing.assert_allclose(back.x, part.x, rtol=0, atol=1e-6)
        np.testing.assert_allclose(back.y, part.y, rtol=0, atol=1e-6)
        np.testing.assert_array_equal(back.values, part.values)
    with pytest.raises(strile.NonUniformCoordsError):
        strile.to_geotiff(whole.isel(y=[0, 1, 5]), tmp_path / "apart.tif")


def test_values_that_were_unpacked_are_not_scaled_again(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tif")
    with rasterio.open(path, "w", driver="GTiff", width=40, height=30, count=1, dtype="int16", nodata=-1) as made:
        made.write(np.arange(1200, dtype=np.int16).reshape(30, 40), 1)
        made.scales, made.offsets, made.units = (0.1,), (7.0,), ("K",)
        made.set_band_description(1, "heat")
    unpacked = strile.open_geotiff(path, unpack=True)
    strile.to_geotiff(unpacked, tmp_path / "plain.tif")
    strile.to_geotiff(unpacked, tmp_path / "packed.tif", pack=True)
    for name, scaling in (("plain.tif", (1.0, 0.0)), ("packed.tif", (0.1, 7.0))):
        with rasterio.open(tmp_path / name) as written:
            assert (*written.scales, *written.offsets) == scaling, name
            assert (*written.units, *written.descriptions) == ("K", "heat"), name
        again = strile.open_geotiff(tmp_path / name, unpack=True)
        np.testing.assert_array_equal(again.values, unpacked.values)


def test_read_write_read_is_a_fixed_point(write: Write, tmp_path: Path) -> None:
    first = strile.open_geotiff(write(array(coords=COORDS, crs=32633, nodata=-1.0, raster_type="point")))
    strile.to_geotiff(first, tmp_path / "again.tif")
    second = strile.open_geotiff(tmp_path / "again.tif")
    xr.testing.assert_identical(first.rename("x"), second.rename("x"))


@pytest.mark.parametrize("name", ["b.tif", "b.vrt"])
def test_a_raster_has_its_bands_first(tmp_path: Path, name: str) -> None:
    pixels = np.arange(3 * 30 * 40, dtype=np.uint16).reshape(3, 30, 40)
    strile.to_geotiff(array(pixels, ("band", "y", "x")), str(tmp_path / "a.tif"))
    raster = strile.read(tmp_path / "a.tif")
    assert raster.dims == ("band", "y", "x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strile.to_geotiff(raster, str(tmp_path / name))
    with rasterio.open(tmp_path / name) as file:
        np.testing.assert_array_equal(file.read(), pixels)
    batch = strile.read_batch(tmp_path / "a.tif", [[0, 0, 8, 8]])
    assert batch.dims == ("window", "band", "y", "x")
    with pytest.raises(strile.StrileError, match="an array of 4 dimensions"):
        strile.to_geotiff(batch, str(tmp_path / "c.tif"))
