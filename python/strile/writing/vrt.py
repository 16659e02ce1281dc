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

from .. import _core
from ..errors import StrileError, UnsupportedGeoTIFFFeatureError
from ..reading.lazy import split
from . import sidecars
from .arguments import WriteArguments
from .output import Progress, Target, aux_of, device_for, gathered, put_style, steps_of, wants_style
from .pixels import stream_of
from .raster import Piece, RasterToWrite, options_of
from .stream import plan_stream


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
    if raster.spec.inverted:
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
        within = os.path.basename(folder)
        files = [(f"{within}/{tile.name}", tile.row, tile.column, tile.height, tile.width) for tile in tiles]
        _core.write_tiles(target.local, raster.spec, files, aux_of(raster, arguments, statistics, styled))
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
    return split(layout.height, side), split(layout.width, side)


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
    spec = raster.spec.part(tile.row, tile.column, tile.height, tile.width)
    options = _core.WriteOptions(**options_of(raster, arguments, device))
    writer = _core.Writer(os.path.join(folder, tile.name), spec, options)
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
