"""A handle's words for single pixels, masks, colours and figures, compared with rasterio's."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

rasterio = pytest.importorskip("rasterio")

import strile  # noqa: E402
from rasterio.enums import Resampling  # noqa: E402
from rasterio.transform import from_origin  # noqa: E402
from rasterio.windows import Window  # noqa: E402

PROFILE: dict[str, Any] = {"driver": "GTiff", "crs": "EPSG:32633", "transform": from_origin(500000, 4600000, 30, 30)}


def made(path: Path, pixels: Any, after: Any = None, **profile: Any) -> Path:
    bands, rows, columns = pixels.shape
    size = {"count": bands, "height": rows, "width": columns, "dtype": pixels.dtype}
    with rasterio.open(path, "w", **{**PROFILE, **size, **profile}) as file:
        file.write(pixels)
        if after is not None:
            after(file)
    return path


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    pixels = (np.arange(2 * 60 * 80) * 7919 % 251).astype(np.int16).reshape(2, 60, 80)
    pixels[:, 5:9, 5:20] = -9
    pixels[1, 30] = -9
    return made(tmp_path / "plain.tif", pixels, nodata=-9, tiled=True, blockxsize=16, blockysize=16)


def test_places_and_pixels(plain: Path) -> None:
    xs, ys = [500001.0, 501234.5, 400000.0], [4599999.0, 4599000.1, 5000000.0]
    with strile.open(plain) as ours, rasterio.open(plain) as theirs:
        for x, y in zip(xs, ys, strict=True):
            assert ours.index(x, y) == tuple(int(number) for number in theirs.index(x, y))
        assert np.array_equal(ours.index(xs, ys), rasterio.transform.rowcol(theirs.transform, xs, ys))
        for offset in ("center", "ul", "ur", "ll", "lr"):
            assert ours.xy(3, 4, offset) == tuple(rasterio.transform.xy(theirs.transform, 3, 4, offset=offset))
        assert np.array_equal(ours.xy([0, 5], [1, 7]), rasterio.transform.xy(theirs.transform, [0, 5], [1, 7]))


@pytest.mark.parametrize("indexes", [None, 1, [2, 1]])
@pytest.mark.parametrize("masked", [False, True])
def test_samples(plain: Path, indexes: Any, masked: bool) -> None:
    random = np.random.default_rng(5)
    points = list(zip(random.uniform(499900, 502500, 10_000), random.uniform(4598100, 4600100, 10_000), strict=True))
    with strile.open(plain) as ours, rasterio.open(plain) as theirs:
        mine = list(ours.sample(points, indexes, masked=masked))
        other = list(theirs.sample(points, indexes, masked=masked))
    assert np.array_equal(np.ma.getdata(mine), np.ma.getdata(other))
    if masked:
        assert np.array_equal(np.ma.getmaskarray(np.ma.stack(mine)), np.ma.getmaskarray(np.ma.stack(other)))


def test_masks_of_nodata(plain: Path) -> None:
    with strile.open(plain) as ours, rasterio.open(plain) as theirs:
        assert np.array_equal(ours.read_masks(), theirs.read_masks())
        assert np.array_equal(ours.read_masks(2), theirs.read_masks(2))
        assert np.array_equal(ours.dataset_mask(), theirs.dataset_mask())
        window = Window(10, 3, 20, 15)
        assert np.array_equal(ours.read_masks([2, 1], window), theirs.read_masks([2, 1], window=window))


def test_masks_of_images_and_alpha(tmp_path: Path) -> None:
    pixels = np.full((1, 60, 80), 7, np.uint8)
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
        image = made(tmp_path / "mask.tif", pixels, lambda file: file.write_mask(np.arange(4800).reshape(60, 80) % 3 > 0))
    colours = np.full((4, 60, 80), 9, np.uint8)
    colours[3] = np.where(np.arange(4800).reshape(60, 80) % 5, 255, 0)
    alpha = made(tmp_path / "alpha.tif", colours, photometric="rgb", alpha="yes")
    for path in (image, alpha, made(tmp_path / "none.tif", pixels)):
        with strile.open(path) as ours, rasterio.open(path) as theirs:
            assert np.array_equal(ours.read_masks(), theirs.read_masks()), path
            assert np.array_equal(ours.dataset_mask(), theirs.dataset_mask()), path


def test_colours(tmp_path: Path) -> None:
    table = {value: (value, 255 - value, value // 2, 255) for value in range(256)}
    path = made(
        tmp_path / "a.tif", np.zeros((1, 20, 20), np.uint8), lambda file: file.write_colormap(1, table), photometric="palette"
    )
    with strile.open(path) as ours, rasterio.open(path) as theirs:
        assert ours.colormap(1) == theirs.colormap(1)
    with pytest.raises(strile.StrileError, match="no colour table"):
        strile.open(made(tmp_path / "b.tif", np.zeros((1, 20, 20), np.uint8))).colormap(1)


def test_figures(plain: Path) -> None:
    with strile.open(plain) as ours, rasterio.open(plain) as theirs:
        for band in (1, 2):
            values = theirs.read(band, masked=True)
            found = ours.statistics(band)
            expected = (values.min(), values.max(), values.mean(), values.std())
            assert np.allclose(found, expected) and found._fields == ("min", "max", "mean", "std")


def test_another_shape(plain: Path) -> None:
    with strile.open(plain) as ours, rasterio.open(plain) as theirs:
        for shape in ((30, 40), (20, 16), (120, 160), (17, 33)):
            mine = ours.read(1, out_shape=shape)
            assert np.array_equal(mine, theirs.read(1, out_shape=shape)), shape
        shape = (2, 15, 20)
        mine = ours.read(out_shape=shape, resampling=Resampling.average, masked=True)
        other = theirs.read(out_shape=shape, resampling=Resampling.average, masked=True)
        assert mine.shape == shape and np.abs(mine - other).max() <= 1
        window = Window(8, 4, 40, 20)
        assert np.array_equal(ours.read(1, window, out_shape=(10, 20)), theirs.read(1, window=window, out_shape=(10, 20)))


def test_windows_without_bounds(plain: Path) -> None:
    with strile.open(plain) as ours, rasterio.open(plain) as theirs:
        for window in (Window(-5, -7, 30, 20), Window(70, 50, 30, 30), Window(200, 200, 5, 5)):
            mine = ours.read(window=window, boundless=True)
            assert np.array_equal(mine, theirs.read(window=window, boundless=True))
            filled = ours.read(1, window, boundless=True, fill_value=3)
            assert np.array_equal(filled, theirs.read(1, window=window, boundless=True, fill_value=3))
        with pytest.raises(strile.StrileError, match="negative"):
            ours.read(1, Window(-5, -7, 30, 20))


@pytest.fixture
def pyramid(tmp_path: Path) -> Path:
    """Overviews that do not look like the image: what was read from which is seen in the pixels."""
    path = made(
        tmp_path / "pyramid.tif",
        np.zeros((1, 512, 512), np.uint8),
        lambda file: file.build_overviews([2, 4, 8], Resampling.nearest),
        tiled=True,
        blockxsize=64,
        blockysize=64,
    )
    for level in range(3):
        with rasterio.open(path, "r+", overview_level=level) as file:
            file.write(np.full((1, *file.shape), level + 1, np.uint8))
    return path


def test_the_overview_that_suffices_is_read(pyramid: Path) -> None:
    """The full image was read for a picture of 64 pixels."""
    with strile.open(pyramid) as ours, rasterio.open(pyramid) as theirs:
        for side, level in ((512, 0), (300, 0), (256, 1), (200, 1), (128, 2), (64, 3), (10, 3)):
            raster = strile.read(pyramid, size=side, device="cpu")
            assert raster.levels == [level] and (raster.numpy() == level).all() and raster.shape == (1, side, side)
            assert (ours.read(1, out_shape=(side, side)) == level).all()
            # rasterio takes an overview that is up to a fifth too small, too.
            assert theirs.read(1, out_shape=(side, side)).max() >= level
        windows = [[0, 0, 512, 512], [100, 100, 128, 128], [7, 9, 65, 65]]
        batch = strile.read_batch(str(pyramid), windows, size=64, device="cpu")
        assert batch.levels == [3, 1, 0] and [part.max() for part in batch.numpy()] == [3, 1, 0]
        named = strile.read_batch(str(pyramid), [[0, 0, 512, 512]], size=64, level=0, device="cpu")
        assert named.levels == [0] and named.numpy().max() == 0
        bounds = strile.read_batch(str(pyramid), bounds=[ours.bounds], size=100, device="cpu")
        assert bounds.levels == [2]


def test_pixels_of_an_overview_are_where_the_window_is(tmp_path: Path) -> None:
    """A window between pixels of an overview takes those under it, as rasterio does."""
    pixels = np.add.outer(np.arange(512), np.arange(512)).astype(np.uint16)[None]
    path = made(
        tmp_path / "a.tif", pixels, lambda file: file.build_overviews([2, 4], Resampling.average), tiled=True,
        blockxsize=64, blockysize=64,
    )  # fmt: skip
    with strile.open(path) as ours, rasterio.open(path) as theirs:
        for window in (Window(0, 0, 512, 512), Window(37, 51, 301, 203), Window(2, 2, 256, 256)):
            for kind in ("nearest", "average"):
                mine = ours.read(1, window, out_shape=(50, 50), resampling=kind).astype(int)
                other = theirs.read(1, window=window, out_shape=(50, 50), resampling=Resampling[kind]).astype(int)
                assert np.abs(mine - other).max() <= 6, (window, kind)


def test_windows_are_refused_in_words(plain: Path) -> None:
    with strile.open(plain) as ours:
        part = ours.read(1, (slice(3, 9), slice(10, 20)))
        assert np.array_equal(part, ours.read(1)[3:9, 10:20])
        for window in ((slice(3, None), slice(0, 5)), (float("nan"), 0, 5, 5), (1, 2, 3), "north", (5, (1, 2))):
            with pytest.raises(strile.StrileError, match="window is"):
                ours.read(1, window)
    array = strile.open_geotiff(plain, window=(slice(3, 9), slice(10, 20)))
    assert np.array_equal(array[..., 0], part)
    assert strile.open_geotiff(plain, window=Window(10, 3, 10, 6)).identical(array)


def test_a_box_in_degrees_is_told(plain: Path) -> None:
    with pytest.raises(strile.StrileError, match="EPSG:32633: the box looks like degrees; transform it"):
        strile.open_geotiff(plain, bbox=(14.9, 41.5, 15.1, 41.6))


def test_a_file_of_text_is_told() -> None:
    with pytest.raises(TypeError, match="expected a binary file, opened with mode 'rb'"):
        strile.open(io.StringIO("II*"))


def test_a_missing_package_is_told_with_its_extra(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ModuleNotFoundError, match=r"chunks needs dask, .* pip install 'strile\[dask\]'"):
        strile.open_geotiff(plain, chunks=16)


@pytest.mark.parametrize("chunks", ["auto", {}, {"y": 20}, {"y": -1, "x": 32, "band": -1}])
def test_chunks_as_xarray_takes_them(plain: Path, chunks: Any) -> None:
    pytest.importorskip("dask")
    array = strile.open_geotiff(plain, chunks=chunks)
    assert array.identical(strile.open_geotiff(plain).drop_attrs().assign_attrs(array.attrs).chunk(array.chunks))
    if chunks == {"y": 20}:
        assert array.chunks[0] == (20, 20, 20) and array.chunks[1] == (80,)


def test_the_commands_are_functions(plain: Path, tmp_path: Path) -> None:
    target = tmp_path / "b.tif"
    assert strile.convert(plain, target, format="cog", creation_options={"COMPRESS": "ZSTD", "BLOCKSIZE": 16}) == str(target)
    assert strile.validate_cog(target)["valid"]
    strips = made(tmp_path / "strips.tif", np.zeros((1, 600, 600), np.uint8))
    found = strile.validate_cog(strips)
    assert not found["valid"] and found["errors"][0]["advice"]
    assert [one["category"] for one in strile.compare(plain, target)] == ["overviews"]
    with pytest.raises(FileExistsError):
        strile.convert(plain, target)
    strile.convert(plain, target, overwrite=True, window=Window(0, 0, 40, 30), bands=[2], nodata="none", crs=32634)
    with rasterio.open(target) as file, rasterio.open(plain) as source:
        assert file.nodata is None and file.crs.to_epsg() == 32634
        assert np.array_equal(file.read(1), source.read(2)[:30, :40])
    strile.add_overviews(target, count=1, resampling="nearest")
    assert strile.open(target).overviews(1) == [2]
    told = strile.info(target)
    assert told["crs"]["epsg"] == 32634 and [level["width"] for level in told["levels"]] == [40, 20]


@pytest.fixture(params=["nodata", "alpha", "mask", "none"])
def validity(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Files that say in different ways which pixels are valid."""
    hole = np.zeros((60, 80), bool)
    hole[10:30, 20:50] = True
    pixels = (np.arange(4 * 60 * 80) * 7919 % 251 + 1).astype(np.uint8).reshape(4, 60, 80)
    path = tmp_path / "validity.tif"
    if request.param == "alpha":
        pixels[3] = np.where(hole, 0, 255)
        return made(path, pixels, photometric="rgb", alpha="yes")
    if request.param == "mask":
        with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
            return made(path, pixels[:3], lambda file: file.write_mask(~hole))
    if request.param == "nodata":
        pixels[:2, hole] = 0
        return made(path, pixels[:2], nodata=0)
    return made(path, pixels[:1])


