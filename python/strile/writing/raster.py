"""Describes the raster to be written, from an array and the arguments, without reading a
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

from .._core import Raster, RasterSpec
from ..dataset import Dataset
from ..errors import StrileError
from ..reading.mask import FileMask
from .arguments import STRIP_ROWS, WriteArguments
from .array_metadata import ArrayMetadata, metadata_of
from .crs import crs_keys
from .georef import placed
from .layout import Layout, layout_of
from .missing import Missing, missing_of
from .nodata import Number, check_kept, fits, nodata_of
from .pack import Packing, packed_words, packing_encoded, packing_of
from .pixels import Mask, device_of, dtype_of, stored_dtype

MOST_OVERVIEWS = 8
WHOLE_BYTES = ("jpeg", "jpeg2000", "webp", "lerc")
"""Codecs of pictures, which store samples of whole bytes."""

STATED = (
    "colormap", "extra_samples", "extra_tags", "gdal_metadata", "gdal_metadata_xml", "image_description", "photometric",
    "resolution_unit", "x_resolution", "y_resolution",
)  # fmt: skip
"""Attributes that the core writes as they are."""


@dataclass(frozen=True, slots=True)
class RasterToWrite:
    """The raster in terms of the core, and the conversions of its pixels."""

    array: Any
    layout: Layout
    dtype: np.dtype[Any]
    nodata: Number | None
    nan_to_nodata: bool
    packing: Packing | None
    missing: Missing | None
    mask: Mask | None
    bits: int | None
    tables: tuple[str, tuple[int, ...]] | None
    categories: tuple[tuple[str, ...], tuple[Any, ...]]
    keys: dict[str, Any]
    """Keywords of the core's `RasterSpec`."""
    spec: RasterSpec

    @property
    def is_lazy(self) -> bool:
        return is_dask(self.array)

    @property
    def device(self) -> int | None:
        return device_of(self.array)


@dataclass(slots=True)
class Piece:
    """Some pixels on their way to the writer, all bands of them, and where their first one lies."""

    array: Any
    row: int
    column: int


def describe(data: Any, crs: Any, nodata: Any, arguments: WriteArguments) -> RasterToWrite:
    """Describes `data`: a DataArray, or an array of any library."""
    named, array, attrs, dims = _taken_apart(data, arguments.dims)
    if not _is_array(array):
        try:
            array = np.asarray(array)
        except ValueError:
            raise StrileError("cannot write a list whose rows have different lengths: expected rows of one length") from None
    layout = layout_of(tuple(int(side) for side in array.shape), dims)
    source = dtype_of(array)
    metadata = metadata_of(named, attrs, layout.bands)
    attrs = metadata.attrs
    value = nodata_of(nodata, attrs)
    packing = packing_of(attrs, value, source) if arguments.pack else None
    if packing is None and metadata.encoding is not None:
        filled = 0 if value is None and metadata.mask in ("image", "alpha") else value
        packing = packing_encoded(metadata.encoding, filled, layout.axes, source)
    dtype = stored_dtype(source) if packing is None else stored_dtype(packing.dtype)
    _check_predictor(arguments, dtype)
    place = placed(named, attrs, arguments)
    system = crs_keys(crs, named, attrs, arguments.allow_unparseable_crs)
    mask = _mask(metadata, named, layout, packing)
    keys: dict[str, Any] = {"source_bands": metadata.bands, **metadata.keywords, **system}
    if arguments.pack and packing is not None:
        keys |= packed_words(attrs, packing, layout.bands)
    if place.transform is not None or system or place.is_point:
        keys["area_or_point"] = "point" if place.is_point else "area"
    if value is not None:
        if fits(value, dtype):
            keys["nodata"] = int(value) if dtype.kind in "iu" else value
        else:
            check_kept(value, dtype, None if nodata is None else "nodata", attrs, metadata.unchanged)
            keys["nodata_text"] = str(value)
    keys |= {
        "width": layout.width,
        "height": layout.height,
        "bands": layout.bands,
        "dtype": dtype.name,
        "attrs": {key: attrs[key] for key in STATED if key in attrs},
        "statistics": metadata.whole,
        "scaling": arguments.pack or attrs.get("mask_and_scale_dtype") is None,
        "changed": not metadata.unchanged and not arguments.pack and bool(attrs.get("gdal_metadata_xml")),
        "photometric": "auto" if arguments.photometric is None else arguments.photometric,
        "alpha": arguments.alpha,
        "overviews": arguments.cog or bool(arguments.overview_levels),
        "mask": mask is not None,
        "transform": place.transform,
        "gcps": place.gcps or (),
    }
    spec = RasterSpec(**keys)
    for message in spec.warnings:
        warnings.warn(message, UserWarning, stacklevel=3)
    return RasterToWrite(
        array=array,
        layout=layout,
        dtype=dtype,
        nodata=value,
        nan_to_nodata=dtype.kind == "f",
        packing=packing,
        missing=missing_of(
            attrs, value, dtype, floats=source.kind == "f", chosen=nodata is not None, unchanged=metadata.unchanged
        ),
        mask=mask,
        bits=metadata.bits if _holds(dtype, metadata.bits) and arguments.compression not in WHOLE_BYTES else None,
        tables=_tables(metadata, layout.bands),
        categories=_categories(attrs),
        keys=keys,
        spec=spec,
    )


