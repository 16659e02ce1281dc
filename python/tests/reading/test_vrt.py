"""Mosaics: values against rasterio, holes, and what is refused."""

from __future__ import annotations

import os
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
import strile
import xarray as xr

PLACE = "<SRS>EPSG:32633</SRS><GeoTransform>500000, 30, 0, 4000000, 0, -30</GeoTransform>"


def source(name: str, *, column: int = 0, band: int = 1, size: tuple[int, int] = (50, 40)) -> str:
    width, height = size
    return (
        f'<SimpleSource><SourceFilename relativeToVRT="1">{name}</SourceFilename><SourceBand>{band}</SourceBand>'
        f'<SrcRect xOff="0" yOff="0" xSize="{width}" ySize="{height}"/>'
        f'<DstRect xOff="{column}" yOff="0" xSize="{width}" ySize="{height}"/></SimpleSource>'
    )


@pytest.fixture
def mosaic(tmp_path: Path) -> Any:
    def written(
        *bands: tuple[str, str, str], name: str = "made.vrt", width: int = 100, place: str = PLACE
    ) -> Path:
        """Bands of (type, nodata or '', sources)."""
        text = f'<VRTDataset rasterXSize="{width}" rasterYSize="40">{place}'
        for number, (kind, nodata, sources) in enumerate(bands, 1):
            stated = f"<NoDataValue>{nodata}</NoDataValue>" if nodata else ""
            text += f'<VRTRasterBand dataType="{kind}" band="{number}">{stated}{sources}</VRTRasterBand>'
        path = tmp_path / name
        path.write_text(text + "</VRTDataset>")
        return path

    return written


@pytest.fixture
def tiles(gtiff: Any, pixels: np.ndarray) -> np.ndarray:
    for i, name in enumerate(("a.tif", "b.tif")):
        place = (30, 0, 500000 + i * 1500, 0, -30, 4000000)
        gtiff(pixels + i, name=name, crs="EPSG:32633", transform=place)
    return np.hstack([pixels, pixels + 1])


@pytest.mark.parametrize("keywords", [{}, {"window": (5, 30, 33, 77)}], ids=str)
def test_equals_rasterio(read: Any, mosaic: Any, tiles: np.ndarray, keywords: dict[str, Any]) -> None:
    path = mosaic(("Byte", "", source("a.tif") + source("b.tif", column=50)))
    array = read(path, **keywords)
    row, column, row1, column1 = keywords.get("window", (0, 0, 40, 100))
    with rasterio.open(path) as file:
        np.testing.assert_array_equal(array.values, file.read(1)[row:row1, column:column1])
    np.testing.assert_array_equal(array.values, tiles[row:row1, column:column1])
    assert array.attrs["crs"] == 32633
    assert array.attrs["transform"][:2] == (30.0, 0.0)
    assert array.name == "made"
    assert "vrt_holes" not in array.attrs


def test_box_and_bands(read: Any, mosaic: Any, tiles: np.ndarray) -> None:
    path = mosaic(("Byte", "", source("a.tif")), ("Byte", "", source("b.tif")), width=50)
    array = read(path)
    assert array.dims == ("y", "x", "band")
    np.testing.assert_array_equal(array.values[..., 1], tiles[:, 50:])
    np.testing.assert_array_equal(read(path, band=1).values, tiles[:, 50:])
    assert read(path, bbox=(500000, 3999940, 500090, 4000000)).shape == (2, 3, 2)
    with pytest.raises(ValueError, match="band is 2"):
        read(path, band=2)


def test_masked_integers(mosaic: Any, tiles: np.ndarray) -> None:
    path = mosaic(("Byte", "7", source("a.tif")), width=50)
    lazy = strile.open_geotiff(path, masked=True, chunks=16)
    eager = strile.open_geotiff(path, masked=True)
    assert eager.dtype == lazy.dtype == np.float64
    np.testing.assert_array_equal(eager.values, lazy.values)
    np.testing.assert_array_equal(eager.values, np.where(tiles[:, :50] == 7, np.nan, tiles[:, :50]))
    # An eager mosaic without a hit stays as it is.
    path = mosaic(("Byte", "254", source("a.tif")), width=50, name="other.vrt")
    unhit = strile.open_geotiff(path, masked=True)
    assert unhit.dtype == np.uint8
    assert unhit.attrs["masked_nodata"] is False


