"""The raster that is to be written, described: made from an array and the arguments without a look at a
pixel.

`describe` is the door: what it returns can be written, or the core says why not before the first pixel is
computed.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core import Raster
from ..dataset import Dataset
from ..errors import StrileError
from ..reading.mask import FileMask
from .arguments import STRIP_ROWS, WriteArguments
from .crs import crs_keys
from .georef import Transform, placed
from .layout import Layout, layout_of
from .missing import Missing, missing_of
from .nodata import Number, check_kept, fits, nodata_of
from .pack import Packing, packed_items, packing_encoded, packing_of, states_scales, unpacked_items
from .pixels import Mask, device_of, dtype_of, stored_dtype
from .said import Said, said_by
from .tags import tags_of

MOST_OVERVIEWS = 8
WHOLE_BYTES = ("jpeg", "jpeg2000", "webp", "lerc")
"""Codecs of pictures, which store samples of whole bytes."""


@dataclass(frozen=True, slots=True)
class RasterToWrite:
    """What is written, in the terms of the core, and what its pixels go through."""

    array: Any
    layout: Layout
    dtype: np.dtype[Any]
    transform: Transform | None
    is_point: bool
    nodata: Number | None
    nan_to_nodata: bool
    packing: Packing | None
    missing: Missing | None
    mask: Mask | None
    bits: int | None
    tables: tuple[str, tuple[int, ...]] | None
    inverted: bool
    categories: tuple[tuple[str, ...], tuple[Any, ...]]
    keys: dict[str, Any]

    @property
    def is_lazy(self) -> bool:
        return is_dask(self.array)

    @property
    def device(self) -> int | None:
        return device_of(self.array)


def describe(data: Any, crs: Any, nodata: Any, arguments: WriteArguments) -> RasterToWrite:
    """`data`: a DataArray, or an array of any library."""
    named, array, attrs, dims = _taken_apart(data, arguments.dims)
    if not _is_array(array):
        try:
            array = np.asarray(array)
        except ValueError:
            raise StrileError("cannot write a list whose rows have different lengths: expected rows of one length") from None
    layout = layout_of(tuple(int(side) for side in array.shape), dims)
    source = dtype_of(array)
    said = said_by(named, attrs, layout.bands)
    attrs = said.attrs
    value = nodata_of(nodata, attrs)
    packing = packing_of(attrs, value, source) if arguments.pack else None
    if packing is None and said.encoding is not None:
        filled = 0 if value is None and said.mask in ("image", "alpha") else value
        packing = packing_encoded(said.encoding, filled, layout.axes, source)
    dtype = stored_dtype(source) if packing is None else stored_dtype(packing.dtype)
    _check_predictor(arguments, dtype)
    place = placed(named, attrs, arguments)
    system = crs_keys(crs, named, attrs, arguments.allow_unparseable_crs)
    if arguments.pack and packing is not None:
        attrs = packed_items(attrs, packing, layout.bands)
    else:
        attrs = unpacked_items(attrs)
        if not said.unchanged and states_scales(attrs):
            warnings.warn(
                "the array changed since it was read, and the scale and offset of its file are written as they were: values "
                "must still be stored ones. Read the file with unpack=True to compute with scaled values, or delete "
                "attrs['gdal_metadata_xml'] and attrs['gdal_metadata'] to write values as they are",
                UserWarning,
                stacklevel=4,
            )
    tags = tags_of(attrs, said, layout.bands, dtype)
    colours = _photometric(tags, arguments, layout, dtype)
    inverted = colours["photometric"] == 0
    stored = _inverted(value, dtype) if inverted and value is not None else value
    mask = _mask(said, named, layout, packing)
    keys: dict[str, Any] = {
        "width": layout.width,
        "height": layout.height,
        "bands": layout.bands,
        "dtype": dtype.name,
        **tags,
        **colours,
        **system,
    }
    if mask is not None:
        keys["mask"] = True
    if place.transform is not None:
        keys["transform"] = place.transform
    elif place.gcps:
        keys["gcps"] = place.gcps
    if place.transform is not None or system or place.is_point:
        keys["area_or_point"] = "point" if place.is_point else "area"
    if stored is not None:
        if fits(stored, dtype):
            keys["nodata"] = int(stored) if dtype.kind in "iu" else stored
        else:
            check_kept(stored, dtype, None if nodata is None else "nodata", attrs)
            keys["nodata_text"] = str(stored)
    return RasterToWrite(
        array=array,
        layout=layout,
        dtype=dtype,
        transform=place.transform,
        is_point=place.is_point,
        nodata=value,
        nan_to_nodata=dtype.kind == "f",
        packing=packing,
        missing=missing_of(
            attrs, value, dtype, floats=source.kind == "f", chosen=nodata is not None, unchanged=said.unchanged
        ),
        mask=mask,
        bits=said.bits if _holds(dtype, said.bits) and arguments.compression not in WHOLE_BYTES else None,
        tables=_tables(said, layout.bands),
        inverted=inverted,
        categories=_categories(attrs),
        keys=keys,
    )


def _mask(said: Said, named: Any, layout: Layout, packing: Packing | None) -> Mask | None:
    """The mask image that is written: that of the file which the array was read from."""
    if said.mask == "image" and packing is not None and packing.dtype.kind in "iu":
        return Mask(None, layout.axes)
    if "mask_dropped" not in said.attrs:
        return None
    if isinstance(said.mask, FileMask) and said.mask.fits(named, layout.height, layout.width):
        return Mask(said.mask, layout.axes)
    warnings.warn(
        "the mask of the file that the array was read from is not written, and pixels that it marks as missing become "
        "valid: read the file with masked=True to keep them missing",
        UserWarning,
        stacklevel=5,
    )
    return None


def _holds(dtype: np.dtype[Any], bits: int | None) -> bool:
    """Whether samples of a type are what so few bits are read as."""
    return bits is not None and dtype.kind == "u" and dtype.itemsize * 4 < max(bits, 5) < dtype.itemsize * 8


def options_of(raster: RasterToWrite, arguments: WriteArguments, device: str) -> dict[str, Any]:
    """The core's options for a raster."""
    options: dict[str, Any] = {
        "format": "cog" if arguments.cog else "gtiff",
        "compression": arguments.compression,
        "predictor": arguments.predictor,
        "planar": "contig",
        "bigtiff": {None: "auto", True: "yes", False: "no"}[arguments.bigtiff],
        "resampling": arguments.resampling,
        "nan_to_nodata": raster.nan_to_nodata,
        "reproducible": arguments.reproducible,
        "encode_on": device,
        "overviews": _overviews(raster.layout, arguments),
    }
    if arguments.quality is not None:
        options["quality"] = arguments.quality
    elif arguments.compression == "jpeg2000":
        options["lossless"] = True
    if raster.bits is not None:
        options["bits"] = raster.bits
    if arguments.level is not None:
        options["level"] = arguments.level
    if arguments.max_error:
        options["max_error"] = arguments.max_error
    if arguments.tiled:
        options["tile"] = (arguments.tile_size, arguments.tile_size)
    else:
        options["strip_rows"] = STRIP_ROWS
    return options


