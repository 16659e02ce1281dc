"""VRTs that xarray-spatial refuses or reads otherwise: strile reads them as GDAL does. `docs/python/coming-from-xarray-spatial.md` lists them."""

import numpy as np
import pytest
import rasterio
import strile
from rasterio.transform import from_origin

PIXELS = np.arange(16, dtype=np.float32).reshape(4, 4)


def made(path, values=PIXELS, crs="EPSG:4326", **profile):
    with rasterio.open(
        path, "w", driver="GTiff", width=4, height=4, count=1, dtype=values.dtype, crs=crs, transform=from_origin(0, 4, 1, 1), **profile
    ) as file:
        file.write(values[None])
    return path.name


def source(name, *, kind="SimpleSource", src=(0, 0, 4, 4), dst=(0, 0, 4, 4), more=""):
    def rect(word, sides):
        return '<{} xOff="{}" yOff="{}" xSize="{}" ySize="{}"/>'.format(word, *sides)

    named = f'<SourceFilename relativeToVRT="1">{name}</SourceFilename><SourceBand>1</SourceBand>'
    return f"<{kind}>{named}{rect('SrcRect', src)}{rect('DstRect', dst)}{more}</{kind}>"


def vrt(path, sources, *, width=4, srs="", dtype="Float32", nodata=""):
    band = f'<VRTRasterBand dataType="{dtype}" band="1">{nodata}{"".join(sources)}</VRTRasterBand>'
    path.write_text(
        f'<VRTDataset rasterXSize="{width}" rasterYSize="4">{srs}<GeoTransform>0, 1, 0, 4, 0, -1</GeoTransform>{band}</VRTDataset>'
    )
    return str(path)


def check(path, **words):
    with rasterio.open(path) as file:
        expected = file.read(1, masked=words.get("masked", False))
    found = strile.open_geotiff(path, **words)
    wanted = expected.filled(np.nan) if words.get("masked") else expected
    assert np.array_equal(found.values, wanted, equal_nan=True)
    assert np.array_equal(strile.open_geotiff(path, chunks=3, **words).values, wanted, equal_nan=True)
    return found


@pytest.mark.parametrize("value", ["0", "0.0", "3"])
@pytest.mark.parametrize("kind", ["SimpleSource", "ComplexSource"])
@pytest.mark.parametrize("nodata", ["", "<NoDataValue>9</NoDataValue>"])
def test_the_nodata_of_a_source_counts_in_complex_sources_alone(tmp_path, value, kind, nodata):
    name = made(tmp_path / "a.tif")
    path = vrt(tmp_path / "a.vrt", [source(name, kind=kind, more=f"<NODATA>{value}</NODATA>")], nodata=nodata)
    missing = int(np.isnan(check(path, masked=True).values).sum())
    # The pixel 9, and the transparent one, which the nodata value of the band fills.
    assert missing == (0 if not nodata else 1 if kind == "SimpleSource" else 2)


@pytest.mark.parametrize("src", [(-2, 0, 4, 4), (0, -3, 4, 4), (-1, -1, 4, 4)])
def test_a_source_that_reaches_beyond_its_file_leaves_a_gap(tmp_path, src):
    path = vrt(tmp_path / "a.vrt", [source(made(tmp_path / "a.tif", PIXELS + 1), src=src)])
    assert (check(path).values == 0).any()


def test_a_vrt_without_a_reference_system_has_none(tmp_path):
    names = [made(tmp_path / "a.tif"), made(tmp_path / "b.tif", PIXELS + 100, crs="EPSG:3857")]
    path = vrt(tmp_path / "a.vrt", [source(names[0]), source(names[1], dst=(4, 0, 4, 4))], width=8)
    found = check(path)
    assert "crs" not in found.attrs and found.attrs["georef_status"] == strile.GEOREF_STATUS_TRANSFORM_ONLY
    with pytest.raises(strile.VRTUnsupportedError, match="b.tif.*EPSG:3857.*EPSG:4326|b.tif.*3857"):
        strile.open_geotiff(vrt(tmp_path / "b.vrt", [source(name) for name in names], srs="<SRS>EPSG:4326</SRS>"))


def test_a_vrt_of_a_vrt_and_of_complex_numbers(tmp_path):
    name = made(tmp_path / "a.tif", (PIXELS + 2j).astype(np.complex64))
    inner = vrt(tmp_path / "a.vrt", [source(name)], dtype="CFloat32")
    assert check(inner).dtype == np.complex64
    check(vrt(tmp_path / "b.vrt", [source("a.vrt")], dtype="CFloat32"))


def test_the_limit_of_a_lazy_read_is_that_of_a_chunk(tmp_path):
    path = vrt(tmp_path / "a.vrt", [source(made(tmp_path / "a.tif"))])
    assert strile.open_geotiff(path, chunks=2, max_pixels=4).values.shape == (4, 4)
    with pytest.raises(strile.PixelSafetyLimitError):
        strile.open_geotiff(path, max_pixels=4)


def test_a_source_whose_nodata_is_refused_is_not_missing(tmp_path):
    import tifffile

    tifffile.imwrite(tmp_path / "a.tif", np.full((4, 4), 7, np.uint16), extratags=[(42113, "s", 0, "nan", True)])
    path = vrt(tmp_path / "a.vrt", [source("a.tif")], dtype="UInt16")
    for words in ({}, {"chunks": 2}, {"missing_sources": "warn"}):
        with pytest.raises(strile.InvalidIntegerNodataError, match="allow_invalid_nodata=True"):
            strile.open_geotiff(path, **words)
        assert (strile.open_geotiff(path, allow_invalid_nodata=True, **words).values == 7).all()


def test_arrays_with_bands_are_written_as_tiles_of_a_vrt(tmp_path):
    pixels = np.arange(2 * 32 * 32, dtype=np.int16).reshape(2, 32, 32)
    path = str(tmp_path / "a.vrt")
    strile.to_geotiff(pixels, path, dims=("band", "y", "x"), crs=4326, transform=(1, 0, 0, 0, -1, 32), tile_size=16)
    with rasterio.open(path) as file:
        assert np.array_equal(file.read(), pixels)
