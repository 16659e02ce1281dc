"""What is said of bands in a VRT and concerns the shape of the result: types and nodata values, band by band.

The core reads the mosaic and refuses what it does not serve, and sources that lie elsewhere than they may.
This looks at the XML once more for what one array cannot hold at a time: bands of different types, bands of
different nodata values. It also says which sources a window needs and which of them are missing, before
anything is read. """

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import environment
from ..errors import MixedBandMetadataError, VRTUnsupportedError
from ..facts import Facts
from . import nodata
from .arguments import Arguments
from .georef import stored_grid
from .metadata import elements

_TYPES = {
    "Byte": "uint8", "UInt8": "uint8", "Int8": "int8", "UInt16": "uint16", "Int16": "int16",
    "UInt32": "uint32", "Int32": "int32",
    "UInt64": "uint64", "Int64": "int64", "Float16": "float16", "Float32": "float32",
    "Float64": "float64",
}  # fmt: skip


@dataclass(frozen=True)
class Mosaic:
    """What a VRT says of its bands. `dtype` is None where the core knows better."""

    dtype: str | None
    values: tuple[int | float | None, ...]
    apart: bool

    def nodata(self, band: int | None) -> tuple[int | float | None, ...]:
        """The nodata value of all bands that are read, or one for each where they differ."""
        if band is not None:
            return (self.values[band],)
        return self.values if self.apart else self.values[:1]


def inspect(path: str, band: int | None, band_nodata: str | None) -> Mosaic:
    raw = Path(path).read_bytes()
    limit = environment.vrt_max_xml_bytes()
    if len(raw) > limit:
        raise VRTUnsupportedError(
            f"{path} has {len(raw):,} bytes and at most {limit:,} are taken: raise STRILE_VRT_MAX_XML_BYTES"
        )
    try:
        root = elements(raw.decode("utf-8", "replace"), path)
    except ElementTree.ParseError as problem:
        raise VRTUnsupportedError(f"{path} is no XML: {problem}") from problem
    bands = root.findall("VRTRasterBand")
    if not bands:
        raise VRTUnsupportedError(f"{path} has no VRTRasterBand: at least one expected")
    types = [entry.get("dataType", "Float32") for entry in bands]
    if band is None and len(set(types)) > 1:
        raise MixedBandMetadataError(
            f"{path}: the bands have different types ({', '.join(types)}) and one array holds one: pass "
            "band to read one"
        )
    values = tuple(nodata.parse(entry.findtext("NoDataValue")) for entry in bands)
    stated = {value for value in values if value is not None and value == value}
    with_nan = any(value is not None and value != value for value in values)
    mixed = len(stated) + with_nan > 1
    if mixed and band_nodata is None:
        raise MixedBandMetadataError(
            f"{path}: the bands have different nodata values ({', '.join(map(str, values))}) and attributes "
            "hold one: pass "
            "band_nodata='first' to mask each band by its own and to keep that of the first"
        )
    one = types[band if band is not None and band < len(types) else 0] if types else None
    scaled = any(True for entry in bands for _ in entry.iter("ScaleRatio"))
    return Mosaic(None if scaled or one is None else _TYPES.get(one), values or (None,), mixed)


Covered = list[tuple[int, tuple[float, float, float, float]]]


def needed(
    dataset: Any, call: Arguments, bands: tuple[int, ...], window: tuple[int, ...]
) -> tuple[list[dict[str, Any]], Covered]:
    """The holes that a window of some bands will have, as `vrt_holes` lists them, and what its sources cover
    of each band. A source that must not be opened, is placed in a way no mosaic can follow, or is of another
    reference system, is an error: headers are looked at, pixels are not."""
    path = str(call.source)
    row, column, row1, column1 = window
    holes: list[dict[str, Any]] = []
    covered: Covered = []
    looked_at: dict[str, str | None] = {}
    for entry in dataset.sources():
        x, y, width, height = entry["target_rect"]
        apart = x >= column1 or x + width <= column or y >= row1 or y + height <= row
        if apart or entry["band"] not in bands:
            continue
        if entry["problem"] is not None:
            raise VRTUnsupportedError(f"{path}: {entry['problem']}")
        found = entry["path"]
        if found is None:
            holes.append(_hole(entry, path))
            continue
        covered.append((entry["band"], (x, y, width, height)))
        if found not in looked_at and not found.lower().endswith(".vrt"):
            looked_at[found] = _look(found, call)
    if holes and call.missing_sources == "raise":
        names = ", ".join(sorted({hole["source"] for hole in holes}))
        raise FileNotFoundError(
            f"{path} needs {names}, not there: pass missing_sources='warn' for a partial mosaic"
        )
    _one_system(_system(dataset), looked_at, path)
    return holes, covered


def _hole(entry: dict[str, Any], path: str) -> dict[str, Any]:
    name = entry["name"]
    return {
        "source": name if os.path.isabs(name) else os.path.join(os.path.dirname(os.path.abspath(path)), name),
        "band": entry["band"],
        "dst_rect": tuple(int(number) for number in entry["target_rect"]),
        "error": "FileNotFoundError: there is no such file",
    }


def _look(path: str, call: Arguments) -> str | None:
    """The reference system of a source; the rules for files hold for it too."""
    from .. import _core

    dataset = _core.Dataset.open(path, sidecars=False)
    facts = Facts.of(dataset)
    stored_grid(facts, {tag: value for tag, _, _, value in dataset.tags()}, call.allow_rotated, path)
    nodata.declared(nodata.parse(facts.nodata_text), facts.dtype, call.allow_invalid_nodata, path)
    return _system(dataset)


def _system(dataset: Any) -> str | None:
    crs = dataset.facts["crs"]
    if crs is None:
        return None
    return f"EPSG:{crs['epsg']}" if crs["epsg"] else None


def _one_system(of_mosaic: str | None, of_sources: dict[str, str | None], path: str) -> None:
    """Systems that have a code and differ in it; others cannot be told apart for certain."""
    for source, system in of_sources.items():
        if of_mosaic is not None and system is not None and system != of_mosaic:
            raise VRTUnsupportedError(
                f"{path} is in {of_mosaic} and its source {source} in {system}: a mosaic is not "
                "reprojected, warp it first"
            )
