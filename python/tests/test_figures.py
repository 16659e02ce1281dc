"""Statistics, histograms, checksums, samples, overviews and shades, compared with rasterio, GDAL and numpy."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

rasterio = pytest.importorskip("rasterio")

import rasterio.features  # noqa: E402
import strile  # noqa: E402
from rasterio.enums import ColorInterp, Resampling  # noqa: E402
from rasterio.transform import from_origin  # noqa: E402
from rasterio.windows import Window  # noqa: E402

PROFILE: dict[str, Any] = {"driver": "GTiff", "crs": "EPSG:32633", "transform": from_origin(500000, 4600000, 30, 30)}
TYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64"]
RNG = np.random.default_rng(20)


def made(path: Path, pixels: Any, after: Any = None, **profile: Any) -> Path:
    bands, rows, columns = pixels.shape
    size = {"count": bands, "height": rows, "width": columns, "dtype": pixels.dtype}
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
        with rasterio.open(path, "w", **{**PROFILE, **size, **profile}) as file:
            file.write(pixels)
            if after is not None:
                after(file)
    return path


def noise(dtype: str, bands: int = 2, shape: tuple[int, int] = (70, 90)) -> Any:
    kind = np.dtype(dtype)
    if kind.kind == "f":
        pixels = RNG.normal(0, 1e6, (bands, *shape)).astype(kind)
        pixels[:, 3:5, 7] = np.nan
        return pixels
    limits = np.iinfo(kind)
    return RNG.integers(limits.min, limits.max, (bands, *shape), kind, endpoint=True)


TILED = {"tiled": True, "blockxsize": 32, "blockysize": 16, "compress": "deflate"}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("layout", [{}, TILED, {"interleave": "band", **TILED}])
def test_checksums_are_gdals(tmp_path: Path, dtype: str, layout: dict[str, Any]) -> None:
    path = made(tmp_path / "a.tif", noise(dtype), **layout)
    with strile.open(path) as ours, rasterio.open(path) as theirs:
        for band in (1, 2):
            assert ours.checksum(band) == theirs.checksum(band)
        window = Window(0, 0, 33, 21)
        assert ours.checksum(2, window) == theirs.checksum(2, window=window)
    assert [band["checksum"] for band in strile.info(path, checksum=True)["figures"]] == [
        strile.open(path).checksum(band) for band in (1, 2)
    ]


def test_checksums_of_complex_and_bits(tmp_path: Path) -> None:
    waves = (RNG.normal(0, 99, (1, 40, 50)) + 1j * RNG.normal(0, 99, (1, 40, 50))).astype(np.complex64)
    path = made(tmp_path / "complex.tif", waves)
    bits = made(tmp_path / "bits.tif", RNG.integers(0, 2, (1, 40, 50), np.uint8), nbits=1)
    for file in (path, bits):
        with rasterio.open(file) as theirs:
            assert strile.open(file).checksum() == theirs.checksum(1), file
    with pytest.raises(strile.StrileError, match="real samples"):
        strile.info(path, stats=True)


def hidden(case: str, tmp_path: Path) -> Path:
    """A file whose validity is by nodata, NaN, a mask, alpha, two of them, or nothing."""
    pixels = noise("uint8", 4)
    some = np.arange(70 * 90).reshape(70, 90) % 3 > 0
    path = tmp_path / f"{case}.tif"
    if case == "nodata":
        return made(path, pixels, nodata=7)
    if case == "nan":
        return made(path, noise("float32"), nodata=np.nan)
    if case == "mask":
        return made(path, pixels, lambda file: file.write_mask(some))
    if case == "mask and nodata":
        return made(path, noise("int16"), lambda file: file.write_mask(some), nodata=-5)
    if case == "alpha":
        pixels[3] = np.where(some, pixels[3] | 1, 0)
        return made(path, pixels, photometric="rgb", alpha="yes")
    return made(path, noise("float64"))


CASES = ["nodata", "nan", "mask", "mask and nodata", "alpha", "plain"]


@pytest.mark.parametrize("case", CASES)
def test_statistics_are_gdals(tmp_path: Path, case: str) -> None:
    path = hidden(case, tmp_path)
    figures = strile.info(path, stats=True)["figures"]
    with strile.open(path) as ours, rasterio.open(path) as theirs:
        for band in theirs.indexes:
            found, expected = figures[band - 1]["statistics"], theirs.statistics(band, approx=False)
            names = ("minimum", "maximum", "mean", "standard_deviation")
            expected = [expected.min, expected.max, expected.mean, expected.std]
            assert np.allclose([found[name] for name in names], expected, rtol=1e-12), band
            assert tuple(ours.statistics(band)) == tuple(found[name] for name in names)
            assert found["valid"] + found["missing"] == theirs.width * theirs.height
            # GDAL's masks hide what its statistics count where there is a nodata value and a mask image.
            if case != "mask and nodata" and (case not in ("alpha", "mask") or band < 4):
                values = theirs.read(band, masked=True)
                assert found["valid"] == np.isfinite(values.compressed()).sum()


FIELD = {"type": "Polygon", "coordinates": [[(500200, 4599700), (502100, 4599100), (501500, 4598100), (500300, 4598300), (500200, 4599700)]]}


@pytest.mark.parametrize("case", ["nodata", "nan", "mask", "alpha", "plain"])
def test_statistics_within_a_polygon(tmp_path: Path, case: str) -> None:
    """Pixels are those of rasterio.features, of which those count that are valid anywhere else."""
    path = hidden(case, tmp_path)
    whole = strile.info(path, stats=True)["figures"]
    figures = strile.info(path, stats=True, hist=True, polygon=FIELD, polygon_crs="EPSG:32633")["figures"]
    with rasterio.open(path) as theirs:
        outside = rasterio.features.geometry_mask([FIELD], (70, 90), theirs.transform)
        shown = theirs.read_masks() > 0
        pixels = theirs.read()
    assert 500 < (~outside).sum() < 3000
    for band, (values, valid, found) in enumerate(zip(pixels, shown, figures, strict=True), 1):
        if band == 4:
            continue  # alpha, or a fourth band that GDAL takes for it
        inside = values[~outside & valid & np.isfinite(values)].astype("float64")
        told = found["statistics"]
        names = ("minimum", "maximum", "mean", "standard_deviation")
        expected = [inside.min(), inside.max(), inside.mean(), inside.std()]
        assert np.allclose([told[name] for name in names], expected, rtol=1e-9), band
        assert (told["valid"], told["valid"] + told["missing"]) == (inside.size, (~outside).sum())
        assert sum(found["histogram"]["counts"]) == inside.size
        assert told["valid"] < whole[band - 1]["statistics"]["valid"]


def test_what_cannot_be_measured_within_a_polygon(tmp_path: Path) -> None:
    path = made(tmp_path / "a.tif", noise("int16"))
    far = "POLYGON ((100000 4599700, 100100 4599100, 100200 4599700, 100000 4599700))"
    for words, keywords in {
        "lies outside the pixels": {"stats": True, "polygon": far},
        "a checksum is of all pixels": {"stats": True, "checksum": True, "polygon": FIELD, "polygon_crs": "EPSG:32633"},
        "pass stats=True or hist=True": {"polygon": far},
        "pass polygon with it": {"stats": True, "polygon_crs": "EPSG:32633"},
    }.items():
        with pytest.raises(strile.StrileError, match=words):
            strile.info(path, **keywords)


def gdal_histogram(path: Path, band: int, low: float, high: float) -> list[int]:
    """What the GDAL in rasterio's wheel counts; rasterio has no function for it."""
    found = list((Path(rasterio.__file__).parents[1] / "rasterio.libs").glob("libgdal*.so*"))
    if len(found) != 1:
        pytest.skip("rasterio does not bring its own GDAL")
    gdal = ctypes.CDLL(str(found[0]))
    gdal.GDALOpen.restype = gdal.GDALGetRasterBand.restype = ctypes.c_void_p
    gdal.GDALAllRegister()
    file = ctypes.c_void_p(gdal.GDALOpen(str(path).encode(), 0))
    counts = (ctypes.c_uint64 * 256)()
    limits = (ctypes.c_double(low), ctypes.c_double(high), 256)
    handle = ctypes.c_void_p(gdal.GDALGetRasterBand(file, band))
    assert gdal.GDALGetRasterHistogramEx(handle, *limits, counts, 1, 0, None, None) == 0
    gdal.GDALClose(file)
    return list(counts)


