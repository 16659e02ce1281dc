"""The files of the round-trip matrix, one for each feature, written by rasterio and GDAL and by nobody here.

Each entry has a maker and a view: what rasterio sees of the feature in a file. A feature is kept where the view of the
output equals that of the input."""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from affine import Affine
from rasterio.control import GroundControlPoint
from rasterio.enums import ColorInterp
from rasterio.rpc import RPC
from rasterio.transform import from_origin

ROWS, COLUMNS = 60, 80
UTM: dict[str, Any] = {"crs": "EPSG:32633", "transform": from_origin(500000, 4600000, 30, 30)}

View = Callable[[Any], Any]


def pixels(dtype: Any = "uint8", bands: int = 1, most: int = 200) -> Any:
    walk = np.arange(bands * ROWS * COLUMNS, dtype=np.int64) * 7919 % (most - 1) + 1
    return walk.astype(dtype).reshape(bands, ROWS, COLUMNS)


def write(path: Path, array: Any, after: Callable[[Any], None] | None = None, **profile: Any) -> None:
    bands, rows, columns = array.shape
    profile = {**UTM, **profile}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with rasterio.open(
            path, "w", driver="GTiff", dtype=array.dtype, count=bands, height=rows, width=columns, **profile
        ) as file:
            file.write(array)
            if after is not None:
                after(file)


@dataclass(frozen=True)
class Feature:
    """One row of the matrix. A warning names its loss where it holds one of `words`."""

    name: str
    make: Callable[[Path], None]
    view: View
    words: tuple[str, ...] = ()


def _values(file: Any) -> Any:
    array = file.read()
    return array.dtype.name, array.shape, np.nan_to_num(array, nan=-12345.0).tobytes()


def _colour(file: Any) -> Any:
    """Colours, and pixels; what lies under alpha of 0 is not seen and not compared."""
    names = tuple(one.name for one in file.colorinterp)
    array = file.read()
    if "alpha" in names:
        array = np.where(array[names.index("alpha")] == 0, 0, array)
    return names, array.dtype.name, array.tobytes()


def _palette(file: Any) -> Any:
    table = file.colormap(1)
    # GDAL gives transparent entries for what a nodata value makes transparent; colours are what is compared.
    return tuple(table.get(value, (0, 0, 0, 255))[:3] for value in range(8)), _values(file)


def _mask(file: Any) -> Any:
    mask = file.dataset_mask() > 0
    return mask.tobytes(), np.where(mask, file.read(), 0).tobytes()


def _nodata(file: Any) -> Any:
    value = file.nodata
    return "nan" if value is not None and np.isnan(value) else value, _values(file)


def _scaled(file: Any) -> Any:
    return file.scales, file.offsets, _values(file)


def _crs(file: Any) -> Any:
    from pyproj import CRS, Transformer

    crs = CRS.from_wkt(file.crs.to_wkt())
    place = Transformer.from_crs(crs.sub_crs_list[0] if crs.is_compound else crs, 4326, always_xy=True)
    corner = place.transform(*(file.transform * (0, 0)))
    return crs.is_projected, crs.is_compound, len(crs.sub_crs_list), tuple(round(number, 7) for number in corner)


def _gcps(file: Any) -> Any:
    points, crs = file.gcps
    return [(p.row, p.col, p.x, p.y, p.z) for p in points], None if crs is None else crs.to_epsg()


def _rpcs(file: Any) -> Any:
    return None if file.rpcs is None else file.rpcs.to_gdal()


def _tags(file: Any) -> Any:
    ours = {key: value for key, value in file.tags().items() if key in ("ACQUIRED", "TIFFTAG_ARTIST")}
    return ours, file.tags(ns="MINE"), {k: v for k, v in file.tags(1).items() if not k.startswith("STATISTICS")}