def alike(mine: Any, other: Any) -> None:
    assert mine.shape == other.shape and mine.dtype == other.dtype
    assert isinstance(mine, np.ma.MaskedArray) == isinstance(other, np.ma.MaskedArray)
    assert np.array_equal(np.ma.getmaskarray(mine), np.ma.getmaskarray(other))
    assert np.array_equal(np.ma.filled(mine, 0), np.ma.filled(other, 0))


@pytest.mark.parametrize("indexes", [None, 1, [1]])
def test_masked_arrays_are_those_of_rasterio(validity: Path, indexes: Any) -> None:
    with strile.open(validity) as ours, rasterio.open(validity) as theirs:
        for window in (None, Window(15, 5, 40, 30)):
            alike(ours.read(indexes, window, masked=True), theirs.read(indexes, window=window, masked=True))
        shape = (30, 40) if indexes == 1 else (theirs.count if indexes is None else 1, 30, 40)
        alike(ours.read(indexes, out_shape=shape, masked=True), theirs.read(indexes, out_shape=shape, masked=True))


@pytest.mark.parametrize("shape", [(30, 40), (20, 16), (120, 160), (60, 80)])
@pytest.mark.parametrize("method", [Resampling.average, Resampling.bilinear])
def test_masks_are_resampled_with_their_pixels(validity: Path, method: Resampling, shape: tuple[int, int]) -> None:
    """Mask images and alpha were refused but for nearest."""
    if method is Resampling.bilinear and shape[0] < 60:
        pytest.skip("GDAL widens its kernel where images shrink")
    with strile.open(validity) as ours, rasterio.open(validity) as theirs:
        found, expected = (file.read(1, out_shape=shape, resampling=method, masked=True) for file in (ours, theirs))
    np.testing.assert_array_equal(np.ma.getmaskarray(found), np.ma.getmaskarray(expected))
    if method is Resampling.average:
        assert np.abs(found.astype(int) - expected.astype(int)).max() <= 1