@pytest.mark.parametrize("case", [*CASES, "int16", "uint32", "float32"])
def test_histograms_are_gdals(tmp_path: Path, case: str) -> None:
    path = made(tmp_path / "a.tif", noise(case)) if case in TYPES else hidden(case, tmp_path)
    found = [band["histogram"] for band in strile.info(path, hist=True)["figures"]]
    stats = [band["statistics"] for band in strile.info(path, stats=True)["figures"]]
    for histogram, band in zip(found, stats, strict=True):
        assert sum(histogram["counts"]) == band["valid"] and len(histogram["counts"]) == 256
        if "uint8" == strile.open(path).dtypes[0]:
            assert (histogram["minimum"], histogram["maximum"]) == (-0.5, 255.5)
        else:
            half = (band["maximum"] - band["minimum"]) / 510
            assert np.allclose([histogram["minimum"], histogram["maximum"]], [band["minimum"] - half, band["maximum"] + half])
    for band, histogram in enumerate(found, 1):
        assert histogram["counts"] == gdal_histogram(path, band, histogram["minimum"], histogram["maximum"])


def test_a_band_of_one_value_has_a_histogram(tmp_path: Path) -> None:
    (band,) = strile.info(made(tmp_path / "a.tif", np.full((1, 9, 9), 5.5)), hist=True, stats=True)["figures"]
    assert sum(band["histogram"]["counts"]) == 81 and max(band["histogram"]["counts"]) == 81
    assert band["statistics"]["standard_deviation"] == 0
    (band,) = strile.info(made(tmp_path / "b.tif", np.zeros((1, 9, 9)), nodata=0), hist=True, stats=True)["figures"]
    assert band["statistics"] == {
        "minimum": None, "maximum": None, "mean": None, "standard_deviation": None, "valid": 0, "missing": 81,
    }  # fmt: skip
    assert "histogram" not in band


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("masked", [False, True])
def test_samples_of_masks_and_alpha(tmp_path: Path, case: str, masked: bool) -> None:
    path = hidden(case, tmp_path)
    xs, ys = RNG.uniform(499900, 503000, 500), RNG.uniform(4597700, 4600100, 500)
    points = list(zip(xs, ys, strict=True))
    with rasterio.open(path) as theirs:
        expected = list(theirs.sample(points, masked=masked))
    found = strile.sample(path, points, masked=masked)
    inside = (xs > 500000) & (xs < 500000 + 90 * 30) & (ys < 4600000) & (ys > 4600000 - 70 * 30)
    assert inside.any() and not inside.all()
    assert np.array_equal(np.ma.getdata(found), np.ma.getdata(expected), equal_nan=found.dtype.kind == "f")
    if masked:
        # rasterio gives NaN as valid where it is not the nodata value; strile never does.
        other = np.ma.getmaskarray(np.ma.stack(expected)) | ~np.isfinite(np.ma.getdata(np.ma.stack(expected)))
        other[~inside] = True
        alpha = 3 if case in ("alpha", "mask", "nodata") else None
        bands = [band for band in range(found.shape[1]) if band != alpha]
        assert np.array_equal(np.ma.getmaskarray(found)[:, bands], other[:, bands])


