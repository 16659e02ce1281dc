"""VRTs as one array: its type and nodata values, and the sources that a window needs.

The core reads the mosaic and refuses what it does not serve, and sources that lie elsewhere than they may. Which of the
sources of a window are missing is reported before anything is read."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from .. import _core, environment
from ..errors import StrileError, VRTUnsupportedError
from ..facts import Facts
from .arguments import Arguments
from .shown import redacted

_MISSING = "FileNotFoundError: there is no such file"
_NAMED = 20


class Mosaic(NamedTuple):
    """The bands of a VRT: the type they are read as, their nodata values, and whether these differ."""

    dtype: str
    values: list[int | float | None]
    apart: bool

    def nodata(self, band: int | None) -> tuple[int | float | None, ...]:
        """Returns the nodata value of all bands that are read, or one for each where they differ."""
        if band is not None:
            return (self.values[band],)
        return tuple(self.values if self.apart else self.values[:1])


def inspect(call: Arguments) -> Mosaic | None:
    """Returns the bands of a VRT, and refuses bands that one array cannot hold. None for other sources."""
    source, band = call.source, call.band
    if not source.is_vrt:
        return None
    if band is not None and not 0 <= band < 65_535:
        # A band that no file has: the error names the bands when the file is open.
        band = 65_535
    limits: dict[str, Any] = {"mixed_nodata": call.band_nodata is not None, "max_bytes": environment.vrt_max_xml_bytes()}
    return Mosaic(*_core.one_array(source.location, band=band, remote=source.for_core(), **limits))


def needed(
    dataset: Any, call: Arguments, bands: tuple[int, ...], window: tuple[int, ...]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Returns the holes that a window of some bands will have, as `vrt_holes` lists them, and the sources it will be
    made of. A source that must not be opened, is placed in a way no mosaic can follow, or is of another reference
    system, is an error: headers are looked at, pixels are not."""
    path = str(call.source)
    row, column, row1, column1 = window
    holes: list[dict[str, Any]] = []
    there: list[dict[str, Any]] = []
    looked_at: dict[str, str | None] = {}
    broken: dict[str, str] = {}
    warped = dataset.facts["warped"]
    wanted = set(bands)
    whole = (0.0, 0.0, float(dataset.facts["pages"][0]["levels"][0]["width"]), float(row1))
    for entry in dataset.sources():
        x, y, width, height = entry["target_rect"] = entry["target_rect"] or whole
        apart = x >= column1 or x + width <= column or y >= row1 or y + height <= row
        if apart or entry["band"] not in wanted:
            continue
        if entry["problem"] is not None:
            raise VRTUnsupportedError(f"{path}: {entry['problem']}")
        found = entry["path"]
        if found is None:
            holes.append(_hole(entry, path, _MISSING))
            continue
        if found not in looked_at and found not in broken and not found.lower().endswith(".vrt"):
            opened = _opened(dataset, found, call)
            if isinstance(opened, str):
                broken[found] = opened
            else:
                looked_at[found] = _look(opened, redacted(found), call, warped)
        if found in broken:
            holes.append(_hole(entry, path, broken[found]))
        else:
            there.append(entry)
    if holes and call.missing_sources == "raise":
        names = sorted({hole["source"] for hole in holes})
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        raise FileNotFoundError(
            f"{path} needs {', '.join(names[:_NAMED])}{more}, which cannot be opened: pass missing_sources='warn' for a "
            "partial mosaic"
        )
    if not warped:
        _one_system(_system(dataset), looked_at, path)
    return holes, there


def damaged(sources: list[dict[str, Any]], problems: dict[str, str], path: str) -> list[dict[str, Any]]:
    """Returns the holes of damaged sources that a read skipped, by name."""
    return [
        _hole(entry, path, f"StrileError: {problems[entry['name']]}")
        for entry in sources
        if entry["name"] in problems
    ]


def _hole(entry: dict[str, Any], path: str, error: str) -> dict[str, Any]:
    name = entry["name"]
    is_whole = os.path.isabs(name) or "://" in name or "://" in path
    return {
        "source": name if is_whole else os.path.join(os.path.dirname(os.path.abspath(path)), name),
        "band": entry["band"],
        "dst_rect": tuple(int(number) for number in entry["target_rect"]),
        "error": error,
    }


def _opened(dataset: Any, path: str, call: Arguments) -> Any:
    """Opens a source, or returns the problem of one that may be skipped."""
    try:
        return dataset.open_source(path)
    except (StrileError, OSError) as problem:
        if call.missing_sources == "raise":
            raise
        return f"{type(problem).__name__}: {problem}"


def _look(dataset: Any, path: str, call: Arguments, warped: bool) -> str | None:
    """Checks a source by the rules for files, and returns its reference system. Sources of a warped VRT may be rotated."""
    _core.placement(dataset, allow_rotated=call.allow_rotated or warped, oriented=False)
    if (value := dataset.facts["stated_nodata"]) is not None:
        _core.check_nodata(value, Facts.of(dataset).dtype.name, path, allow_invalid=call.allow_invalid_nodata)
    return _system(dataset)


def _system(dataset: Any) -> str | None:
    crs = dataset.facts["crs"]
    return f"EPSG:{crs['epsg']}" if crs is not None and crs["epsg"] else None


def _one_system(of_mosaic: str | None, of_sources: dict[str, str | None], path: str) -> None:
    """Refuses sources whose code differs from the mosaic's; systems without a code cannot be compared reliably."""
    for source, system in of_sources.items():
        if of_mosaic is not None and system is not None and system != of_mosaic:
            raise VRTUnsupportedError(
                f"{path} is in {of_mosaic} and its source {redacted(source)} in {system}: a mosaic is not "
                "reprojected, warp it first"
            )