def is_dask(array: Any) -> bool:
    return hasattr(array, "__dask_graph__") and hasattr(array, "chunks")


def _taken_apart(
    data: Any, given: tuple[str, ...] | None
) -> tuple[Any, Any, Mapping[Any, Any], tuple[Any, ...] | None]:
    """The DataArray if it is one, its array, its attrs and the names of its axes, where these are known. `given` names of
    axes stand before those of the array."""
    if hasattr(data, "data_vars"):
        raise TypeError("cannot write an xarray.Dataset: choose one of its variables, or use dataset.strile.to_geotiff")
    if isinstance(data, Dataset):
        data = data.raster()
    if isinstance(data, Raster):
        return None, data.numpy() if data.device == "cpu" else data, data.attrs, given or data.dims
    if hasattr(data, "dims") and hasattr(data, "coords") and hasattr(data, "attrs"):
        if given is not None:
            layout_of(tuple(data.shape), given)
            data = data.rename(dict(zip(data.dims, given, strict=True)))
        return data, data.data, data.attrs, tuple(data.dims)
    dims = getattr(data, "dims", None)
    if given is None and isinstance(dims, tuple) and all(isinstance(name, str) for name in dims):
        return None, getattr(data, "data", data), {}, dims
    return None, data, {}, given


def _is_array(array: Any) -> bool:
    return (
        isinstance(array, np.ndarray)
        or is_dask(array)
        or (hasattr(array, "shape") and hasattr(array, "dtype"))
    )