def test_bands_that_differ_in_nodata(read: Any, mosaic: Any, tiles: np.ndarray) -> None:
    path = mosaic(("Byte", "7", source("a.tif")), ("Byte", "9", source("a.tif")), width=50)
    with pytest.raises(strile.MixedBandMetadataError):
        read(path)
    array = read(path, band_nodata="first", masked=True)
    assert array.attrs["nodata"] == 7
    for band, value in enumerate((7, 9)):
        np.testing.assert_array_equal(np.isnan(array.values[..., band]), tiles[:, :50] == value)


@pytest.mark.parametrize("route", [{}, {"chunks": 16}], ids=str)
def test_missing_sources(mosaic: Any, tiles: np.ndarray, route: dict[str, Any], tmp_path: Path) -> None:
    path = mosaic(("Float32", "", source("a.tif") + source("nowhere.tif", column=50)))
    with pytest.raises(FileNotFoundError, match="nowhere.tif"):
        strile.open_geotiff(path, **route)
    # A window without it is whole.
    strile.open_geotiff(path, window=(0, 0, 40, 50), **route).load()
    with pytest.warns(strile.GeoTIFFFallbackWarning, match="nowhere.tif"):
        array = strile.open_geotiff(path, missing_sources="warn", **route).load()
    (hole,) = array.attrs["vrt_holes"]
    assert hole["source"] == str(tmp_path / "nowhere.tif")
    assert hole["band"] == 1
    assert hole["dst_rect"] == (50, 0, 50, 40)
    assert np.isnan(array.values[:, 50:]).all()
    np.testing.assert_array_equal(array.values[:, :50], tiles[:, :50])


