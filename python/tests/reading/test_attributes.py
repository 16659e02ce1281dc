"""What a file says comes through in attributes: all of it, nothing else, at every level."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
import strile
import tifffile
from strile import _core

ALWAYS = {"_xrspatial_geotiff_contract", "georef_status"}


def test_a_plain_file_has_nothing_else(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    assert set(read(gtiff(pixels)).attrs) == ALWAYS | {"_xrspatial_no_georef"}
    assert read(gtiff(pixels)).attrs["_xrspatial_geotiff_contract"] == 5
    placed = read(gtiff(pixels, crs="EPSG:32633", transform=(1, 0, 5, 0, -1, 9)))
    assert set(placed.attrs) == ALWAYS | {"crs", "crs_wkt", "transform"}


def test_metadata_of_gdal(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    def described(file: Any) -> None:
        file.update_tags(WHAT="height & depth")
        file.update_tags(2, SEEN="twice")
        file.descriptions = ["one", "two"]

    array = read(gtiff(np.stack([pixels, pixels]), after=described))
    items = array.attrs["gdal_metadata"]
    assert items[("SEEN", 1)] == "twice"
    assert items[("DESCRIPTION", 0)] == "one"
    assert "WHAT" in items
    assert array.attrs["gdal_metadata_xml"].startswith("<GDALMetadata>")


@pytest.mark.parametrize(("unit", "name"), [(1, "none"), (2, "inch"), (3, "centimeter")])
def test_resolution(read: Any, tagged: Any, pixels: np.ndarray, unit: int, name: str) -> None:
    array = read(tagged(pixels, resolution=(72.5, 300), resolutionunit=unit))
    assert array.attrs["x_resolution"] == 72.5
    assert array.attrs["y_resolution"] == 300.0
    assert array.attrs["resolution_unit"] == name


def test_other_tags_are_carried(read: Any, tagged: Any, pixels: np.ndarray) -> None:
    given = [
        (270, "s", 0, "what it shows"),
        (65000, "H", 3, (1, 2, 3)),
        (65001, "s", 0, "abc"),
        (65002, "d", 1, 2.5),
        (65003, 7, 4, b"\1\2\3\4"),
    ]
    array = read(tagged(pixels, *given, software=False))
    assert array.attrs["image_description"] == "what it shows"
    assert array.attrs["extra_tags"] == [
        (270, 2, 14, "what it shows"),
        (65000, 3, 3, (1, 2, 3)),
        (65001, 2, 4, "abc"),
        (65002, 12, 1, 2.5),
        (65003, 7, 4, b"\1\2\3\4"),
    ]


def test_layout_never_shows_in_extra_tags(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    path = gtiff(
        np.tile(pixels, (4, 4)), tiled=True, blockxsize=32, blockysize=32, compress="deflate", predictor=2, nodata=1
    )
    with rasterio.open(path, "r+") as file:
        file.build_overviews([2], rasterio.enums.Resampling.nearest)
    for level in (0, 1):
        assert "extra_tags" not in read(path, overview_level=level).attrs


def test_colours(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    palette = {i: (i, 255 - i, 3, 255) for i in range(256)}
    array = read(gtiff(pixels, photometric="palette", after=lambda file: file.write_colormap(1, palette)))
    assert len(array.attrs["colormap"]) == 768
    assert array.attrs["colormap"][256] == 65535
    alpha = read(gtiff(np.stack([pixels] * 4), name="rgba.tif", photometric="RGB", alpha="YES"))
    assert alpha.attrs["extra_samples"] == (2,)


def test_levels_inherit(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    def described(file: Any) -> None:
        file.update_tags(TIFFTAG_XRESOLUTION="10", TIFFTAG_YRESOLUTION="20", TIFFTAG_RESOLUTIONUNIT="2")
        file.update_tags(TIFFTAG_IMAGEDESCRIPTION="hills")

    path = gtiff(np.tile(pixels, (4, 4)), nodata=5, crs="EPSG:32633", transform=(1, 0, 5, 0, -1, 9), after=described)
    with rasterio.open(path, "r+") as file:
        file.build_overviews([2], rasterio.enums.Resampling.nearest)
    full, half = read(path).attrs, read(path, overview_level=1).attrs
    assert set(full) <= set(half)
    for key in ("x_resolution", "y_resolution", "resolution_unit", "image_description", "nodata", "crs"):
        assert half[key] == full[key]


def test_a_rational_over_nothing_is_an_error(read: Any, tagged: Any, pixels: np.ndarray) -> None:
    with pytest.raises(strile.StrileError, match="5/0"):
        read(tagged(pixels, (286, 5, 1, (5, 0))))


def test_categories_beside_the_file(read: Any, gtiff: Any, pixels: np.ndarray) -> None:
    path: Path = gtiff(pixels)
    path.with_name(path.name + ".aux.xml").write_text(
        "<PAMDataset><PAMRasterBand band='1'><CategoryNames><Category>sea</Category><Category>land</Category>"
        "</CategoryNames><GDALRasterAttributeTable>"
        + "".join(f"<FieldDefn><Usage>{usage}</Usage></FieldDefn>" for usage in (5, 2, 6, 7, 8))
        + "<Row><F>0</F><F>sea</F><F>1</F><F>2</F><F>3</F></Row><Row><F>1</F><F>land</F><F>4</F><F>5</F><F>6</F></Row>"
        "</GDALRasterAttributeTable></PAMRasterBand></PAMDataset>"
    )
    attrs = read(path).attrs
    assert attrs["category_names"] == ["sea", "land"]
    assert attrs["category_colors"] == [(1, 2, 3, 255), (4, 5, 6, 255)]


def test_attributes_of_two_reads_are_apart(gtiff: Any, pixels: np.ndarray) -> None:
    path = gtiff(pixels, after=lambda file: file.update_tags(A="b"))
    first = strile.open_geotiff(path)
    first.attrs["gdal_metadata"]["A"] = "changed"
    assert strile.open_geotiff(path).attrs["gdal_metadata"]["A"] == "b"


def test_opening_leaves_tables_of_blocks_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "many.tif"
    layout = _core.WriteOptions(tile=(16, 16), sparse=True, bigtiff="yes", compression="none")
    raster = _core.RasterSpec(width=4800, height=4800, bands=1, dtype="uint8")
    writer = _core.Writer(str(path), raster, layout)
    writer.write(np.zeros((4800, 4800), np.uint8), 0, 0, axes="yx")
    writer.finish()
    tracemalloc.start()
    try:
        array = strile.open_geotiff(path, window=(0, 0, 16, 16))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert array.shape == (16, 16)
    # A tuple of the 90,000 offsets alone takes 720,000 bytes.
    assert most < 400_000
    tags = _core.Dataset.open(str(path)).tags(tables=False)
    tables = {tag: (count, value) for tag, _, count, value in tags}
    assert tables[324] == tables[325] == (90_000, None)
    with tifffile.TiffFile(path) as file:
        assert len(file.pages[0].dataoffsets) == 90_000
