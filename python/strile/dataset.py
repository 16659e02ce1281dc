"""Provides `Dataset`, an open file with the methods of rasterio, and `strile.read`: pixels without xarray.

A handle has the metadata of a file and reads windows of it; threads may share it. A process opens the file
once for all callers (`reading.opened`); closing a handle closes only the handle. Bands count from 1 and
overviews from 0, as in rasterio; a transform is the six numbers (a, b, c, d, e, f), of which
`affine.Affine(*transform)` makes rasterio's."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, grid_options, notebook
from ._core import Meaning, Place, ReadOptions
from .checks import (
    bands_of,
    count_of,
    device_of,
    dtype_of,
    flag_of,
    index_of,
    is_listed,
    level_of,
    level_of_overview,
    method_of,
    number_of,
    sides_of,
    text_of,
    whole,
    window_of,
)  # fmt: skip
from .errors import ClosedError, StrileError
from .facts import BoundingBox, Facts, Level, Transform
from .origin import Origin
from .prepared import execution_of, prepare
from .progress import resolve
from .reading import opened
from .reading import sidecars as beside
from .reading.arguments import halvings
from .reading.source import SOURCE_KEYWORDS, Source
from .values import Values, on_cpu

if TYPE_CHECKING:
    from ._core import Plan, Raster

_COLOURS = {"YCbCr_Y": "Y", "YCbCr_Cb": "Cb", "YCbCr_Cr": "Cr"}
"""rasterio's names of colours that are not GDAL's in lower case."""


def open(
    source: str | os.PathLike[str] | Any,
    mode: str = "r",
    *,
    allow_outside: bool = False,
    allowed_roots: Sequence[str | os.PathLike[str]] = (),
    allowed_hosts: Sequence[str] = (),
    storage_options: Mapping[str, Any] | None = None,
    anonymous: bool = False,
    store: Any = None,
    sidecars: str = "auto",
) -> Dataset:
    """Opens a TIFF or a VRT for reading: a path, a URL, a path in a `store`, or a binary file. The only `mode` is "r": files are
    written by `strile.to_geotiff` and `strile.convert`.

    Sources of a VRT may lie in its own folder, in `allowed_roots`, on `allowed_hosts`, or anywhere with `allow_outside`.
    `storage_options`, `anonymous` and `sidecars` are those of `open_geotiff`."""
    if not isinstance(mode, str) or mode != "r":
        raise StrileError(f"mode is {mode!r}: expected 'r', files are opened for reading; strile.to_geotiff and strile.convert write files")
    where = Source.of(
        source, allow_outside=allow_outside, allowed_roots=allowed_roots, allowed_hosts=allowed_hosts,
        storage_options=storage_options, anonymous=anonymous, store=store, sidecars=sidecars,
    )  # fmt: skip
    dataset = Dataset(opened.dataset(where, level=1), str(where), where.anywhere())
    beside.warn_of(dataset._facts.warnings, dataset.name, stacklevel=2)
    return dataset


def read(
    path: str | os.PathLike[str] | Any,
    *,
    window: Any = None,
    bands: Sequence[int] | None = None,
    size: int | tuple[int, int] | None = None,
    resampling: str = "nearest",
    level: int | None = None,
    reduce: int = 0,
    page: int = 0,
    device: Any = "cpu",
    decode_on: str = "auto",
    out: Any = None,
    stream: int | None = None,
    masked: bool = False,
    unpack: bool = False,
    max_pixels: int | None = None,
    cache: str = "auto",
    progress: bool | Callable[[int, int], object] | None = None,
    allow_outside: bool = False,
    allowed_roots: Sequence[str | os.PathLike[str]] = (),
    allowed_hosts: Sequence[str] = (),
    storage_options: Mapping[str, Any] | None = None,
    anonymous: bool = False,
    store: Any = None,
    sidecars: str = "auto",
    grid: Any = None,
    tolerance: float | None = None,
    datum_shift: str = "required",
    source_crs: Any = None,
    nodata: float | None = None,
    fill: float | None = None,
    top: str = "last",
    polygon: Any = None,
    polygon_crs: Any = None,
    order: int | None = None,
    tps: bool = False,
    rpc: bool = False,
    rpc_height: float | None = None,
    rpc_dem: str | os.PathLike[str] | Mapping[str, Any] | None = None,
) -> Raster | Any:
    """Reads pixels of a path, a URL, a binary file or an open `Dataset`: all of a page, or a `Window` (column, row,
    width, height) of it. `level` 0 is full resolution, 1 the largest overview; windows are in pixels of the level.

    The result is a `Raster`, (band, y, x), that numpy, CuPy, PyTorch and JAX take without a copy (`numpy()`,
    `from_dlpack`), or `out`: any array of the caller, on the CPU or a GPU, that is filled on `stream`. Bands
    count from 1, pages from 0. `reduce=n` decodes JPEG 2000 at 1/2ⁿ of full resolution: its blocks
    hold lower resolutions, and windows are then of the smaller image.

    `device` holds the result: "cpu" (host memory, the default on every machine), "cuda" or "cuda:N".
    `decode_on` is the processor that decodes: "auto" (the one estimated to be faster; the GPU that holds the result, unless the CPU
    and a copy are clearly faster), "cpu", or "cuda". The pixels are the same either way.

    `size` (width, height) resamples the window: "nearest", "bilinear" or "average", as in `read_batch`. Unless
    `level` is given, pixels come from the smallest overview that has enough of them, which `Raster.levels` names.

    `masked` returns floats with NaN for missing pixels: by the nodata value of the file, else by its mask image, else by
    its alpha band. `unpack` applies scale and offset, too.

    `max_pixels` is the most samples (width × height × bands) of the result; without it only implausible results are
    refused: those over 1 GB that are more than 1024 times larger than their file.

    `cache` is the use of the block cache of the process: "off" for nothing, "encoded" keeps blocks of remote files
    as they are stored, "decoded" keeps pixels of all blocks that the CPU decodes, "auto" keeps the former, and pixels of local
    blocks that are read again. The pixels are the same either way; `set_cache_limit` limits its size. Sources of a VRT may lie in its own
    folder, in `allowed_roots`, on `allowed_hosts`, or anywhere with `allow_outside`. `storage_options`, `anonymous`, `store` and
    `sidecars` are those of `open_geotiff`.

    `grid` reads onto another grid: a `Grid`, or what has one (a DataArray, a path, a `GeoBox`). The result has its shape, transform and
    reference system, `window` is in its pixels, and `path` may be a list of files in any reference systems, the last on `top` ("first":
    the first). `resampling` takes all of GDAL's methods. `level` None reads the coarsest overview that suffices. `tolerance` is how far
    interpolated coordinates may be off, in pixels of the file: 1/8 by default, 0 for exact ones. `datum_shift="none"` accepts systems
    between whose datums no operation is known. `source_crs` and `nodata` take the place of what the file states; pixels without a value
    are `fill`, else NaN if `masked`, else nodata, else 0. `order=1` to 3 or `tps=True` place files by their control points (a polynomial, a
    thin-plate spline), `rpc=True` by their RPCs at `rpc_height` metres or the heights of `rpc_dem`, as in `strile warp`. The operation between the datums is in `Raster.attrs`.

    `polygon` makes pixels missing whose centre lies outside, and reads only blocks under it: WKT, GeoJSON (a text, a dict, or the path of a
    file), or a geometry with `__geo_interface__`. Its coordinates are in `polygon_crs`; without it GeoJSON is in WGS 84, and others in the
    reference system of the result. Without a grid the result is the part of the file that the polygon's box touches."""
    given = dict(locals())
    if size is None or grid is not None or polygon is not None:
        return prepare(path, given).read(out=out, stream=count_of(stream, "stream", 0), progress=resolve(progress, "read"))
    grid_options.refuse_without_grid(given)
    if halvings(reduce) or out is not None or (progress is not None and progress is not False):
        raise StrileError("size cannot be combined with reduce, out or progress: use read_batch, or resample afterwards")
    count_of(stream, "stream", 0)
    handle = path if isinstance(path, Dataset) else open(path, **{name: given[name] for name in SOURCE_KEYWORDS})
    place = Place(page=index_of(page, "page"), level=level_of(level), bands=bands_of(bands))
    meaning = Meaning(masked=flag_of(masked, "masked"), unpack=flag_of(unpack, "unpack"))
    options = ReadOptions(place, meaning, execution=execution_of(given), device=device_of(device))
    how = {"resampling": method_of(resampling), "sufficient": level is None}
    return handle._opened().read_sized(options, sides_of(size), window=window_of(window), **how)[0]


