"""Words that other programs compare with: what georeferencing a read found, and how settled each feature
is."""

from __future__ import annotations

CONTRACT = "_xrspatial_geotiff_contract"
"""Key of `attrs` that every read sets, as xarray-spatial does."""
NO_GEOREF = "_xrspatial_no_georef"
"""Key of `attrs` of an array whose coordinates are numbers of pixels."""

GEOREF_STATUS_FULL = "full"
GEOREF_STATUS_TRANSFORM_ONLY = "transform_only"
GEOREF_STATUS_CRS_ONLY = "crs_only"
GEOREF_STATUS_NONE = "none"
GEOREF_STATUS_ROTATED_DROPPED = "rotated_dropped"
GEOREF_STATUS_VALUES = frozenset(
    {
        GEOREF_STATUS_FULL,
        GEOREF_STATUS_TRANSFORM_ONLY,
        GEOREF_STATUS_CRS_ONLY,
        GEOREF_STATUS_NONE,
        GEOREF_STATUS_ROTATED_DROPPED,
    }
)
"""Every value of `attrs["georef_status"]`."""

SUPPORTED_FEATURES: dict[str, str] = {
    **{f"codec.{name}": "stable" for name in ("none", "deflate", "lzw", "packbits", "zstd", "lz4", "lerc")},
    **{f"codec.{name}": "stable" for name in ("jpeg", "jpeg2000", "j2k", "webp", "jxl")},
    "codec.lzma": "advanced",
    "codec.ccitt": "advanced",
    "reader.local_file": "stable",
    "reader.windowed": "stable",
    "reader.dask": "stable",
    "reader.gpu": "stable",
    "reader.local_cog": "stable",
    "reader.sidecar_ovr": "stable",
    "reader.vrt": "advanced",
    "reader.fsspec": "advanced",
    "reader.http": "advanced",
    "reader.http_cog": "advanced",
    "reader.unpack": "stable",
    "reader.allow_rotated": "stable",
    "reader.allow_unparseable_crs": "advanced",
    "reader.xarray_engine": "stable",
    "writer.local_file": "stable",
    "writer.cog": "stable",
    "writer.overviews": "stable",
    "writer.bigtiff": "stable",
    "writer.bigtiff_cog": "stable",
    "writer.dask": "stable",
    "writer.gpu": "stable",
    "writer.pack": "stable",
    "writer.vrt": "advanced",
    "writer.file_like": "advanced",
    "writer.gdal_metadata_xml": "advanced",
    "writer.extra_tags": "advanced",
}
"""How settled each feature is: `stable`, or `advanced` (tested, and may still change in how it is
spelled)."""
