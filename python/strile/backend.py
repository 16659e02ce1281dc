"""Provides the xarray engine `strile`: `xr.open_dataset(path, engine="strile")`.

Names, dimensions, attributes and decoding are those of rioxarray's engine. Pixels are read when
they are indexed (`pixels`); metadata is made from the file's facts (`conventions`). Every
dataset is lazy; with `chunks` xarray makes dask arrays of it whose tasks can be pickled. With a GPU as `device` it is
made of dask arrays at once, whose blocks are CuPy arrays (`on_device`)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import BackendEntrypoint
from xarray.core import indexing

from . import _core, accessor, conventions, coregistered, on_device
from .checks import level_of_overview, text_of
from .constants import NO_GEOREF
from .errors import StrileError
from .facts import Facts, Level
from .grid_options import operation_attrs
from .pixels import Decoding, PixelArray, float_type
from .reading import opened
from .reading import sidecars as beside
from .reading.arguments import halvings, pixel_limit
from .reading.description import check_coordinates, labels_of
from .reading.source import Source

KEPT = "strile"
"""Key of `encoding`; see `writing.array_metadata`."""


class StrileBackend(BackendEntrypoint):
    description = "GeoTIFF, Cloud-Optimized GeoTIFF and VRT mosaics, on the CPU or a GPU"

    def open_dataset(
        self,
        filename_or_obj: str | os.PathLike[str] | Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        masked: bool = False,
        mask_and_scale: bool = True,
        parse_coordinates: bool = True,
        default_name: str = "band_data",
        band_as_variable: bool = False,
        overview_level: int | None = None,
        reduce: int = 0,
        device: str = "cpu",
        decode_on: str = "auto",
        max_pixels: int | None = None,
        allow_outside: bool = False,
        allowed_roots: Iterable[str | os.PathLike[str]] = (),
        allowed_hosts: Iterable[str] = (),
        storage_options: Mapping[str, Any] | None = None,
        anonymous: bool = False,
        store: Any = None,
        sidecars: str = "auto",
        grid: Any = None,
        like: Any = None,
        var: str | None = None,
        coregister: Any = None,
        auto_reproject: Any = False,
        resampling: str = "auto",
        tolerance: float | None = None,
        datum_shift: str = "required",
        source_crs: Any = None,
        order: int | None = None,
        tps: bool = False,
        rpc: bool = False,
        rpc_height: float | None = None,
        rpc_dem: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    ) -> xr.Dataset:
        """Opens a file as a dataset. `overview_level` counts overviews from 0, as rasterio does; `reduce` is how many times
        JPEG 2000 is halved while it is decoded, with or without overviews; `device` holds the pixels: "cpu"
        (numpy arrays), "cuda" or "cuda:N" (dask arrays of CuPy blocks, cut as `chunks` says); `decode_on` which processor
        decodes, as in `strile.read`. `max_pixels` is the most samples that are read at once, as in `open_geotiff`.
        Sources of a VRT may lie in its own folder, in `allowed_roots`, on `allowed_hosts`, or anywhere with `allow_outside`.
        `storage_options`, `anonymous`, `store` and `sidecars` are those of `open_geotiff`.

        `grid` reads onto another grid: a `strile.Grid`, or what has one. `like` is an array (or anything with a grid) that the file is read
        over: on its grid (`coregister`, the default), in its reference system (`auto_reproject`), or, with `coregister=False`, the part of
        the file that it covers. The array may also be the value of `coregister` or `auto_reproject`. `var` names its raster if it is a Dataset. `resampling` "auto" takes the nearest pixel of integers
        and interpolates floats; `tolerance`, `datum_shift`, `source_crs` and the words that place a file by its control points or RPCs are those of
        `open_geotiff`."""
        accessor.register()
        _check_device(device)
        target = coregistered.target_of(like, var, coregister, auto_reproject)
        source = Source.of(
            filename_or_obj, allow_outside=allow_outside, allowed_roots=allowed_roots, allowed_hosts=allowed_hosts,
            storage_options=storage_options, anonymous=anonymous, store=store, sidecars=sidecars,
        )  # fmt: skip
        level, reduce, most = level_of_overview(overview_level), halvings(reduce), pixel_limit(max_pixels)
        dataset = opened.dataset(source, level=level)
        facts = Facts.of(dataset)
        beside.warn_of(facts.warnings, str(source), stacklevel=4)
        levels = facts.pages[0]
        if level >= len(levels):
            raise IndexError(f"{source}: there is no overview {overview_level}; it has {len(levels) - 1}")
        shown = levels[level].halved(reduce)
        masked = bool(masked or mask_and_scale)
        given: dict[str, Any] = {
            "datum_shift": datum_shift, "source_crs": source_crs, "order": order, "tps": tps, "rpc": rpc, "rpc_height": rpc_height, "rpc_dem": rpc_dem,
        }  # fmt: skip
        over = coregistered.Over.of(dataset, grid, *target, given)
        onto = over.onto(
            dataset, resampling=resampling, tolerance=tolerance, level=None if overview_level is None else level, **given
        )  # fmt: skip
        if onto is not None and reduce:
            raise StrileError("reduce cannot be combined with a grid: leave it out, the resolution follows from the grid")
        decoding = _decoding(facts, shown, masked, bool(mask_and_scale))
        dtype = float_type(facts.dtype) if masked else facts.dtype
        # Indexed later, and perhaps by a process that works in another folder.
        height, width = (shown.height, shown.width) if onto is None else onto.grid.shape
        shape = (shown.bands, height, width)
        array = PixelArray(
            source.anywhere(), level, reduce, shape, dtype, decoding, device, text_of(decode_on, "decode_on"), dataset.version, most, onto,
            masked_outside=masked,
        )  # fmt: skip
        check_coordinates(dataset, height, width, most)
        array.check()
        attrs = conventions.attributes(dataset, facts)
        encoding = _encoding(source, facts, shown, dtype)
        if onto is None:
            encoding[KEPT] = _kept(dataset, facts, level, attrs, array.shape)
        else:
            attrs |= operation_attrs([dataset], onto, stacklevel=5)
            side = conventions.square_chunk(dtype.itemsize * shown.bands)
            encoding["preferred_chunks"] = {"y": min(side, height), "x": min(side, width), "band": shown.bands}
        _place_decoding(attrs, encoding, facts, dtype, masked=masked, scaled=bool(mask_and_scale))
        dims = ("band", "y", "x")
        if device != "cpu":
            variable = on_device.variable(array, dims, attrs, encoding)
        else:
            variable = xr.Variable(dims, indexing.LazilyIndexedArray(array), attrs, encoding)
        georeference = conventions.Georeference.of_level(facts, shown) if onto is None else conventions.Georeference.of_grid(onto.grid)
        labels = {"band": np.arange(1, shown.bands + 1)}
        if parse_coordinates:
            labels |= georeference.coordinates() | ({} if onto is None else over.coordinates())
        # xarray would make each index several times.
        known = {name: labels_of(name, numbers) for name, numbers in labels.items() if numbers.ndim == 1}
        coords = {name: known[name][1] if name in known else xr.Variable(("y", "x"), numbers) for name, numbers in labels.items()}
        coords[conventions.SPATIAL_REF] = xr.Variable((), np.int64(0), georeference.spatial_ref())
        result = xr.Dataset({default_name: variable}, xr.Coordinates(coords, {name: index for name, (index, _) in known.items()}))
        result = over.cut(result, dataset, level, reduce, georeference.transform)
        if band_as_variable:
            result = _bands_apart(result, default_name, facts)
        if drop_variables is not None:
            result = result.drop_vars(drop_variables, errors="ignore")
        result.encoding["source"] = encoding["source"]
        return result

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Returns False. rioxarray's engine accepts the same suffixes, xarray takes the first engine that accepts, and
        installing strile must not change what `xr.open_dataset("a.tif")` means to those who have it.
        Callers name `engine="strile"`."""
        return False