class Dataset(Values):
    """An open file with the methods of rasterio's datasets. `strile.open` makes it.

    Pickling keeps the path; unpickling opens the file again, and is an error if it has changed."""

    def __init__(self, core: Any, name: str, source: Source) -> None:
        self._core: Any = core
        self._facts = Facts.of(core)
        # Bands of a mosaic may differ in it.
        self._nodatavals = tuple(core.facts.get("band_nodata") or (self.nodata,) * self.count)
        self._source = source
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        core = self._opened()
        if self._source.is_object:
            kind = type(self._source.file).__name__
            raise TypeError(f"{self.name}: a {kind} stays in its process and so does its handle: open a path or a URL")
        return _reopened, (self._source, self.name, core.version)

    @property
    def closed(self) -> bool:
        return self._core is None

    def close(self) -> None:
        self._core = None

    def __enter__(self) -> Dataset:
        self._opened()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _opened(self) -> Any:
        if self._core is None:
            raise ClosedError(f"{self.name} is closed: open it again")
        return self._core

    @property
    def _level(self) -> Level:
        return self._facts.level()

    @property
    def width(self) -> int:
        return self._level.width

    @property
    def height(self) -> int:
        return self._level.height

    @property
    def shape(self) -> tuple[int, int]:
        return self.height, self.width

    @property
    def count(self) -> int:
        return self._level.bands

    @property
    def indexes(self) -> tuple[int, ...]:
        return tuple(range(1, self.count + 1))

    @property
    def dtypes(self) -> tuple[str, ...]:
        return (self._level.dtype,) * self.count

    @property
    def nodata(self) -> int | float | None:
        return self._facts.nodata

    @property
    def nodatavals(self) -> tuple[int | float | None, ...]:
        return self._nodatavals

    @property
    def crs(self) -> str | None:
        """Returns `EPSG:n` if the file has a code, else WKT; rasterio and pyproj take both."""
        crs = self._facts.crs
        if crs is None:
            return None
        return crs.wkt if crs.epsg is None else f"EPSG:{crs.epsg}"

    @property
    def transform(self) -> Transform:
        return self._facts.transform_of(self._level)

    @property
    def bounds(self) -> BoundingBox:
        return BoundingBox(*_core.extent(self.transform, self.width, self.height))

    @property
    def res(self) -> tuple[float, float]:
        return _core.pixel_size(self.transform)

    @property
    def gcps(self) -> tuple[tuple[float, float, float, float, float], ...]:
        """Returns control points: (row, column, x, y, z)."""
        return self._facts.gcps

    @property
    def block_shapes(self) -> list[tuple[int, int]]:
        block = (min(self._level.block[0], self.height), min(self._level.block[1], self.width))
        return [self._level.block if self._level.tiled else block] * self.count

    @property
    def level_shapes(self) -> list[tuple[int, int]]:
        """Returns width and height of the full image and of each overview."""
        return [(level.width, level.height) for level in self._facts.pages[0]]

    def overviews(self, index: int = 1) -> list[int]:
        """Returns the factors by which the overviews of a band are smaller."""
        self._band(index)
        return [round(self.width / width) for width, _ in self.level_shapes[1:]]

    @property
    def compression(self) -> str:
        return self._level.compression

    @property
    def colorinterp(self) -> tuple[str, ...]:
        """Returns the colours of the bands by rasterio's names: "red", "gray", "palette", "alpha", …, "undefined"."""
        return tuple(_COLOURS.get(name or "", (name or "undefined").lower()) for name in self._facts.colours)

    @property
    def descriptions(self) -> tuple[str | None, ...]:
        return tuple(band.description for band in self._facts.bands)

    @property
    def units(self) -> tuple[str | None, ...]:
        return tuple(band.unit for band in self._facts.bands)

    @property
    def scales(self) -> tuple[float, ...]:
        return self._facts.scales

    @property
    def offsets(self) -> tuple[float, ...]:
        return self._facts.offsets

    @property
    def profile(self) -> dict[str, Any]:
        """Returns the keywords of rasterio for writing a file like this one."""
        level = self._level
        block = {"blockxsize": level.block[1], "blockysize": level.block[0]} if level.tiled else {}
        return {
            "driver": "VRT" if self._facts.kind == "vrt" else "GTiff",
            "dtype": level.dtype,
            "nodata": self.nodata,
            "width": level.width,
            "height": level.height,
            "count": level.bands,
            "crs": self.crs,
            "transform": self.transform,
            **block,
            "tiled": level.tiled,
            "compress": level.compression,
            "interleave": "band" if level.planar == "separate" or level.bands == 1 else "pixel",
        }

    @property
    def facts(self) -> Facts:
        """Returns the metadata of the file."""
        return self._facts

    def tags(self, bidx: int = 0, ns: str | None = None) -> dict[str, str]:
        """Returns the metadata items of the file (band 0) or of a band; `ns` is a domain of GDAL's metadata."""
        core = self._opened()
        if ns is not None:
            ns = text_of(ns, "ns")
        if whole(bidx) != 0:
            return dict(self._facts.bands[self._band(bidx) - 1].items)
        if not ns:
            return _core.words(core)
        return {name: value for name, value, domain in self._facts.items if domain == ns}

    def read(
        self,
        indexes: int | Sequence[int] | None = None,
        window: Any = None,
        *,
        out: Any = None,
        out_shape: tuple[int, ...] | None = None,
        resampling: Any = "nearest",
        boundless: bool = False,
        fill_value: float | None = None,
        out_dtype: Any = None,
        overview_level: int | None = None,
        reduce: int = 0,
        masked: bool = False,
        device: Any = "cpu",
        decode_on: str = "auto",
        stream: int | None = None,
        max_pixels: int | None = None,
        cache: str = "auto",
        progress: bool | Callable[[int, int], object] | None = None,
        grid: Any = None,
        tolerance: float | None = None,
        datum_shift: str = "required",
        source_crs: Any = None,
        nodata: float | None = None,
        order: int | None = None,
        tps: bool = False,
        rpc: bool = False,
        rpc_height: float | None = None,
        rpc_dem: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    ) -> Any:
        """Reads pixels as a numpy array: (y, x) of one band, (band, y, x) of several; `masked` as a masked array.

        `window` is rasterio's `Window`, its pair of pairs, or (column, row, width, height). `reduce=n` decodes
        JPEG 2000 at 1/2ⁿ of full resolution. On a `device` other than the CPU ("cuda", "cuda:1") the result is a
        `Raster` there. `decode_on`, `max_pixels` and `cache` are those of `strile.read`.

        `out_shape` is (rows, columns) or (bands, rows, columns) of the result, resampled by `resampling` ("nearest",
        "bilinear", "average", or rasterio's names) from the smallest overview that has enough pixels. `boundless` takes
        windows that leave the file: pixels outside are `fill_value`, else the nodata value, else 0. `out_dtype` casts the
        result. `fill_value` of a masked array is that of the array.

        `grid` reads onto another grid, with `tolerance`, `datum_shift`, `source_crs`, `nodata`, `order`, `tps`, `rpc`, `rpc_height` and `rpc_dem` as in `strile.read`; `window` is then in
        its pixels, and `fill_value` is that of pixels without a value."""
        core = self._opened()
        masked, boundless = flag_of(masked, "masked"), flag_of(boundless, "boundless")
        reduce = halvings(reduce)
        one = whole(indexes) is not None
        chosen: Any = [indexes] if one else indexes
        numbers = None if chosen is None else self._bands(chosen)
        wanted = None if out_dtype is None else dtype_of(out_dtype, "out_dtype")
        place_of_result = device_of(device, out)
        stays = place_of_result not in (None, "cpu")
        of_grid = {"tolerance": tolerance, "datum_shift": datum_shift, "source_crs": source_crs, "nodata": nodata}
        of_grid |= {"order": order, "tps": tps, "rpc": rpc, "rpc_height": rpc_height, "rpc_dem": rpc_dem}
        if grid is None:
            grid_options.refuse_without_grid(of_grid)
        if stays and masked:
            raise StrileError("masked=True makes a masked array of numpy: drop device, or use strile.read(…, masked=True), which makes NaN")
        if wanted is not None and (stays or out is not None):
            raise StrileError("out_dtype makes a new array of numpy: drop device and out, or read without it")
        if fill_value is not None and not (boundless or masked or grid is not None):
            raise StrileError("fill_value is for boundless=True, masked=True and grid: pass one of them, or drop it")
        fill = None if fill_value is None else number_of(fill_value, "fill_value")
        place: tuple[int, int, int, int] | None = window_of(window, boundless=boundless)
        resized = out_shape is not None or boundless
        execution = execution_of({"decode_on": decode_on, "max_pixels": max_pixels, "cache": cache})
        target = {"out": out, "stream": count_of(stream, "stream", 0), "progress": resolve(progress, "read")}
        if grid is not None:
            grid_options.refuse_with_grid({"out_shape": out_shape, "boundless": boundless, "reduce": reduce})
            level = None if overview_level is None else level_of_overview(overview_level)
            onto_grid = grid_options.onto_of(grid, resampling=resampling, level=level, fill=None if masked else fill, **of_grid)
            where = Place(window=place, bands=numbers, onto=onto_grid)
        elif resized:
            if out is not None or reduce:
                raise StrileError("out_shape and boundless cannot be combined with out or reduce")
            place, size = self._shaped(place, out_shape, numbers, overview_level)
            where = Place(level=level_of_overview(overview_level), bands=numbers)
        else:
            where = Place(level=level_of_overview(overview_level), reduce=reduce, window=place, bands=numbers)
        options = ReadOptions(where, execution=execution, device=place_of_result)
        masks = None
        if resized and grid is None:
            how = {"resampling": method_of(resampling), "sufficient": overview_level is None, "masks": masked}
            pixels, masks = core.read_sized(options, size, window=place, fill=fill if boundless else None, **how)
        elif masked and out is None:
            pixels, masks = core.read_masks(options, with_pixels=True, progress=target["progress"])
        else:
            pixels = core.read(options, **target)
            masks = core.read_masks(options) if masked else None
        if stays and grid is not None and out is None:
            pixels.set_origin(grid_options.GridOrigin([core], onto_grid, place, numbers, False, False))
        if stays or (out is not None and not masked):
            return pixels
        if wanted is not None and wanted.kind != "b":
            pixels = pixels.converted(wanted.name)
        array = out if out is not None else pixels.numpy() if wanted is None else pixels.numpy().astype(wanted, copy=False)
        if masks is not None:
            hidden = masks.numpy() == 0
            array = np.ma.MaskedArray(array, hidden.reshape(array.shape), fill_value=self.nodata if fill is None else fill)
        return array[0] if one and out is None else array

    def _shaped(
        self, window: Any, shape: Any, bands: list[int] | None, overview: Any
    ) -> tuple[tuple[int, int, int, int], tuple[int, int]]:
        """Returns a window, by default the whole level, and the width and height of its result: its own, or those of an `out_shape`."""
        level, levels = level_of_overview(overview), self.level_shapes
        if level >= len(levels):
            raise StrileError(f"{self.name} has {len(levels) - 1} overviews, and overview_level is {overview}")
        place = window or (0, 0, *levels[level])
        if shape is None:
            return place, sides_of(place[2:], "window")
        expected = "expected (rows, columns) or (bands, rows, columns)"
        if isinstance(shape, str | bytes) or not hasattr(shape, "__len__") or len(shape) not in (2, 3):
            raise StrileError(f"out_shape is {shape!r}: {expected}")
        numbers = [whole(side) for side in shape]
        if None in numbers:
            raise StrileError(f"out_shape is {shape!r}: {expected}, in whole numbers")
        count = self.count if bands is None else len(bands)
        if len(numbers) == 3 and numbers[0] != count:
            raise StrileError(f"out_shape is {shape!r}: expected {count} bands, as many as are read")
        return place, sides_of((numbers[-1], numbers[-2]), "out_shape")

    def raster(self) -> Raster:
        """Reads all pixels, (band, y, x), with the metadata that `to_geotiff` writes in `attrs`."""
        core = self._opened()
        pixels = core.read(on_cpu())
        pixels.set_origin(Origin(core, self._source, 0, 0, 0, None, None, False, False))
        return pixels

    def plan(
        self,
        indexes: Sequence[int] | None = None,
        window: Any = None,
        *,
        level: int = 0,
        reduce: int = 0,
        device: Any = "cpu",
        decode_on: str = "auto",
        max_pixels: int | None = None,
        cache: str = "auto",
    ) -> Plan:
        """Plans `read` without reading pixels."""
        bands = None if indexes is None else self._bands([indexes] if whole(indexes) is not None else indexes)
        place = Place(window=window_of(window), level=level_of(level), reduce=reduce, bands=bands)
        execution = execution_of({"decode_on": decode_on, "max_pixels": max_pixels, "cache": cache})
        return self._opened().plan(ReadOptions(place, execution=execution, device=device_of(device)))

    def _band(self, number: Any) -> int:
        found = whole(number)
        if found is None or not 1 <= found <= self.count:
            raise IndexError(f"{self.name}: there is no band {number!r}; bands are 1 to {self.count}")
        return found

    def _bands(self, numbers: Any) -> list[int]:
        if not is_listed(numbers):
            raise TypeError(f"indexes is {numbers!r}: expected the number of a band, from 1, or a list of them")
        found = [self._band(number) for number in numbers]
        if not found:
            raise StrileError("indexes is empty: expected the number of a band, from 1, or a list of them")
        return found

    def quicklook(self, width: int = 256) -> bytes | None:
        """Returns a small PNG; None if the file has no level small enough for it."""
        from . import quicklook

        return quicklook.of_dataset(self, sides_of(width, "width")[0])

    def __repr__(self) -> str:
        state = (
            "closed" if self.closed else f"{self.count} × {self.height} × {self.width} {self._level.dtype}"
        )
        return f"<strile.Dataset {self.name!r}: {state}>"

    def _repr_html_(self) -> str:
        return notebook.of_dataset(self)


def _reopened(source: Source, name: str, version: tuple[int, str]) -> Dataset:
    return Dataset(opened.dataset(source, level=1, version=version), name, source)