def test_samples_of_a_mosaic(tmp_path: Path) -> None:
    path = made(tmp_path / "a.tif", noise("int16"), nodata=-5)
    strile.vrt([path], tmp_path / "a.vrt")
    points = list(zip(RNG.uniform(499900, 503000, 500), RNG.uniform(4597700, 4600100, 500), strict=True))
    found = strile.sample(tmp_path / "a.vrt", points, bands=[2], masked=True)
    expected = strile.sample(path, points, bands=[2], masked=True)
    assert np.array_equal(np.ma.getmaskarray(found), np.ma.getmaskarray(expected))
    assert np.array_equal(np.ma.getdata(found), np.ma.getdata(expected))
    assert strile.sample(path, []).shape == (0, 2)


@pytest.mark.parametrize("system", ["EPSG:4326", 3857, "EPSG:32634"])
def test_samples_at_points_of_another_system(tmp_path: Path, system: str | int) -> None:
    pyproj = pytest.importorskip("pyproj")
    path = made(tmp_path / "a.tif", noise("int16"), nodata=-5)
    xs, ys = RNG.uniform(499900, 503000, 500), RNG.uniform(4597700, 4600100, 500)
    with rasterio.open(path) as theirs:
        own = theirs.crs.to_wkt()
    there = np.stack(pyproj.Transformer.from_crs(own, system, always_xy=True).transform(xs, ys), axis=1)
    expected = strile.sample(path, np.stack([xs, ys], axis=1), masked=True)
    for crs in (system, pyproj.CRS(system)):
        found = strile.sample(path, there, masked=True, crs=crs)
        # Places on an edge between pixels aside, which 500 points do not meet.
        assert np.array_equal(np.ma.getmaskarray(found), np.ma.getmaskarray(expected))
        assert np.array_equal(np.ma.getdata(found), np.ma.getdata(expected))
    (first, *_) = strile.open(path).sample(there, crs=system)
    assert np.array_equal(first, np.ma.getdata(expected)[0])
    # A point that the projection of the file has no place for is outside.
    assert strile.sample(path, [(0.0, 97.0)], masked=True, crs=4326).mask.all()
    with pytest.raises(strile.StrileError, match="crs|reference system"):
        strile.sample(path, [(0.0, 0.0)], crs="EPSG:1")
    with rasterio.open(tmp_path / "b.tif", "w", driver="GTiff", width=2, height=2, count=1, dtype="uint8") as file:
        file.write(np.ones((1, 2, 2), "uint8"))
    with pytest.raises(strile.StrileError, match="no reference system"):
        strile.sample(tmp_path / "b.tif", [(0.0, 0.0)], crs=4326)


