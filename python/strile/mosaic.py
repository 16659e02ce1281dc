"""`strile.vrt`: a VRT that lays files side by side."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from typing import Any

from .checks import flag_of, is_listed, number_of, path_of
from .errors import StrileError
from .reading.arguments import UNSET


def vrt(
    sources: Iterable[str | os.PathLike[str]],
    path: str | os.PathLike[str],
    *,
    separate: bool = False,
    te: tuple[float, float, float, float] | None = None,
    tr: tuple[float, float] | None = None,
    nodata: float | None = UNSET,
    overwrite: bool = False,
    relative: bool = True,
) -> str:
    """Writes a VRT at `path` with one source per file and band, later files on top, and returns the path.

    The files have one reference system and type. Names, scales, offsets, units, nodata, colours, categories, masks and
    metadata that all files have alike are kept. Files that contradict each other in what values mean are an error; what
    the VRT does not keep is named in a `RuntimeWarning`.

    Parameters
    ----------
    sources
        Paths of GeoTIFFs or other VRTs.
    path
        The VRT to write; its name ends in `.vrt`.
    separate
        Put every band of every file into a band of its own.
    te
        `(xmin, ymin, xmax, ymax)` of the VRT, in the files' reference system; all files by default.
    tr
        `(xres, yres)` of a pixel; those of the files by default, which must then be the same.
    nodata
        The value that is transparent in the files and fills what no file covers; those of the files by default, None for
        no value.
    overwrite
        Replace a file that is there.
    relative
        Store paths relative to the folder of the VRT, with `../` if needed; False stores absolute paths.
    """
    from . import _core

    if isinstance(sources, (str, bytes, os.PathLike)):
        raise TypeError(f"sources is {sources!r}: expected a list of paths, got one path")
    if not is_listed(sources):
        raise TypeError(f"sources is {sources!r}: expected a list of paths")
    text = None if nodata is UNSET else "none" if nodata is None else str(number_of(nodata, "nodata"))
    target = path_of(path, "path")
    found = _core.write_vrt(
        target,
        [path_of(source, "a source") for source in sources],
        relative=flag_of(relative, "relative"),
        overwrite=flag_of(overwrite, "overwrite"),
        separate=flag_of(separate, "separate"),
        te=_sides(te, "te", "(xmin, ymin, xmax, ymax)"),
        tr=_sides(tr, "tr", "(xres, yres)"),
        nodata=text,
    )
    for message in found:
        warnings.warn(f"{target}: {message}", RuntimeWarning, stacklevel=2)
    return target


def _sides(values: Any, name: str, expected: str) -> Any:
    """Returns as many numbers as `expected` names."""
    if values is None:
        return None
    numbers = [number_of(value, f"a number of {name}") for value in values] if is_listed(values) else []
    if len(numbers) != expected.count(",") + 1:
        raise StrileError(f"{name} is {values!r}: expected {expected}")
    return tuple(float(number) for number in numbers)