def test_masks_of_a_window_in_another_shape_are_those_of_its_pixels(validity: Path) -> None:
    for window in (Window(3, 5, 61, 47), Window(-5, -7, 40, 30)):
        with strile.open(validity) as ours, rasterio.open(validity) as theirs:
            outside = window.col_off < 0
            found = ours.read(window=window, out_shape=(ours.count, 19, 23), masked=True, boundless=outside)
            if not outside:
                alike(found, theirs.read(window=window, out_shape=(theirs.count, 19, 23), masked=True))
            whole, area = ours.read(masked=True), (window.col_off, window.row_off, window.width, window.height)
        rows, columns = (
            np.floor(start + (np.arange(count) + 0.5) * (length / count)).astype(int)
            for start, length, count in ((area[1], area[3], 19), (area[0], area[2], 23))
        )
        inside = np.ix_(range(whole.shape[0]), rows[rows >= 0], columns[columns >= 0])
        gone = np.logical_or.outer(rows < 0, columns < 0)
        assert np.ma.getmaskarray(found)[:, gone].all()
        kept = found[:, rows >= 0][:, :, columns >= 0]
        alike(kept, whole[inside])


@pytest.mark.parametrize("window", [Window(-5, -7, 40, 30), Window(60, 40, 40, 40), Window(200, 200, 6, 5)])
def test_pixels_outside_are_masked(validity: Path, window: Window) -> None:
    """They were valid pixels of `fill_value`, and of 0 in a file without a nodata value."""
    with strile.open(validity) as ours:
        for fill in (None, 9):
            found = ours.read(1, window, boundless=True, masked=True, fill_value=fill)
            columns = np.arange(window.col_off, window.col_off + window.width)
            rows = np.arange(window.row_off, window.row_off + window.height)
            outside = np.logical_or.outer((rows < 0) | (rows >= 60), (columns < 0) | (columns >= 80))
            assert np.ma.getmaskarray(found)[outside].all()
            if not outside.all():
                whole = ours.read(1, masked=True)
                inside = np.ix_(rows[(rows >= 0) & (rows < 60)], columns[(columns >= 0) & (columns < 80)])
                assert np.array_equal(np.ma.getmaskarray(found)[~outside], np.ma.getmaskarray(whole)[inside].ravel())
                assert np.array_equal(np.ma.getdata(found)[~outside], np.ma.getdata(whole)[inside].ravel())