def _mask(metadata: ArrayMetadata, named: Any, layout: Layout, packing: Packing | None) -> Mask | None:
    """Returns the mask image to write: that of the file which the array was read from."""
    if metadata.mask == "image" and packing is not None and packing.dtype.kind in "iu":
        return Mask(None, layout.axes)
    if "mask_dropped" not in metadata.attrs:
        return None
    if isinstance(metadata.mask, FileMask) and metadata.mask.fits(named, layout.height, layout.width):
        return Mask(metadata.mask, layout.axes)
    warnings.warn(
        "the mask of the file that the array was read from is not written, and pixels that it marks as missing become "
        "valid: read the file with masked=True to keep them missing",
        UserWarning,
        stacklevel=5,
    )
    return None


def _holds(dtype: np.dtype[Any], bits: int | None) -> bool:
    """Returns whether samples of this many bits are read as a type."""
    return bits is not None and dtype.kind == "u" and dtype.itemsize * 4 < max(bits, 5) < dtype.itemsize * 8


def options_of(raster: RasterToWrite, arguments: WriteArguments, device: str) -> dict[str, Any]:
    """Keywords of the core's `WriteOptions` for a raster."""
    return dict(
        format="cog" if arguments.cog else "gtiff",
        compression=arguments.compression,
        level=arguments.level,
        quality=arguments.quality,
        lossless=True if arguments.compression == "jpeg2000" and arguments.quality is None else None,
        max_error=arguments.max_error or None,
        predictor=arguments.predictor,
        tile=(arguments.tile_size, arguments.tile_size) if arguments.tiled else None,
        strip_rows=None if arguments.tiled else STRIP_ROWS,
        bits=raster.bits,
        bigtiff={None: "auto", True: "yes", False: "no"}[arguments.bigtiff],
        overviews=_overviews(raster.layout, arguments),
        resampling=arguments.resampling,
        nan_to_nodata=raster.nan_to_nodata,
        reproducible=arguments.reproducible,
        encode_on=device,
    )


def is_dask(array: Any) -> bool:
    return hasattr(array, "__dask_graph__") and hasattr(array, "chunks")


def _taken_apart(
    data: Any, given: tuple[str, ...] | None
) -> tuple[Any, Any, Mapping[Any, Any], tuple[Any, ...] | None]:
    """Returns the DataArray if it is one, its array, its attrs and the names of its axes, where these are known. `given` names of
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


def _overviews(layout: Layout, arguments: WriteArguments) -> str | int | list[int]:
    """Returns the number of halvings, or the levels; for a plain file only requested ones."""
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


def _tables(metadata: ArrayMetadata, bands: int) -> tuple[str, tuple[int, ...]] | None:
    """Returns attribute and colour tables as text, and which of its bands (from 0) each band is, if the array has the categories
    of its file."""
    own = {key: metadata.attrs[key] for key in ("category_names", "category_colors") if key in metadata.attrs}
    if metadata.tables is None or own != metadata.tables.attrs:
        return None
    return metadata.tables.text, tuple(range(bands)) if metadata.bands is None else metadata.bands


def _categories(attrs: Mapping[Any, Any]) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    def listed(key: str) -> tuple[Any, ...]:
        value = attrs.get(key)
        return tuple(value) if isinstance(value, (list, tuple, np.ndarray)) else ()

    return tuple(str(name) for name in listed("category_names")), listed("category_colors")