def _check_predictor(arguments: WriteArguments, dtype: np.dtype[Any]) -> None:
    if arguments.predictor == 3 and dtype.kind != "f":
        raise StrileError(f"predictor=3 is for floats, and the raster is of {dtype}: use 2 or 'auto'")


def _photometric(
    tags: dict[str, Any], arguments: WriteArguments, layout: Layout, dtype: np.dtype[Any]
) -> dict[str, Any]:
    """The meaning of the samples: what the tags of the array say, else the argument, else what the file of the array
    had, else grey whatever the bands."""
    chosen = tags.pop("photometric", None)
    kept = tags.pop("kept_photometric", None)
    if layout.bands == 1 and chosen is not None and (chosen == 0) != (arguments.photometric == 0):
        raise StrileError(
            f"photometric {chosen} in attrs['extra_tags'] would change what white is without changing the pixels: pass "
            "photometric= instead"
        )
    if chosen is None:
        chosen = kept if arguments.photometric is None else arguments.photometric
    table = tags.pop("colormap", None)
    if chosen is None:
        chosen = 1 if table is None else 3
    if chosen == 2 and layout.bands < (4 if arguments.alpha else 3):
        needed = 4 if arguments.alpha else 3
        name = "rgba" if arguments.alpha else "rgb"
        raise StrileError(f"photometric {name!r} needs {needed} bands, and the raster has {layout.bands}")
    if chosen == 0 and dtype.kind == "i":
        raise NotImplementedError(
            f"photometric 'miniswhite' on {dtype}: what white means for signed numbers is not defined; use unsigned ones"
        )
    if chosen == 0 and (arguments.cog or arguments.overview_levels):
        raise NotImplementedError(
            "photometric 'miniswhite' with overviews: they would be made of inverted pixels; write it without cog=True"
        )
    if chosen == 3 and table is None:
        raise StrileError("photometric 3 is a palette and needs attrs['colormap']")
    keys: dict[str, Any] = {"photometric": chosen}
    if table is not None and chosen == 3:
        keys["colormap"] = table
    by_band = tags.pop("extra_by_band", None)
    if by_band is not None and not arguments.alpha:
        keys["extra_samples"] = by_band[{2: 3, 5: 4, 6: 3, 8: 3, 9: 3, 10: 3}.get(chosen, 1) :]
    elif arguments.alpha:
        keys["extra_samples"] = [2] + [0] * (layout.bands - 4)
    return keys


def _inverted(value: Number, dtype: np.dtype[Any]) -> Number:
    if dtype.kind == "f":
        return -value
    return int(np.iinfo(dtype).max) - int(value) if fits(value, dtype) else value


def _overviews(layout: Layout, arguments: WriteArguments) -> str | int | list[int]:
    """How many halvings, or which; of a plain file those that are asked for."""
    levels = arguments.overview_levels
    if not (arguments.cog or levels):
        return "none"
    if levels is None:
        count, side = 0, max(layout.height, layout.width)
        while side > arguments.tile_size and count < MOST_OVERVIEWS:
            side = -(-side // 2)
            count += 1
        return count
    if levels and levels[-1] > min(layout.height, layout.width):
        raise StrileError(
            f"overview_levels has {levels[-1]}, and a raster of {layout.height} by {layout.width} pixels would have no "
            "pixel left"
        )
    return list(levels)


def _tables(said: Said, bands: int) -> tuple[str, tuple[int, ...]] | None:
    """Attribute and colour tables as text, and which of its bands (from 0) each band is: of an array that has the categories
    of its file."""
    own = {key: said.attrs[key] for key in ("category_names", "category_colors") if key in said.attrs}
    if said.tables is None or own != said.tables.attrs:
        return None
    return said.tables.text, tuple(range(bands)) if said.bands is None else said.bands


def _categories(attrs: Mapping[Any, Any]) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    def listed(key: str) -> tuple[Any, ...]:
        value = attrs.get(key)
        return tuple(value) if isinstance(value, (list, tuple, np.ndarray)) else ()

    return tuple(str(name) for name in listed("category_names")), listed("category_colors")
