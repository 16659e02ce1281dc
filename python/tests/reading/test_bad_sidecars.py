"""A bad `.aux.xml` is a warning through every door, and the raster stays readable.

`<Usage>Name</Usage>` raised a ValueError out of `open_geotiff`."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strile
import xarray as xr

# Every field of a PAM file that is a number, a word of a list, or a text that is parsed.
FIELDS = {
    "usage": "<PAMRasterBand band='1'><GDALRasterAttributeTable><FieldDefn><Usage>{}</Usage></FieldDefn>"
    "<Row><F>1</F></Row></GDALRasterAttributeTable></PAMRasterBand>",
    "type": "<PAMRasterBand band='1'><GDALRasterAttributeTable><FieldDefn><Type>{}</Type></FieldDefn>"
    "</GDALRasterAttributeTable></PAMRasterBand>",
    "colour": "<PAMRasterBand band='1'><GDALRasterAttributeTable>"
    "<FieldDefn><Usage>6</Usage></FieldDefn><FieldDefn><Usage>7</Usage></FieldDefn><FieldDefn><Usage>8</Usage></FieldDefn>"
    "<Row><F>1</F><F>{}</F><F>3</F></Row></GDALRasterAttributeTable></PAMRasterBand>",
    "colorinterp": "<PAMRasterBand band='1'><ColorInterp>{}</ColorInterp></PAMRasterBand>",
    "data type": "<PAMRasterBand band='1' dataType='{}'><Description>d</Description></PAMRasterBand>",
    "band": "<PAMRasterBand band='{}'><Scale>2</Scale></PAMRasterBand>",
    "scale": "<PAMRasterBand band='1'><Scale>{}</Scale></PAMRasterBand>",
    "offset": "<PAMRasterBand band='1'><Offset>{}</Offset></PAMRasterBand>",
    "nodata": "<PAMRasterBand band='1'><NoDataValue>{}</NoDataValue></PAMRasterBand>",
    "unit": "<PAMRasterBand band='1'><UnitType>{}</UnitType></PAMRasterBand>",
    "category": "<PAMRasterBand band='1'><CategoryNames><Category>{}</Category></CategoryNames></PAMRasterBand>",
    "statistics": "<PAMRasterBand band='1'><Metadata><MDI key='STATISTICS_MEAN'>{}</MDI></Metadata></PAMRasterBand>",
    "histogram": "<PAMRasterBand band='1'><Histograms><HistItem><HistMin>{}</HistMin><BucketCount>{}</BucketCount>"
    "<HistCounts>{}</HistCounts></HistItem></Histograms></PAMRasterBand>",
    "geotransform": "<GeoTransform>{},1,0,0,0,-1</GeoTransform>",
    "srs": "<SRS>{}</SRS>",
    "gcp": "<GCPList Projection='{}'><GCP Id='1' Pixel='{}' Line='1' X='{}' Y='1'/></GCPList>",
    "rpc": "<Metadata domain='RPC'><MDI key='LINE_OFF'>{}</MDI></Metadata>",
    "item": "<Metadata domain='{}'><MDI key='{}'>{}</MDI></Metadata>",
    "esri": "<Metadata domain='xml:ESRI'><GeodataXform><CoeffX><Double>{}</Double></CoeffX></GeodataXform></Metadata>",
}
VALUES = [
    "", " ", "Name", "-1", "1", "2", "99999999999999999999", "9" * 5000, "1e400", "-1e400", "nan", "inf", "0x10", "1,5",
    "١٢", "é" * 300, "&#x1b;[2J", "&#10;", "a" * 70000, "EPSG:", "EPSG:99999999", "GEOGCS[", "1 2 3", "true",
]  # fmt: skip


def _doors(path: Path) -> dict[str, Any]:
    def handle() -> np.ndarray:
        with strile.open(path) as dataset:
            return np.asarray(dataset.read().numpy()) if hasattr(dataset.read(), "numpy") else np.asarray(dataset.read())

    return {
        "open_geotiff": lambda: strile.open_geotiff(path).values,
        "lazy": lambda: strile.open_geotiff(path, chunks=2).values,
        "read": lambda: strile.read(path).numpy(),
        "handle": handle,
        "engine": lambda: xr.open_dataset(path, engine="strile", mask_and_scale=False)["band_data"].values,
    }


@pytest.mark.parametrize("field", FIELDS)
def test_no_value_of_a_sidecar_makes_a_raster_unreadable(field: str, gtiff: Any) -> None:
    pixels = np.arange(12, dtype=np.uint8).reshape(3, 4)
    path: Path = gtiff(pixels)
    beside = path.with_name(path.name + ".aux.xml")
    for value, (name, door) in itertools.product(VALUES, _doors(path).items()):
        beside.write_text(f"<PAMDataset>{FIELDS[field].replace('{}', value)}</PAMDataset>", encoding="utf-8")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            got = np.asarray(door())
        np.testing.assert_array_equal(np.squeeze(got), pixels, err_msg=f"{name}: {value[:40]!r}")
        for warning in told:
            assert str(warning.message).isprintable() and len(str(warning.message)) < 3000, name


@pytest.mark.parametrize("text", ["", "<PAMDataset>", "<x/>", "\x00\x01", "<!DOCTYPE a><PAMDataset/>", "<PAMDataset " + "a='' " * 9])
def test_a_text_that_is_no_sidecar_is_a_warning(text: str, gtiff: Any) -> None:
    pixels = np.arange(12, dtype=np.uint8).reshape(3, 4)
    path: Path = gtiff(pixels)
    path.with_name(path.name + ".aux.xml").write_text(text)
    for name, door in _doors(path).items():
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            np.testing.assert_array_equal(np.squeeze(np.asarray(door())), pixels, err_msg=name)


def test_every_door_warns_of_a_bad_sidecar(gtiff: Any) -> None:
    path: Path = gtiff(np.arange(12, dtype=np.uint8).reshape(3, 4))
    path.with_name(path.name + ".aux.xml").write_text("<PAMDataset><SRS>\x1b[2J</SRS></PAMDataset>".replace("\x1b", "?"))
    for door in ("open_geotiff", "handle", "engine"):
        with pytest.warns(RuntimeWarning, match=r"\.aux\.xml: .*ignored"):
            _doors(path)[door]()


def test_a_usage_that_is_no_number_is_a_warning_and_the_names_are_read(gtiff: Any) -> None:
    path: Path = gtiff(np.arange(12, dtype=np.uint8).reshape(3, 4))
    path.with_name(path.name + ".aux.xml").write_text(
        "<PAMDataset><PAMRasterBand band='1'><GDALRasterAttributeTable><FieldDefn><Usage>Name</Usage></FieldDefn>"
        "<FieldDefn><Usage>2</Usage></FieldDefn><Row><F>x</F><F>sea</F></Row></GDALRasterAttributeTable>"
        "</PAMRasterBand></PAMDataset>"
    )
    with pytest.warns(RuntimeWarning, match="`Usage` of a column is 'Name', expected a number"):
        assert strile.open_geotiff(path).attrs["category_names"] == ["sea"]