def _categories(file: Any) -> Any:
    """Names and attribute table, which rasterio has no words for: GDAL keeps them beside a TIFF."""
    beside = Path(file.name + ".aux.xml")
    if not beside.exists():
        return None
    band = ElementTree.parse(beside).getroot().find("PAMRasterBand")
    if band is None:
        return None
    names = [entry.text or "" for entry in band.findall("CategoryNames/Category")]
    columns = [
        [field.findtext(part) for part in ("Name", "Type", "Usage")]
        for field in band.findall("GDALRasterAttributeTable/FieldDefn")
    ]
    rows = [[cell.text for cell in row] for row in band.findall("GDALRasterAttributeTable/Row")]
    return names, columns, rows


def _statistics(file: Any) -> Any:
    return {k: float(v) for k, v in file.tags(1).items() if k.startswith("STATISTICS_M")}


def _bits(file: Any) -> Any:
    return file.tags(1, ns="IMAGE_STRUCTURE").get("NBITS"), _values(file)


def _make_palette(path: Path, **profile: Any) -> None:
    """Without a photometric, rasterio's usual order leaves it at minisblack: pixels come before the colours."""
    table = {value: (value * 30, 255 - value * 20, value * 7, 255) for value in range(8)}
    write(path, pixels(most=8), lambda file: file.write_colormap(1, table), compress="deflate", **profile)


def _make_masked(path: Path) -> None:
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
        write(path, pixels(), lambda file: file.write_mask(pixels(most=5)[0] > 2))


def _make_gcps(path: Path) -> None:
    points = [
        GroundControlPoint(row, column, 10 + column * 0.1 + row * 0.01, 50 - row * 0.1, 5.0)
        for row in (0, 30, 60)
        for column in (0, 40, 80)
    ]
    write(path, pixels(), gcps=points, crs="EPSG:4326", transform=None)


def _make_rpcs(path: Path) -> None:
    coefficients = [float(number) / 7 for number in range(1, 21)]
    rpc = RPC(
        height_off=100.0, height_scale=50.0, lat_off=45.0, lat_scale=0.5, line_den_coeff=coefficients,
        line_num_coeff=coefficients, line_off=30.0, line_scale=30.0, long_off=11.0, long_scale=0.5,
        samp_den_coeff=coefficients, samp_num_coeff=coefficients, samp_off=40.0, samp_scale=40.0,
    )  # fmt: skip
    write(path, pixels(), lambda file: setattr(file, "rpcs", rpc), crs=None, transform=None)


def _set(**attributes: Any) -> Callable[[Any], None]:
    def after(file: Any) -> None:
        for name, value in attributes.items():
            setattr(file, name, value)

    return after


def _tagged(file: Any) -> None:
    file.update_tags(ACQUIRED="2026-11-16", TIFFTAG_ARTIST="somebody")
    file.update_tags(ns="MINE", camera="left & right")
    file.update_tags(1, quality="0.5")


CATEGORIES = """<PAMDataset>
  <PAMRasterBand band="1">
    <CategoryNames>
      <Category>none</Category>
      <Category>water</Category>
      <Category>forest</Category>
    </CategoryNames>
    <GDALRasterAttributeTable tableType="thematic">
      <FieldDefn index="0">
        <Name>Value</Name>
        <Type typeAsString="Integer">0</Type>
        <Usage usageAsString="MinMax">5</Usage>
      </FieldDefn>
      <FieldDefn index="1">
        <Name>Owner</Name>
        <Type typeAsString="String">2</Type>
        <Usage usageAsString="Generic">0</Usage>
      </FieldDefn>
      <Row index="0">
        <F>0</F>
        <F>nobody</F>
      </Row>
      <Row index="1">
        <F>1</F>
        <F>state</F>
      </Row>
      <Row index="2">
        <F>2</F>
        <F>farmer</F>
      </Row>
    </GDALRasterAttributeTable>
  </PAMRasterBand>
</PAMDataset>
"""
"""What GDAL 3.6 writes of SetCategoryNames and SetDefaultRAT."""


def _make_categories(path: Path) -> None:
    write(path, pixels(most=3))
    path.with_name(path.name + ".aux.xml").write_text(CATEGORIES)


