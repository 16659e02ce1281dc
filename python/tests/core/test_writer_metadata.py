"""What the core's Writer says of a raster: tags, georeference, nodata, names; and keys that are wrong."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
import tifffile
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from strile import _core
from strile.errors import InvalidCRSCodeError, StrileError, UnparseableCRSError

SMALL = {"tile": (16, 16), "compression": "none"}


def write(path: Path, dtype: str = "uint8", bands: int = 1, options: dict[str, Any] = SMALL, **raster: Any) -> dict:
    array = np.zeros((bands, 20, 30), dtype)
    keys = {"width": 30, "height": 20, "bands": bands, "dtype": dtype, **raster}
    writer = _core.Writer(str(path), _core.RasterSpec(**keys), _core.WriteOptions(**options))
    writer.write(array, 0, 0, axes="byx")
    return writer.finish()


def tags(path: Path) -> dict[int, tuple[int, int, int, Any]]:
    return {entry[0]: entry for entry in _core.Dataset.open(str(path)).tags()}


EXTRA = [
    (270, 2, 6, "hello"),
    (305, 2, 4, "\u00e9t"),
    (65000, 1, 3, (1, 2, 255)),
    (65001, 6, 2, (-128, 127)),
    (65002, 7, 4, b"\x00\xff\x01\x02"),
    (65003, 3, 1, 65535),
    (65004, 8, 2, (-32768, 7)),
    (65005, 4, 1, 2**32 - 1),
    (65006, 9, 1, -(2**31)),
    (65007, 11, 2, (0.5, -1.25)),
    (65008, 12, 3, (0.1, math.inf, -0.0)),
    (65009, 10, 2, (-1, 3, 5, -7)),
    (282, 5, 1, (300, 1)),
    (65010, 2, 8, "ab\0cde\0"),
]


@pytest.mark.parametrize("big", ["no", "yes"])
def test_tags_of_every_type_come_back(big: str, tmp_path: Path) -> None:
    extra = EXTRA
    if big == "yes":
        extra = [*EXTRA, (65020, 16, 1, 2**64 - 1), (65021, 17, 2, (-(2**63), 5))]
    write(tmp_path / "a.tif", options={**SMALL, "bigtiff": big}, extra_tags=extra)
    found = tags(tmp_path / "a.tif")
    for entry in extra:
        assert found[entry[0]] == entry
    # And once more, out of what was read.
    write(tmp_path / "b.tif", options={**SMALL, "bigtiff": big}, extra_tags=[found[entry[0]] for entry in extra])
    assert all(tags(tmp_path / "b.tif")[entry[0]] == entry for entry in extra)
    with tifffile.TiffFile(tmp_path / "a.tif") as file:
        stored = {tag.code: tag.value for tag in file.pages[0].tags}
    assert stored[65008][0] == 0.1 and stored[65006] == -(2**31) and stored[282] == (300, 1)
    assert stored[65002] == b"\x00\xff\x01\x02" and stored[65004] == (-32768, 7) and stored[65001] == (-128, 127)


def test_rationals_as_pairs_and_texts_without_a_count(tmp_path: Path) -> None:
    write(tmp_path / "a.tif", extra_tags=[(65000, 5, 2, ((1, 2), (3, 4))), (65001, 2, None, "text")])
    found = tags(tmp_path / "a.tif")
    assert found[65000] == (65000, 5, 2, (1, 2, 3, 4))
    assert found[65001] == (65001, 2, 5, "text")


def test_64_bit_numbers_in_a_classic_file_are_narrowed_or_told(tmp_path: Path) -> None:
    extra = [(65000, 16, 1, 5), (65001, 16, 1, 2**40)]
    report = write(tmp_path / "a.tif", extra_tags=extra)
    assert tags(tmp_path / "a.tif")[65000] == (65000, 4, 1, 5)
    assert 65001 not in tags(tmp_path / "a.tif")
    assert len(report["warnings"]) == 1 and "65001" in report["warnings"][0]


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ((256, 3, 1, 5), "ImageWidth .* is written from"),
        ((324, 4, 1, 5), "TileOffsets"),
        ((33550, 12, 3, (1.0, 1.0, 0.0)), "`transform`"),
        ((34735, 3, 4, (1, 1, 0, 0)), "`crs`"),
        ((42112, 2, 3, "xx"), "`gdal_metadata_xml`"),
        ((42113, 2, 2, "1"), "`nodata`"),
        ((65000, 99, 1, 5), "type 99"),
        ((65000, 3, 1, 65536), "got 65536"),
        ((65000, 3, 2, 5), "1 values and says 2"),
        ((65000, 2, 50_000, "ab"), "says 50000"),
        ((65000, 3, 1, "5"), "got '5'"),
        ((65000, 13, 1, 8), "the writer's"),
        ((65000, 3, 0, ()), "no value"),
        ((65000, 3, 1), "tag, type, count, value"),
        (65000, "tag, type, count, value"),
    ],
)
def test_tags_that_are_refused(entry: Any, says: str, tmp_path: Path) -> None:
    with pytest.raises(StrileError, match=says):
        write(tmp_path / "a.tif", extra_tags=[entry])
    assert not list(tmp_path.iterdir())


def test_a_tag_twice(tmp_path: Path) -> None:
    with pytest.raises(StrileError, match="extra_tags: .*given twice"):
        write(tmp_path / "a.tif", extra_tags=[(65000, 3, 1, 5), (65000, 3, 1, 6)])


NUMBER = st.floats(1e-6, 1e4, allow_subnormal=False)
PLACE = st.floats(-1e7, 1e7, allow_subnormal=False).filter(lambda value: value == 0 or abs(value) > 1e-3)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(a=NUMBER, e=NUMBER, c=PLACE, f=PLACE, turned=st.booleans(), south_up=st.booleans())
def test_a_transform_comes_back_bit_for_bit(
    a: float, e: float, c: float, f: float, turned: bool, south_up: bool, tmp_path: Path
) -> None:
    skew = (a / 3, e / 7) if turned else (0.0, 0.0)
    transform = (a, skew[0], c, skew[1], e if south_up else -e, f)
    write(tmp_path / "a.tif", transform=transform)
    assert _core.Dataset.open(str(tmp_path / "a.tif")).facts["transform"] == transform
    with rasterio.open(tmp_path / "a.tif") as read:
        assert tuple(read.transform)[:6] == transform


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(a=NUMBER, e=NUMBER, c=PLACE, f=PLACE)
@example(a=2.348903378686174, e=1.0, c=1023.0, f=1000.0)
def test_so_does_that_of_points(a: float, e: float, c: float, f: float, tmp_path: Path) -> None:
    transform = (a, 0.0, c, 0.0, -e, f)
    write(tmp_path / "a.tif", transform=transform, area_or_point="point")
    facts = _core.Dataset.open(str(tmp_path / "a.tif")).facts
    assert (facts["transform"], facts["area_or_point"]) == (transform, "point")
    with rasterio.open(tmp_path / "a.tif") as read:
        assert read.tags()["AREA_OR_POINT"] == "Point"
        # GDAL adds half a pixel and takes it away again, which may cost the last bits.
        found = tuple(read.transform)[:6]
        assert found[:2] + found[3:5] == transform[:2] + transform[3:5]
        assert abs(found[2] - c) <= 4 * max(math.ulp(a), math.ulp(c))
        assert abs(found[5] - f) <= 4 * max(math.ulp(e), math.ulp(f))


@pytest.mark.parametrize("north_up", [True, False])
def test_which_tags_hold_a_transform(north_up: bool, tmp_path: Path) -> None:
    write(tmp_path / "a.tif", transform=(2.0, 0.0, 100.5, 0.0, -3.0 if north_up else 3.0, 200.25))
    found = tags(tmp_path / "a.tif")
    if north_up:
        assert found[33550][3] == (2.0, 3.0, 0.0) and found[33922][3] == (0.0, 0.0, 0.0, 100.5, 200.25, 0.0)
    assert (34264 in found) is not north_up


@pytest.mark.parametrize(
    ("dtype", "nodata", "text"),
    [
        ("uint64", 2**64 - 1, str(2**64 - 1)),
        ("int64", -(2**63), str(-(2**63))),
        ("int64", 2**53 + 1, str(2**53 + 1)),
        ("uint8", 255, "255"),
        ("uint8", 255.0, "255"),
        ("float32", -9999, "-9999"),
        ("float64", 0.1, "0.1"),
        ("float32", math.nan, "nan"),
        ("float32", np.float32(1.5), "1.5"),
        ("int16", np.int16(-5), "-5"),
    ],
)
def test_nodata_is_exact(dtype: str, nodata: Any, text: str, tmp_path: Path) -> None:
    write(tmp_path / "a.tif", dtype, nodata=nodata)
    stored = tags(tmp_path / "a.tif")[42113][3]
    assert stored == text or float(stored) == float(text)
    found = _core.Dataset.open(str(tmp_path / "a.tif")).facts["nodata"]
    assert found == nodata or (math.isnan(found) and math.isnan(nodata))
    if dtype.endswith("64") and dtype != "float64":
        assert stored == text and isinstance(found, int)


def test_names_and_meanings_as_gdal_reads_them(tmp_path: Path) -> None:
    write(
        tmp_path / "a.tif",
        "int16",
        2,
        band_descriptions=["red", None],
        band_units=[None, "m"],
        scales=[0.1, None],
        offsets=[5.0, None],
        items=[("WHO", "me & <you>", ""), ("X", "1", "OTHER"), ("OF_BAND", "two", "", 2)],
        crs="EPSG:4326",
    )
    with rasterio.open(tmp_path / "a.tif") as read:
        assert read.descriptions == ("red", None)
        assert read.units[1] == "m"
        assert read.scales == (0.1, 1.0) and read.offsets == (5.0, 0.0)
        assert read.tags()["WHO"] == "me & <you>"
        assert read.tags(ns="OTHER")["X"] == "1"
        assert read.tags(2)["OF_BAND"] == "two"
        assert read.crs.to_epsg() == 4326


XML = '<GDALMetadata>\n  <Item name="A"   sample="0">  kept as it is </Item>\n  <!-- so -->\n</GDALMetadata>\n'


def test_items_as_text_are_written_as_they_are(tmp_path: Path) -> None:
    write(tmp_path / "a.tif", attrs={"gdal_metadata_xml": XML})
    assert tags(tmp_path / "a.tif")[42112][3] == XML


def test_items_as_text_beside_those_of_other_keys(tmp_path: Path) -> None:
    write(tmp_path / "a.tif", attrs={"gdal_metadata_xml": XML}, scales=[2.0], items=[("MORE", "than the text", "")])
    with rasterio.open(tmp_path / "a.tif") as read:
        assert "kept as it is" in read.tags(1)["A"]
        assert read.scales == (2.0,) and read.tags()["MORE"] == "than the text"


def test_items_of_bands_that_are_chosen(tmp_path: Path) -> None:
    """A band that was selected lost its name and scale, or had those of another."""
    text = "".join(
        f'<Item name="DESCRIPTION" sample="{band}" role="description">{name}</Item>'
        f'<Item name="STATISTICS_MAXIMUM" sample="{band}">{band}</Item>'
        for band, name in enumerate(("red", "green", "blue"))
    )
    text = f"<GDALMetadata>{text}</GDALMetadata>"
    write(tmp_path / "a.tif", bands=2, attrs={"gdal_metadata_xml": text}, source_bands=[2, 0], statistics=False)
    with rasterio.open(tmp_path / "a.tif") as read:
        assert read.descriptions == ("blue", "red") and read.tags(1) == {} and read.tags(2) == {}


def test_items_as_text_beside_the_item_that_a_file_needs(tmp_path: Path) -> None:
    options = {**SMALL, "format": "cog", "planar": "separate"}
    write(tmp_path / "a.tif", bands=2, options=options, attrs={"gdal_metadata_xml": XML})
    with rasterio.open(tmp_path / "a.tif") as read:
        assert "kept as it is" in read.tags(1)["A"]
    # Older GDAL has no word for it and shows BAND.
    assert '<Item name="INTERLEAVE" domain="IMAGE_STRUCTURE">TILE</Item>' in tags(tmp_path / "a.tif")[42112][3]


def test_colours(tmp_path: Path) -> None:
    levels = [index * 257 for index in range(256)]
    colormap = [*levels, *reversed(levels), *[257] * 256]
    write(tmp_path / "a.tif", photometric=3, colormap=colormap)
    with rasterio.open(tmp_path / "a.tif") as read:
        assert read.colormap(1)[10] == (10, 245, 1, 255)
    write(tmp_path / "b.tif", bands=4, photometric=2, extra_samples=[2])
    with rasterio.open(tmp_path / "b.tif") as read:
        assert [interpretation.name for interpretation in read.colorinterp] == ["red", "green", "blue", "alpha"]
    write(tmp_path / "c.tif", bands=4, photometric=1, extra_samples=[0, 0, 0])
    assert tags(tmp_path / "c.tif")[338][3] == (0, 0, 0) and tags(tmp_path / "c.tif")[262][3] == 1


@pytest.mark.parametrize("missing", ["width", "height", "bands", "dtype"])
def test_what_has_to_be_said(missing: str) -> None:
    raster = {"width": 5, "height": 5, "bands": 1, "dtype": "uint8"}
    del raster[missing]
    with pytest.raises(TypeError, match=f"'{missing}'"):
        _core.RasterSpec(**raster)


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("width", 0, StrileError),
        ("width", 2**32, StrileError),
        ("width", "5", TypeError),
        ("width", True, TypeError),
        ("height", -1, StrileError),
        ("height", 2.5, TypeError),
        ("bands", 0, StrileError),
        ("dtype", "float128", StrileError),
        ("dtype", 5, TypeError),
        ("mask", "yes", TypeError),
        ("photometric", -1, StrileError),
        ("extra_samples", [7], StrileError),
        ("colormap", [(1, 2)], TypeError),
        ("colormap", [70000], StrileError),
        ("nodata", 256, StrileError),
        ("nodata", math.nan, StrileError),
        ("nodata", 1.5, StrileError),
        ("nodata", "5", TypeError),
        ("nodata", True, TypeError),
        ("transform", (1, 2, 3), TypeError),
        ("area_or_point", "pixel", StrileError),
        ("band_descriptions", ["a", "b"], StrileError),
        ("band_descriptions", "a", TypeError),
        ("scales", ["a"], TypeError),
        ("items", [("a", "b", "", 2)], StrileError),
        ("items", [("a",)], TypeError),
        ("attrs", [5], TypeError),
        ("categories", [1], TypeError),
        ("of_no_use", 1, TypeError),
    ],
)
def test_a_wrong_key_of_the_raster_is_named(key: str, value: Any, error: type) -> None:
    raster = {"width": 5, "height": 5, "bands": 1, "dtype": "uint8", key: value}
    with pytest.raises(error, match=key):
        _core.RasterSpec(**raster)


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("format", "png", StrileError),
        ("compression", "zip", StrileError),
        ("compression", 8, TypeError),
        ("level", "high", TypeError),
        ("quality", 300, StrileError),
        ("lossless", "no", TypeError),
        ("max_error", "1", TypeError),
        ("predictor", 4, StrileError),
        ("predictor", None, None),
        ("predictor", True, TypeError),
        ("tile", 256, TypeError),
        ("tile", (16,), TypeError),
        ("planar", "both", StrileError),
        ("sparse", 1, TypeError),
        ("bigtiff", "maybe", StrileError),
        ("bigtiff", True, TypeError),
        ("overviews", "many", StrileError),
        ("overviews", -1, StrileError),
        ("overviews", 1.5, TypeError),
        ("overviews", [4, 2], StrileError),
        ("overviews", [6], StrileError),
        ("overviews", [1 << 40], StrileError),
        ("overviews", [2.0], TypeError),
        ("overviews", [16], StrileError),
        ("resampling", "best", StrileError),
        ("buffer", -1, StrileError),
        ("encode_on", "tpu", ValueError),
        ("of_no_use", 1, TypeError),
    ],
)
def test_a_wrong_key_of_the_options_is_named(key: str, value: Any, error: type | None, tmp_path: Path) -> None:
    raster = _core.RasterSpec(width=5, height=5, bands=1, dtype="uint8")
    if error is None:
        _core.Writer(str(tmp_path / "a.tif"), raster, _core.WriteOptions(**{key: value})).abort()
    else:
        with pytest.raises(error, match=key):
            _core.Writer(str(tmp_path / "a.tif"), raster, _core.WriteOptions(**{key: value}))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options",
    [
        {"tile": (17, 16)},
        {"tile": (16, 16), "strip_rows": 4},
        {"compression": "deflate", "level": 99},
        {"compression": "none", "level": 1},
        {"predictor": 3, "compression": "deflate"},
        {"max_error": 1.0, "compression": "zstd"},
        {"format": "cog", "strip_rows": 16},
    ],
)
def test_options_that_contradict_each_other_leave_nothing(options: dict[str, Any], tmp_path: Path) -> None:
    raster = _core.RasterSpec(width=5, height=5, bands=1, dtype="uint8")
    with pytest.raises(StrileError):
        _core.Writer(str(tmp_path / "a.tif"), raster, _core.WriteOptions(**options))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("resampling", ["nearest", "average", "mean", "min", "max", "median", "mode", "cubic", "rms"])
def test_ways_to_reduce(resampling: str, tmp_path: Path) -> None:
    write(tmp_path / "a.tif", options={**SMALL, "overviews": 1, "resampling": resampling})
    with rasterio.open(tmp_path / "a.tif") as read:
        assert read.overviews(1) == [2]


def test_reference_systems() -> None:
    utm = _core.crs(32633)
    assert (utm["epsg"], utm["kind"], utm["name"]) == (32633, "projected", "WGS 84 / UTM zone 33N")
    assert _core.crs("EPSG:32633")["epsg"] == _core.crs(utm["wkt"])["epsg"] == 32633
    assert _core.crs(4326)["kind"] == "geographic" and _core.crs(4978)["kind"] == "geocentric"
    assert _core.crs("+proj=utm +zone=33 +datum=WGS84")["epsg"] == 32633
    assert _core.crs("EPSG:32633+5773")["kind"] == "compound" and _core.crs(5773)["kind"] == "vertical"


@pytest.mark.parametrize("code", [0, -1, 999999, 2**40, "EPSG:999999", "999999"])
def test_codes_of_no_system(code: Any) -> None:
    with pytest.raises(InvalidCRSCodeError):
        _core.crs(code)


@pytest.mark.parametrize("text", ["", "somewhere", "PROJCS[", "+proj=nothing", "GEOGCS"])
def test_texts_of_no_system(text: str) -> None:
    with pytest.raises(UnparseableCRSError):
        _core.crs(text)


@pytest.mark.parametrize("wrong", [True, 4326.0, None, b"EPSG:4326"])
def test_what_is_neither(wrong: Any) -> None:
    with pytest.raises(TypeError):
        _core.crs(wrong)


@pytest.mark.parametrize("relative", [True, False])
def test_an_index_of_tiles(relative: bool, tmp_path: Path) -> None:
    (tmp_path / "tiles").mkdir()
    paths = [tmp_path / "tiles" / f"{at}.tif" for at in range(2)]
    for at, path in enumerate(paths):
        write(path, transform=(1.0, 0.0, 30.0 * at, 0.0, -1.0, 0.0), crs=32633, nodata=9)
    _core.write_vrt(str(tmp_path / "a.vrt"), [str(path) for path in paths], relative=relative)
    text = (tmp_path / "a.vrt").read_text()
    assert ('relativeToVRT="1">tiles/0.tif' in text) is relative and (str(paths[0]) in text) is not relative
    with rasterio.open(tmp_path / "a.vrt") as read:
        assert (read.width, read.height, read.crs.to_epsg(), read.nodata) == (60, 20, 32633, 9.0)