def _check_device(device: str) -> None:
    if isinstance(device, str) and device.startswith("cuda"):
        on_device.require()
    elif device != "cpu":
        raise StrileError(f"device is {device!r}: expected 'cpu', 'cuda' or 'cuda:N'")


def _decoding(facts: Facts, level: Level, masked: bool, scaled: bool) -> Decoding:
    scales = offsets = None
    if scaled:
        scales, offsets = facts.scales, facts.offsets
        if len(scales) != level.bands:
            scales = offsets = None
    return Decoding(masked and facts.dtype.kind != "c", scales, offsets)


def _nodata(facts: Facts) -> int | float | None:
    """Returns the nodata value; None if no pixel can have it, as in rasterio."""
    value = facts.nodata
    return value if value is not None and _core.check_nodata(value, facts.dtype.name, "", allow_invalid=True) else None


def _encoding(source: Source, facts: Facts, level: Level, dtype: np.dtype[Any]) -> dict[str, Any]:
    name = source.shown if source.is_remote or source.is_object else os.path.abspath(source.location)
    return {
        "grid_mapping": conventions.SPATIAL_REF,
        "preferred_chunks": conventions.preferred_chunks(level, dtype.itemsize),
        "source": name,
        "rasterio_dtype": str(facts.dtype),
    }