@pytest.mark.parametrize("indexes", [1, [1]])
def test_samples_are_masked_by_all_that_says_what_is_valid(validity: Path, indexes: Any) -> None:
    """Mask images and alpha were left out."""
    points = [(500000 + 30 * column + 5, 4600000 - 30 * row - 5) for row in range(-2, 62, 3) for column in range(-2, 82, 3)]
    with strile.open(validity) as ours, rasterio.open(validity) as theirs:
        mine, other = (np.ma.stack(list(file.sample(points, indexes, masked=True))) for file in (ours, theirs))
    alike(mine, other)


def test_values_beyond_another_type_are_its_nearest(tmp_path: Path) -> None:
    pixels = np.array([[[-3.5, -0.4, 0.5, 254.6, 300.0, 1e20, np.nan, 70000.2]]], np.float64)
    path = made(tmp_path / "a.tif", pixels)
    with strile.open(path) as ours, rasterio.open(path) as theirs:
        for dtype in ("uint8", "int16", "uint16", "int32", "float32"):
            found, expected = ours.read(out_dtype=dtype), theirs.read(out_dtype=dtype)
            assert np.array_equal(found, expected, equal_nan=dtype == "float32"), dtype


def test_a_mosaic_is_sampled_and_read_in_another_shape(plain: Path, tmp_path: Path) -> None:
    path = strile.vrt([plain], tmp_path / "a.vrt")
    points = [(500000 + 30 * column + 5, 4600000 - 30 * row - 5) for row in range(-2, 62, 3) for column in range(-2, 82, 3)]
    with strile.open(path) as ours, rasterio.open(path) as theirs:
        assert np.array_equal(list(ours.sample(points)), list(theirs.sample(points)))
        alike(ours.read(out_shape=(2, 30, 40)), theirs.read(out_shape=(2, 30, 40)))
        window = Window(-5, -7, 40, 30)
        alike(ours.read(1, window, boundless=True), theirs.read(1, window=window, boundless=True))
        with strile.open(plain) as file:
            shape = {"out_shape": (2, 30, 40), "resampling": "average"}
            assert np.array_equal(ours.read(**shape), file.read(**shape))