@pytest.mark.parametrize("resampling", ["nearest", "average"])
@pytest.mark.parametrize("case", ["uint8", "mask", "strips"])
def test_rebuilt_overviews_are_gdals(tmp_path: Path, resampling: str, case: str) -> None:
    """GDAL reads every level that strile made, also after a rebuild, and computes the same."""
    # Levels of GDAL are scaled where sides cannot be halved; strile halves them.
    rows, columns = 208, 320
    smooth = np.add.outer(np.arange(rows), np.arange(columns))[None].astype(np.uint8)
    some = np.add.outer(np.arange(rows) // 40, np.arange(columns) // 40) % 3 > 0
    layout = {} if case == "strips" else {"tiled": True, "blockxsize": 64, "blockysize": 64}
    mask = (lambda file: file.write_mask(some)) if case == "mask" else None
    ours = made(tmp_path / "ours.tif", smooth, mask, **layout)
    theirs = made(tmp_path / "theirs.tif", smooth, mask, **layout)
    strile.add_overviews(ours, count=1, resampling="mode")
    before = ours.stat().st_size
    with pytest.raises(strile.StrileError, match="rebuild"):
        strile.add_overviews(ours, levels=[2, 4], resampling=resampling)
    strile.add_overviews(ours, levels=[2, 4], resampling=resampling, rebuild=True)
    assert ours.stat().st_size > before
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(theirs, "r+") as file:
        file.build_overviews([2, 4], Resampling[resampling])
    with rasterio.open(ours) as file:
        assert file.overviews(1) == [2, 4]
        assert np.array_equal(file.read(), smooth)
        if case == "mask":
            assert np.array_equal(file.dataset_mask(), np.where(some, 255, 0))
    for level in (0, 1):
        with rasterio.open(ours, overview_level=level) as mine, rasterio.open(theirs, overview_level=level) as other:
            assert mine.shape == other.shape
            valid = other.dataset_mask() > 0
            if case == "mask":
                assert np.array_equal(mine.dataset_mask() > 0, valid)
            apart = np.abs(mine.read().astype(int) - other.read())[0][valid & (mine.dataset_mask() > 0)]
            assert apart.max() <= (0 if resampling == "nearest" else 1)
    assert strile.remove_overviews(ours) == 2
    with rasterio.open(ours) as file:
        assert file.overviews(1) == [] and np.array_equal(file.read(), smooth)
        if case == "mask":
            assert np.array_equal(file.dataset_mask(), np.where(some, 255, 0))


@pytest.mark.parametrize("bigtiff", [False, True])
@pytest.mark.parametrize("byteorder", ["<", ">"])
def test_overviews_in_sub_directories_are_replaced(tmp_path: Path, bigtiff: bool, byteorder: str) -> None:
    """The first directory names them, so that it is copied without the names; tifffile and GDAL read the result."""
    tifffile = pytest.importorskip("tifffile")
    full = noise("uint16", 1, (96, 128))[0]
    path = tmp_path / "a.tif"
    with tifffile.TiffWriter(path, bigtiff=bigtiff, byteorder=byteorder) as file:
        file.write(full, subifds=1, tile=(32, 32), description="kept", metadata=None)
        file.write(full[::2, ::2], subfiletype=1, tile=(32, 32), metadata=None)
        file.write(full[:10, :20], tile=(16, 16), metadata=None)
    before = path.read_bytes()
    assert strile.open(path).overviews() == [2]
    strile.add_overviews(path, levels=[2, 4], resampling="nearest", rebuild=True)
    after = path.read_bytes()
    with tifffile.TiffFile(path) as file:
        assert file.pages[0].subifds is None and file.pages[0].description == "kept"
        assert np.array_equal(file.pages[0].asarray(), full)
        assert [page.shape for page in file.pages] == [(96, 128), (48, 64), (24, 32), (10, 20)]
        assert np.array_equal(file.pages[3].asarray(), full[:10, :20])
    with rasterio.open(path) as file:
        assert file.overviews(1) == [2, 4] and np.array_equal(file.read(1), full)
    # Until the header's pointer is changed, the old file is read.
    changed = [at for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new]
    assert changed and changed[-1] < 16
    path.write_bytes(before + after[len(before) :])
    assert strile.open(path).overviews() == [2]
    path.write_bytes(before)
    assert strile.remove_overviews(path) == 1
    with tifffile.TiffFile(path) as file:
        assert [page.shape for page in file.pages] == [(96, 128), (10, 20)]


def test_overviews_that_are_there_or_not_needed(tmp_path: Path) -> None:
    path = made(tmp_path / "a.tif", noise("uint8", 1))
    before = path.read_bytes()
    strile.add_overviews(path)
    assert path.read_bytes() == before
    strile.add_overviews(path, levels=[2])
    after = path.read_bytes()
    strile.add_overviews(path, levels=[2])
    assert path.read_bytes() == after
    with pytest.raises(strile.StrileError, match="powers of two"):
        strile.add_overviews(path, levels=[3], rebuild=True)


@pytest.mark.parametrize("dtype", TYPES)
def test_shades_are_percentiles(dtype: str) -> None:
    """The stretch from the 2nd to the 98th percentile as numpy computes it."""
    imagecodecs = pytest.importorskip("imagecodecs")
    band = noise(dtype, 1)[0]
    valid = np.isfinite(band.astype(np.float64)) & (np.arange(band.size).reshape(band.shape) % 7 > 0)
    if dtype == "uint8":
        band = band // 2
    picture = imagecodecs.png_decode(strile._core.picture(band.tobytes(), dtype, valid.tobytes(), band.shape))
    found = picture[..., 0]
    assert np.array_equal(picture[..., 1] == 255, valid)
    low, high = np.percentile(band[valid].astype(np.float64), [2, 98])
    values = np.where(valid, band, band[valid][0]).astype(np.float64)
    expected = np.clip((values - low) / (high - low) * 255.0 + 0.5, 0, 255).astype(np.uint8)
    assert np.abs(found.astype(int) - expected)[valid].max() <= 1
    assert (found == expected)[valid].mean() > 0.999
    assert not found[~valid].any()


def test_alpha_is_what_the_file_says(tmp_path: Path) -> None:
    pixels = noise("uint8", 4)
    path = made(tmp_path / "a.tif", pixels, photometric="minisblack")
    with rasterio.open(path) as file:
        assert ColorInterp.alpha not in file.colorinterp
    assert strile.info(path, stats=True)["figures"][0]["statistics"]["missing"] == 0
