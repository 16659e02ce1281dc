"""Reads and writes GeoTIFF and Cloud-Optimized GeoTIFF as arrays, on the CPU or a GPU.

Importing this package imports nothing but errors and constants: every other name is looked up in its module
when it is first used, so that xarray, dask, CuPy and the core are loaded only by those who need them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .constants import *
from .errors import *
from .imported import when_imported

if TYPE_CHECKING:
    from ._core import Grid, Headers, Plan, Raster, cache_stats, clear_cache, devices, set_cache_folder, set_cache_limit
    from .batch import prefetch, read_batch, write_header_index
    from .commands import add_overviews, compare, convert, convert_many, info, remove_overviews, sample, validate_cog
    from .dataset import Dataset, open, read
    from .mosaic import vrt
    from .opening import open_geotiff
    from .pixel_window import Window
    from .prepared import plan
    from .viewer import View, view
    from .write import to_geotiff

# Names by the module that they are loaded from when they are first used. No module of the package has the name of a
# public function: importing it would put the module in the function's place.
_LAZY = {
    name: module
    for module, names in {
        "_core": ("Grid", "Headers", "Plan", "Raster", "cache_stats", "clear_cache", "devices", "set_cache_folder", "set_cache_limit"),
        "batch": ("prefetch", "read_batch", "write_header_index"),
        "commands": ("add_overviews", "compare", "convert", "convert_many", "info", "remove_overviews", "sample", "validate_cog"),
        "dataset": ("Dataset", "open", "read"),
        "mosaic": ("vrt",),
        "opening": ("open_geotiff",),
        "pixel_window": ("Window",),
        "prepared": ("plan",),
        "viewer": ("View", "view"),
        "write": ("to_geotiff",),
    }.items()
    for name in names
}

__all__ = [
    "ClosedError",
    "CloudSizeLimitError",
    "ConflictingCRSError",
    "ConflictingNodataError",
    "Dataset",
    "DegeneratePixelSizeError",
    "DeviceError",
    "DuplicateIFDTagError",
    "ForkedError",
    "GEOREF_STATUS_CRS_ONLY",
    "GEOREF_STATUS_FULL",
    "GEOREF_STATUS_NONE",
    "GEOREF_STATUS_ROTATED_DROPPED",
    "GEOREF_STATUS_TRANSFORM_ONLY",
    "GEOREF_STATUS_VALUES",
    "GeoTIFFAmbiguousMetadataError",
    "GeoTIFFFallbackWarning",
    "Grid",
    "Headers",
    "InconsistentGeoKeysError",
    "InternalError",
    "InvalidCRSCodeError",
    "InvalidIntegerNodataError",
    "MalformedScaleOffsetError",
    "MixedBandMetadataError",
    "NonRepresentableEPSGCRSError",
    "NonUniformCoordsError",
    "PixelSafetyLimitError",
    "Plan",
    "Raster",
    "RemoteStableSourcesOnlyError",
    "RotatedTransformError",
    "SUPPORTED_FEATURES",
    "StrileError",
    "UnknownCRSModelTypeError",
    "UnparseableCRSError",
    "UnsafeURLError",
    "UnsupportedGeoTIFFFeatureError",
    "VRTStableSourcesOnlyError",
    "VRTUnsupportedError",
    "View",
    "Window",
    "add_overviews",
    "cache_stats",
    "clear_cache",
    "compare",
    "convert",
    "convert_many",
    "devices",
    "info",
    "open",
    "open_geotiff",
    "plan",
    "prefetch",
    "read",
    "read_batch",
    "remove_overviews",
    "sample",
    "set_cache_folder",
    "set_cache_limit",
    "to_geotiff",
    "validate_cog",
    "view",
    "vrt",
    "write_header_index",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("strile")
    elif name in _LAZY:
        value = getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})


def _register_accessors() -> None:
    from . import accessor

    accessor.register()


when_imported("xarray", _register_accessors)