def test_another_type(plain: Path) -> None:
    with strile.open(plain) as ours, rasterio.open(plain) as theirs:
        for dtype in ("float32", np.float64, "int32"):
            alike(ours.read(out_dtype=dtype, masked=True), theirs.read(out_dtype=dtype, masked=True))
        with pytest.raises(TypeError, match="out_dtype is 'colour': expected a type of numbers"):
            ours.read(out_dtype="colour")
        with pytest.raises(strile.StrileError, match="fill_value is for boundless=True, masked=True and grid"):
            ours.read(fill_value=3)


def test_colours_of_a_sidecar_and_of_a_mosaic(tmp_path: Path) -> None:
    table = {value: (value * 30, 255 - value, value, 255) for value in range(8)}
    path = made(tmp_path / "a.tif", np.zeros((1, 20, 20), np.uint8), lambda file: file.write_colormap(1, table))
    strile.vrt([path], tmp_path / "a.vrt")
    beside = made(tmp_path / "b.tif", np.zeros((1, 20, 20), np.uint8))
    with rasterio.open(beside, "r") as file:
        assert file.colorinterp[0].name == "gray"
    entries = "".join(f'<Entry c1="{r}" c2="{g}" c3="{b}" c4="{a}" />' for r, g, b, a in table.values())
    (tmp_path / "b.tif.aux.xml").write_text(
        f'<PAMDataset><PAMRasterBand band="1"><ColorInterp>Palette</ColorInterp><ColorTable>{entries}</ColorTable>'
        "</PAMRasterBand></PAMDataset>"
    )
    for name in ("a.tif", "a.vrt", "b.tif"):
        with strile.open(tmp_path / name) as ours, rasterio.open(tmp_path / name) as theirs:
            expected = theirs.colormap(1)
            found = ours.colormap(1)
            assert {value: found[value] for value in table} == {value: expected[value] for value in table}, name
            assert ours.colorinterp == tuple(one.name for one in theirs.colorinterp), name