def test_strict_mode_allows_no_holes(mosaic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRILE_GEOTIFF_STRICT", "1")
    path = mosaic(("Byte", "", source("nowhere.tif")), width=50)
    with pytest.raises(FileNotFoundError):
        strile.open_geotiff(path, missing_sources="warn")


def test_sources_elsewhere_are_refused(
    read: Any, mosaic: Any, gtiff: Any, pixels: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    inside = tmp_path / "inside"
    inside.mkdir()
    gtiff(pixels, name="outside/a.tif", crs="EPSG:32633", transform=(30, 0, 500000, 0, -30, 4000000))
    relative = mosaic(("Byte", "", source("../outside/a.tif")), width=50, name="inside/relative.vrt")
    text = source(str(outside / "a.tif")).replace('relativeToVRT="1"', 'relativeToVRT="0"')
    absolute = mosaic(("Byte", "", text), width=50, name="inside/absolute.vrt")
    (inside / "link.tif").symlink_to(outside / "a.tif")
    linked = mosaic(("Byte", "", source("link.tif")), width=50, name="inside/linked.vrt")
    for path in (relative, absolute, linked):
        with pytest.raises(strile.VRTUnsupportedError):
            read(path)
    monkeypatch.setenv("STRILE_VRT_ALLOWED_ROOTS", str(outside))
    for path in (relative, absolute, linked):
        np.testing.assert_array_equal(read(path).values, pixels)


def test_sources_elsewhere_are_allowed_by_keyword(
    read: Any, mosaic: Any, gtiff: Any, pixels: np.ndarray, tmp_path: Path
) -> None:
    """Python had no way to allow them but the environment."""
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    gtiff(pixels, name="outside/a.tif", crs="EPSG:32633", transform=(30, 0, 500000, 0, -30, 4000000))
    path = mosaic(("Byte", "", source("../outside/a.tif")), width=50, name="inside/relative.vrt")
    for keywords in ({"allow_outside": True}, {"allowed_roots": [outside]}, {"allowed_roots": (str(tmp_path),)}):
        np.testing.assert_array_equal(read(path, **keywords).values, pixels)
        np.testing.assert_array_equal(strile.open(path, **keywords).read(1), pixels)
        np.testing.assert_array_equal(strile.read(path, **keywords).numpy()[0], pixels)
        assert strile.plan(path, **keywords).explain()
        with xr.open_dataset(path, engine="strile", **keywords) as opened:
            np.testing.assert_array_equal(opened["band_data"].values[0], pixels)
        handle = pickle.loads(pickle.dumps(strile.open(path, **keywords)))
        np.testing.assert_array_equal(handle.read(1), pixels)
    with pytest.raises(strile.VRTUnsupportedError, match="allowed_roots"):
        read(path, allowed_roots=[inside])
    with pytest.raises(ValueError, match="apply to a VRT"):
        read(outside / "a.tif", allow_outside=True)
    with pytest.raises(TypeError, match="a list of folders"):
        read(path, allowed_roots=str(outside))


def test_tiles_that_were_replaced_are_read_anew(mosaic: Any, gtiff: Any, pixels: np.ndarray, tmp_path: Path) -> None:
    """A mosaic gave the pixels of a tile that had been replaced."""
    place = (30, 0, 500000, 0, -30, 4000000)
    first = gtiff(pixels, name="a.tif", crs="EPSG:32633", transform=place)
    path = mosaic(("Byte", "", source("a.tif")), width=50)
    handle, tile = strile.open(path), strile.open(first)
    lazy = strile.open_geotiff(path, chunks=16)
    np.testing.assert_array_equal(handle.read(1), pixels)
    state = os.stat(first)
    other = gtiff(255 - pixels, name="b.tif", crs="EPSG:32633", transform=place)
    os.utime(other, ns=(state.st_atime_ns, state.st_mtime_ns))
    os.replace(other, first)
    assert os.stat(first).st_size == state.st_size and os.stat(first).st_mtime_ns == state.st_mtime_ns
    np.testing.assert_array_equal(handle.read(1), 255 - pixels)
    np.testing.assert_array_equal(lazy.values, 255 - pixels)
    np.testing.assert_array_equal(strile.open_geotiff(first).values, 255 - pixels)
    # A handle is of the file that was opened: pickled, it does not become one of another.
    with pytest.raises(ValueError, match="has changed since it was opened"):
        pickle.loads(pickle.dumps(tile))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes of POSIX")
def test_named_pipes_are_refused(mosaic: Any, gtiff: Any, pixels: np.ndarray, tmp_path: Path) -> None:
    """`open` of a named pipe waits for a writer, and cannot be interrupted."""
    os.mkfifo(tmp_path / "pipe.tif")
    os.mkfifo(tmp_path / "pipe.vrt")
    path = mosaic(("Byte", "", source("pipe.tif")), width=50)
    for name in (path, tmp_path / "pipe.vrt", tmp_path / "pipe.tif"):
        for call in (strile.open_geotiff, strile.read):
            with pytest.raises((OSError, ValueError), match="expected a regular file, got a named pipe"):
                call(name)
    # Beside a file it is passed over.
    gtiff(pixels, name="a.tif")
    os.mkfifo(tmp_path / "a.tif.aux.xml")
    with pytest.warns(RuntimeWarning, match="named pipe"):
        np.testing.assert_array_equal(strile.open_geotiff(tmp_path / "a.tif").values, pixels)


def test_the_size_is_checked_before_the_text_is_read(tmp_path: Path) -> None:
    """A VRT was read whole before its size was checked."""
    path = tmp_path / "large.vrt"
    with path.open("wb") as file:
        file.write(b"<VRTDataset>")
        file.truncate(1 << 40)
    for call in (strile.open_geotiff, strile.read):
        with pytest.raises(ValueError, match="STRILE_VRT_MAX_XML_BYTES"):
            call(path)


def test_deeply_nested_mosaics_are_refused(mosaic: Any, tiles: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six levels of 12 sources took a minute, eight would have taken hours."""
    below = "a.tif"
    for level in range(6):
        below = mosaic(("Byte", "", source(below) * 12), width=50, name=f"{level}.vrt").name
    path = mosaic(("Byte", "", source(below)), width=50)
    with pytest.raises(ValueError, match="STRILE_VRT_MAX_WORK"):
        strile.open_geotiff(path)
    path = mosaic(("Byte", "", source("a.tif") * 3), width=50)
    monkeypatch.setenv("STRILE_VRT_MAX_WORK", "100")
    np.testing.assert_array_equal(strile.open_geotiff(path).values, tiles[:, :50])
    with pytest.raises(ValueError, match="STRILE_VRT_MAX_WORK"):
        strile.open_geotiff(path, window=(0, 0, 1, 1))


@pytest.mark.parametrize(
    ("bands", "error"),
    [
        ((), strile.VRTUnsupportedError),
        ((("Byte", "", ""), ("Int16", "", "")), strile.MixedBandMetadataError),
        ((("Strange", "", source("a.tif")),), ValueError),
    ],
)
def test_refused(read: Any, mosaic: Any, tiles: np.ndarray, bands: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        read(mosaic(*bands, width=50))


def test_document_types_and_size(
    read: Any, mosaic: Any, tiles: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = mosaic(("Byte", "", source("a.tif")), width=50)
    path.write_text("<!DOCTYPE x>" + path.read_text())
    with pytest.raises(ValueError, match="document type"):
        read(path)
    path = mosaic(("Byte", "", source("a.tif")), width=50, name="large.vrt")
    monkeypatch.setenv("STRILE_VRT_MAX_XML_BYTES", "100")
    with pytest.raises(ValueError, match="STRILE_VRT_MAX_XML_BYTES"):
        read(path)


def test_another_reference_system_is_refused(read: Any, mosaic: Any, gtiff: Any, pixels: np.ndarray) -> None:
    gtiff(pixels, name="a.tif", crs="EPSG:3857", transform=(30, 0, 500000, 0, -30, 4000000))
    with pytest.raises(strile.VRTUnsupportedError, match="3857"):
        read(mosaic(("Byte", "", source("a.tif")), width=50))


def test_rotated_mosaics(read: Any, mosaic: Any, gtiff: Any, pixels: np.ndarray) -> None:
    gtiff(pixels, name="a.tif")
    place = "<GeoTransform>5, 1, 0.2, 9, 0.1, -1</GeoTransform>"
    path = mosaic(("Byte", "", source("a.tif")), width=50, place=place)
    with pytest.raises(strile.RotatedTransformError):
        read(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        array = read(path, allow_rotated=True)
    assert array.attrs["rotated_affine"] == (1, 0.2, 5, 0.1, -1, 9)


def test_a_band_of_its_own_type(read: Any, mosaic: Any, gtiff: Any, pixels: np.ndarray) -> None:
    place = (30, 0, 500000, 0, -30, 4000000)
    gtiff(pixels, name="a.tif", crs="EPSG:32633", transform=place)
    gtiff(pixels + np.float32(0.25), name="f.tif", crs="EPSG:32633", transform=place)
    path = mosaic(("Byte", "", source("a.tif")), ("Float32", "", source("f.tif")), width=50)
    for band, expected in enumerate((pixels, pixels + np.float32(0.25))):
        array = read(path, band=band)
        assert array.dtype == expected.dtype
        np.testing.assert_array_equal(array.values, expected)


def scaled(name: str, ratio: str | None, offset: str | None) -> str:
    parts = (("ScaleOffset", offset), ("ScaleRatio", ratio))
    inner = "".join(f"<{tag}>{text}</{tag}>" for tag, text in parts if text is not None)
    text = source(name).replace("SimpleSource", "ComplexSource")
    return text.replace("</ComplexSource>", inner + "</ComplexSource>")


@pytest.mark.parametrize(("ratio", "offset"), [("0.1", "-3.7"), ("2.5", None), (None, "1000")])
@pytest.mark.parametrize("kind", ["Byte", "Int32", "Float32"])
def test_scaled_values_are_floats(
    read: Any, mosaic: Any, tiles: np.ndarray, kind: str, ratio: str | None, offset: str | None
) -> None:
    plain = tiles[:, :50]
    expected = plain * float(ratio or 1) + float(offset or 0)
    path = mosaic((kind, "", scaled("a.tif", ratio, offset)), (kind, "", source("a.tif")), width=50)
    both = read(path)
    assert both.dtype == np.float64
    np.testing.assert_allclose(both.values[..., 0], expected, rtol=1e-15)
    np.testing.assert_array_equal(both.values[..., 1], plain)
    np.testing.assert_allclose(read(path, band=0).values, expected, rtol=1e-15)
    # The band that is not scaled keeps its type, and so does one that is scaled by nothing.
    unscaled = mosaic((kind, "", scaled("a.tif", "1", "0.0")), width=50, name="one.vrt")
    types = {"Byte": np.uint8, "Int32": np.int32, "Float32": np.float32}
    for array in (read(path, band=1), read(unscaled)):
        assert array.dtype == types[kind]
        np.testing.assert_array_equal(array.values, plain)


def test_parents_that_stay_in_the_folder(
    read: Any, mosaic: Any, gtiff: Any, pixels: np.ndarray, tmp_path: Path
) -> None:
    place = (30, 0, 500000, 0, -30, 4000000)
    for folder in ("in", "in/deep", "out", "out/deep"):
        (tmp_path / folder).mkdir()
    gtiff(pixels, name="in/a.tif", crs="EPSG:32633", transform=place)
    gtiff(pixels, name="out/a.tif", crs="EPSG:32633", transform=place)
    (tmp_path / "in/link").symlink_to(tmp_path / "out/deep")
    for name in ("deep/../a.tif", "../in/a.tif", "deep/../../in/deep/../a.tif"):
        path = mosaic(("Byte", "", source(name)), width=50, name="in/made.vrt")
        np.testing.assert_array_equal(read(path).values, pixels)
    # The parent of a link is where the link leads to. That nothing is there is not told of what is outside.
    for name in ("../out/a.tif", "link/../a.tif", "../out/nowhere.tif", "../../../../../../../etc/passwd"):
        path = mosaic(("Byte", "", source(name)), width=50, name="in/other.vrt")
        with pytest.raises(strile.VRTUnsupportedError):
            read(path, missing_sources="warn")


def damage(path: Path, how: str) -> None:
    raw = path.read_bytes()
    path.write_bytes(b"no image at all" if how == "header" else raw[: len(raw) - 700])


@pytest.mark.parametrize("how", ["header", "pixels"])
@pytest.mark.parametrize(("kind", "nodata"), [("Byte", "9"), ("Byte", ""), ("Float32", "9")])
def test_damaged_sources_leave_holes(
    read: Any, mosaic: Any, tiles: np.ndarray, tmp_path: Path, how: str, kind: str, nodata: str
) -> None:
    damage(tmp_path / "b.tif", how)
    laid = source("a.tif") + source("b.tif", column=50) + source("a.tif", column=80)
    path = mosaic((kind, nodata, laid), width=150)
    with pytest.raises(ValueError, match=r"b\.tif"):
        read(path)
    with pytest.warns(strile.GeoTIFFFallbackWarning, match=r"b\.tif"):
        array = read(path, missing_sources="warn")
    empty = np.nan if kind == "Float32" else 0
    expected = np.full((40, 150), 9 if nodata else 0, dtype=array.dtype)
    expected[:, 50:100] = empty
    expected[:, :50] = expected[:, 80:130] = tiles[:, :50]
    np.testing.assert_array_equal(array.values, expected)
    # Only decoding finds damaged pixels: of lazy arrays the warning at compute tells.
    if "vrt_holes" in array.attrs or how == "header":
        (hole,) = array.attrs["vrt_holes"]
        assert hole["source"] == str(tmp_path / "b.tif")
        assert hole["dst_rect"] == (50, 0, 50, 40)
        assert "b.tif" in hole["error"]


def test_damage_that_a_read_meets_is_listed(mosaic: Any, tiles: np.ndarray, tmp_path: Path) -> None:
    damage(tmp_path / "b.tif", "pixels")
    path = mosaic(("Byte", "", source("a.tif") + source("b.tif", column=50)))
    with pytest.warns(strile.GeoTIFFFallbackWarning):
        (hole,) = strile.open_geotiff(path, missing_sources="warn").attrs["vrt_holes"]
    assert hole["source"].endswith("b.tif")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        array = strile.open_geotiff(path, missing_sources="warn", window=(0, 0, 40, 50))
    assert "vrt_holes" not in array.attrs


@pytest.mark.parametrize(
    ("name", "refused"), [("bilinear", True), ("Cubic", True), ("NearestNeighbour", False), ("", False)]
)
def test_resampling_that_is_named(
    read: Any, mosaic: Any, tiles: np.ndarray, name: str, refused: bool
) -> None:
    named = source("a.tif").replace("</SimpleSource>", f"<ResampleAlg>{name}</ResampleAlg></SimpleSource>")
    same = mosaic(("Byte", "", named), width=50)
    np.testing.assert_array_equal(read(same).values, tiles[:, :50])
    half = named.replace('<DstRect xOff="0" yOff="0" xSize="50"', '<DstRect xOff="0" yOff="0" xSize="25"')
    path = mosaic(("Byte", "", half), width=50, name="half.vrt")
    if refused:
        with pytest.raises(strile.VRTUnsupportedError, match=name):
            read(path)
    else:
        with rasterio.open(path) as file:
            np.testing.assert_array_equal(read(path).values, file.read(1))


def test_many_missing_sources_are_named_in_part(mosaic: Any) -> None:
    names = [f"gone{number:02}.tif" for number in range(25)]
    path = mosaic(("Byte", "", "".join(map(source, names))), width=50)
    with pytest.raises(FileNotFoundError, match=r"gone00\.tif.*gone19\.tif and 5 more"):
        strile.open_geotiff(path)