def _kept(
    dataset: Any, facts: Facts, level: int, attrs: dict[str, Any], shape: tuple[int, ...]
) -> dict[str, Any]:
    """Returns metadata that rioxarray has no names for, for `to_geotiff`: tags, items of bands, colours, control points, categories."""
    kept: dict[str, Any] = {"shown": dict(attrs), "shape": shape, **_core.stated(dataset, level)}
    if facts.kind == "tiff" and facts.level(level).fewer_bits is not None:
        kept["nbits"] = facts.level(level).fewer_bits
    if facts.gcps and facts.transform is None:
        kept["gcps"] = _core.placement(dataset, level, allow_rotated=True, oriented=False).gcps
    if facts.transform is None and not facts.gcps:
        kept[NO_GEOREF] = True
    if facts.nodata is None and facts.mask_source in ("image", "alpha"):
        kept["mask"] = facts.mask_source
    categories, tables = beside.categories(dataset, stacklevel=6)
    kept |= categories
    if tables is not None:
        kept["tables"] = tables
    return kept


def _place_decoding(
    attrs: dict[str, Any],
    encoding: dict[str, Any],
    facts: Facts,
    dtype: np.dtype[Any],
    *,
    masked: bool,
    scaled: bool,
) -> None:
    """Puts scaling and nodata into the encoding if they were applied, for a writer to reverse, else into
    attribute."""
    (encoding if scaled else attrs).update(conventions.scaling(facts))
    if masked:
        encoding["dtype"] = str(facts.dtype)
    nodata = _nodata(facts)
    if nodata is not None:
        (encoding if masked else attrs)["_FillValue"] = dtype.type(nodata)


def _bands_apart(dataset: xr.Dataset, name: str, facts: Facts) -> xr.Dataset:
    """Splits a dataset into one variable per band, `band_1` and on, each with its own name and unit."""
    stacked = dataset[name]
    result = dataset.drop_vars([name, "band"])
    for number, band in enumerate(facts.bands):
        # Lazy: a variable that was indexed reads its part alone.
        variable = stacked.variable[number]
        for key, value in (("long_name", band.description), ("units", band.unit)):
            variable.attrs.pop(key, None)
            if value:
                variable.attrs[key] = value
        chunks = {axis: size for axis, size in stacked.encoding["preferred_chunks"].items() if axis != "band"}
        kept = {**stacked.encoding[KEPT], "band": number}
        variable.encoding = {**stacked.encoding, "preferred_chunks": chunks, KEPT: kept}
        result[f"band_{number + 1}"] = variable
    return result
