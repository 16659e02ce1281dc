"""A raster as a mosaic: a folder of tiles, each a GeoTIFF of its own, and a VRT that puts them together.

Tiles are the chunks of a dask array, or squares of `tile_size`. They are written into a folder with another
name, which gets its own when all are there; then comes the index. A failure leaves neither.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from xml.etree import ElementTree as ET

from .. import _core
from ..errors import StrileError, UnsupportedGeoTIFFFeatureError
from . import sidecars
from .arguments import WriteArguments
from .output import Progress, Target, aux_of, device_for, gathered, put_style, steps_of, wants_style
from .pieces import Piece
from .pixels import stream_of
from .raster import RasterToWrite, options_of
from .stream import plan_stream

TYPES = {
    "uint8": "Byte", "int8": "Int8", "uint16": "UInt16", "int16": "Int16", "uint32": "UInt32", "int32": "Int32",
    "uint64": "UInt64", "int64": "Int64", "float32": "Float32", "float64": "Float64",
    "complex64": "CFloat32", "complex128": "CFloat64",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tile:
    name: str
    row: int
    column: int
    height: int
    width: int


def check(arguments: WriteArguments) -> None:
    for name, given in (
        ("cog=True", arguments.cog),
        ("tiled=False", not arguments.tiled),
        ("overview_levels", arguments.overview_levels is not None),
        ("cluster=True", arguments.cluster is True),
    ):
        if given:
            raise StrileError(f"{name} with a .vrt path: a mosaic is written as plain tiles; leave it out")


def write_vrt(
    raster: RasterToWrite, arguments: WriteArguments, target: Target, progress: Progress | None
) -> None:
    if raster.inverted:
        raise UnsupportedGeoTIFFFeatureError("photometric 'miniswhite' with a .vrt path: write a single file")
    assert target.local is not None
    base = os.path.splitext(target.local)[0]
    folder = base + "_tiles"
    if os.path.isdir(folder) and os.listdir(folder):
        raise FileExistsError(f"{folder} has files in it: remove them, or choose another name for the mosaic")
    device = device_for(raster, arguments)
    statistics = gathered(raster, arguments, target)
    steps = steps_of(raster, device, statistics)
    parent = os.path.dirname(target.local) or "."
    making = tempfile.mkdtemp(dir=parent, prefix=".strile-", suffix=".tiles")
    placed = False
    try:
        tiles: list[Tile] = []
        for tile, piece in _tiles(raster, arguments):
            mask = None if raster.mask is None else raster.mask.of(piece.array, piece.row, piece.column)
            _write_tile(tile, (steps.apply(piece.array), mask), raster, arguments, (making, device))
            tiles.append(tile)
            if progress is not None:
                progress(len(tiles), _count(raster, arguments))
            del piece
        if steps.missing is not None:
            steps.missing.check(target.given)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(making, 0o777 & ~mask)
        if os.path.isdir(folder):
            os.rmdir(folder)
        os.rename(making, folder)
        placed = True
        styled = wants_style(raster, arguments, target)
        aux = aux_of(raster, arguments, statistics, styled)
        stale = target.local + ".aux.xml"
        if aux is not None:
            sidecars.put(stale, aux)
        elif os.path.exists(stale):
            os.unlink(stale)
        sidecars.put(target.local, _index(raster, tiles, os.path.basename(folder)))
        bounds = sidecars.style_bounds(statistics, arguments.ramp_range) if styled else None
        put_style(arguments, target, bounds)
    except BaseException:
        shutil.rmtree(folder if placed else making, ignore_errors=True)
        raise


def _grid(raster: RasterToWrite, arguments: WriteArguments) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Heights and widths of the tiles."""
    layout = raster.layout
    if raster.is_lazy:
        return raster.array.chunks[layout.y], raster.array.chunks[layout.x]
    side = arguments.tile_size
    return _cut(layout.height, side), _cut(layout.width, side)


def _cut(length: int, side: int) -> tuple[int, ...]:
    return tuple(min(side, length - start) for start in range(0, length, side))


def _count(raster: RasterToWrite, arguments: WriteArguments) -> int:
    heights, widths = _grid(raster, arguments)
    return len(heights) * len(widths)