def _with_statistics(file: Any) -> None:
    array = file.read() if file.mode != "w" else pixels()
    file.update_tags(
        1,
        STATISTICS_MINIMUM=str(array.min()),
        STATISTICS_MAXIMUM=str(array.max()),
        STATISTICS_MEAN=str(array.mean()),
    )


def _clear(array: Any) -> Any:
    """The array with a last band, alpha, that is 0 somewhere."""
    array[-1, 5:9, 5:20] = 0
    return array


USER_DEFINED = "+proj=lcc +lat_1=33 +lat_2=45 +lat_0=39 +lon_0=-96 +x_0=0 +y_0=0 +datum=NAD83 +units=m +no_defs"
NAN = pixels("float32")
NAN[0, 5:9, 5:20] = np.nan
HOLED = pixels("int16")
HOLED[0, 5:9, 5:20] = -9999

FEATURES: tuple[Feature, ...] = (
    Feature("RGB", lambda path: write(path, pixels(bands=3), photometric="rgb"), _colour),
    Feature("RGBA", lambda path: write(path, _clear(pixels(bands=4)), photometric="rgb", alpha="yes"), _colour),
    Feature("palette", lambda path: _make_palette(path, photometric="palette"), _palette),
    Feature("palette + minisblack", _make_palette, _palette),
    Feature("internal mask", _make_masked, _mask, ("mask",)),
    Feature(
        "alpha",
        lambda path: write(
            path, _clear(pixels("uint16", 2)), _set(colorinterp=(ColorInterp.gray, ColorInterp.alpha)), alpha="yes"
        ),
        _colour,
    ),
    Feature("nodata int", lambda path: write(path, HOLED, nodata=-9999), _nodata),
    Feature("nodata NaN", lambda path: write(path, NAN, nodata=np.nan), _nodata),
    Feature(
        "scale and offset",
        lambda path: write(path, pixels("uint16", 2), _set(scales=(0.0001, 0.1), offsets=(-0.1, 5.0))),
        _scaled,
    ),
    Feature(
        "band names",
        lambda path: write(path, pixels("uint16", 2), _set(descriptions=("red", "near infrared"))),
        lambda file: file.descriptions,
    ),
    Feature("units", lambda path: write(path, pixels("uint16", 2), _set(units=("m", "K"))), lambda file: file.units),
    Feature(
        "descriptions",
        lambda path: write(path, pixels(), lambda file: file.update_tags(TIFFTAG_IMAGEDESCRIPTION="of a place")),
        lambda file: file.tags().get("TIFFTAG_IMAGEDESCRIPTION"),
    ),
    Feature("GCPs", _make_gcps, _gcps, ("control point",)),
    Feature("RPCs", _make_rpcs, _rpcs, ("RPC",)),
    Feature("user-defined CRS", lambda path: write(path, pixels(), crs=USER_DEFINED), _crs),
    Feature("compound CRS", lambda path: write(path, pixels(), crs="EPSG:32633+5773"), _crs),
    Feature(
        "PixelIsPoint",
        lambda path: write(path, pixels(), lambda file: file.update_tags(AREA_OR_POINT="Point")),
        lambda file: (file.tags().get("AREA_OR_POINT"), file.transform),
    ),
    Feature(
        "south-up",
        lambda path: write(path, pixels(), transform=Affine(30, 0, 5e5, 0, 30, 4e6)),
        lambda file: (file.transform, _values(file)),
    ),
    Feature("tags", lambda path: write(path, pixels(), _tagged), _tags),
    Feature("categories and attribute table", _make_categories, _categories, ("categor", "attribute table")),
    Feature("statistics", lambda path: write(path, pixels(), _with_statistics), _statistics),
    Feature("complex", lambda path: write(path, (pixels("complex64") * (1 + 2j)).astype("complex64")), _values),
    Feature("1 bit", lambda path: write(path, pixels(most=3) - 1, NBITS=1), _bits),
)