def test_colours_of_bands_in_a_mosaic(tmp_path: Path) -> None:
    path = made(tmp_path / "a.tif", np.zeros((4, 20, 20), np.uint8), photometric="rgb", alpha="yes")
    strile.vrt([path], tmp_path / "a.vrt")
    for name in ("a.tif", "a.vrt"):
        with strile.open(tmp_path / name) as ours:
            assert ours.colorinterp == ("red", "green", "blue", "alpha"), name


def test_a_mosaic_outside_its_folder_is_read_in_another_size(plain: Path, tmp_path: Path) -> None:
    """`size` left `allow_outside` out."""
    (tmp_path / "folder").mkdir()
    mosaic = strile.vrt([plain], tmp_path / "folder" / "a.vrt")
    with pytest.raises(strile.StrileError, match="allow_outside"):
        strile.read(mosaic, window=(0, 0, 8, 8))
    assert np.array_equal(strile.read(mosaic, allow_outside=True, window=(0, 0, 8, 8)).numpy()[0], strile.open(plain).read(1)[:8, :8])


def test_points_outside_the_file_are_told(plain: Path) -> None:
    with pytest.warns(UserWarning, match="points outside the image: 2; coordinates are those of its reference system, EPSG:32633: pass crs="):
        strile.sample(plain, [(14.9, 41.5), (15.1, 41.6)])
    with pytest.warns(UserWarning, match="points outside the image: 1; coordinates are those of 4326$"):
        strile.sample(plain, [(0.0, 0.0)], crs=4326)


def test_a_handle_is_for_reading(plain: Path) -> None:
    with strile.open(plain, "r") as file:
        assert file.count
    with pytest.raises(strile.StrileError, match="mode is 'w': expected 'r'.*to_geotiff"):
        strile.open(plain, "w")