def _tiles(raster: RasterToWrite, arguments: WriteArguments) -> Iterator[tuple[Tile, Piece]]:
    heights, widths = _grid(raster, arguments)
    rows = {sum(heights[:i]): i for i in range(len(heights))}
    columns = {sum(widths[:j]): j for j in range(len(widths))}
    digits = max(2, len(str(len(heights) - 1)), len(str(len(widths) - 1)))
    for piece in _pieces(raster, arguments, (rows, columns), (heights, widths)):
        i, j = rows[piece.row], columns[piece.column]
        name = f"tile_{i:0{digits}d}_{j:0{digits}d}.tif"
        yield Tile(name, piece.row, piece.column, heights[i], widths[j]), piece


def _pieces(
    raster: RasterToWrite,
    arguments: WriteArguments,
    starts: tuple[dict[int, int], dict[int, int]],
    sizes: tuple[tuple[int, ...], tuple[int, ...]],
) -> Iterator[Piece]:
    if raster.is_lazy:
        # Tiles are files of their own, so that their order is free and nothing waits in a spool.
        plan = plan_stream(raster, replace(arguments, spill=True, cog=True))
        yield from plan.pieces(raster, arguments.tile_size)
        return
    layout = raster.layout
    for row, i in starts[0].items():
        for column, j in starts[1].items():
            part: list[slice] = [slice(None)] * len(layout.axes)
            part[layout.y] = slice(row, row + sizes[0][i])
            part[layout.x] = slice(column, column + sizes[1][j])
            yield Piece(raster.array[tuple(part)], row, column)


def _write_tile(
    tile: Tile, pixels: tuple[Any, Any], raster: RasterToWrite, arguments: WriteArguments, place: tuple[str, str]
) -> None:
    array, mask = pixels
    folder, device = place
    keys = dict(raster.keys, width=tile.width, height=tile.height)
    if raster.transform is not None:
        a, b, c, d, e, f = raster.transform
        keys["transform"] = (a, b, c + tile.column * a, d, e, f + tile.row * e)
    options = options_of(raster, arguments, device)
    writer = _core.Writer(os.path.join(folder, tile.name), keys, options)
    try:
        writer.write(array, 0, 0, axes=raster.layout.axes, mask=mask, stream=stream_of(array))
        names, colours = raster.categories
        content = sidecars.aux_xml(names, colours, None, None)
        if content is not None:
            writer.sidecar(".aux.xml", content)
        writer.finish()
    except BaseException:
        writer.abort()
        raise


def _index(raster: RasterToWrite, tiles: list[Tile], folder: str) -> bytes:
    layout = raster.layout
    root = ET.Element("VRTDataset", rasterXSize=str(layout.width), rasterYSize=str(layout.height))
    crs = raster.keys.get("crs")
    if crs is not None:
        found = _core.crs(crs)
        ET.SubElement(root, "SRS").text = found.get("wkt") or f"EPSG:{crs}"
    if raster.transform is not None:
        a, b, c, d, e, f = raster.transform
        ET.SubElement(root, "GeoTransform").text = ", ".join(
            repr(float(number)) for number in (c, a, b, f, d, e)
        )
    if raster.is_point:
        ET.SubElement(ET.SubElement(root, "Metadata"), "MDI", key="AREA_OR_POINT").text = "Point"
    for number in range(1, layout.bands + 1):
        band = ET.SubElement(root, "VRTRasterBand", dataType=TYPES[raster.dtype.name], band=str(number))
        if "nodata" in raster.keys or "nodata_text" in raster.keys:
            ET.SubElement(band, "NoDataValue").text = str(
                raster.keys.get("nodata", raster.keys.get("nodata_text"))
            )
        for tile in tiles:
            source = ET.SubElement(band, "SimpleSource")
            ET.SubElement(source, "SourceFilename", relativeToVRT="1").text = f"{folder}/{tile.name}"
            ET.SubElement(source, "SourceBand").text = str(number)
            size: dict[str, Any] = {"xSize": str(tile.width), "ySize": str(tile.height)}
            ET.SubElement(source, "SrcRect", xOff="0", yOff="0", **size)
            ET.SubElement(source, "DstRect", xOff=str(tile.column), yOff=str(tile.row), **size)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode").encode() + b"\n"
