"""Reads GeoTIFF and Cloud-Optimized GeoTIFF into arrays, on the CPU or a GPU."""

from ._core import Raster, StrileError, devices, read

__all__ = ["Raster", "StrileError", "devices", "read"]
