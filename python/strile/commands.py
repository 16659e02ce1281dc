"""What the commands of `strile` do, as functions: `convert`, `add_overviews`, `validate_cog`, `compare`, `info`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from .asked import bands_of, count_of, flag_of, index_of, level_of, number_of, path_of, text_of, window_of
from .dataset import Dataset
from .errors import StrileError
from .facts import Facts
from .reading import opened
from .reading.arguments import pixel_limit
from .reading.source import Source

Place = str | os.PathLike[str] | Dataset


def convert(
    source: Place | Any,
    target: str | os.PathLike[str],
    *,
    format: str | None = None,
    profile: str | None = None,
    creation_options: Mapping[str, Any] | None = None,
    window: Any = None,
    bands: Sequence[int] | None = None,
    overview_level: int | None = None,
    page: int = 0,
    crs: int | str | None = None,
    nodata: float | str | None = None,
    transform: Sequence[float] | None = None,
    resampling: str | None = None,
    reencode: bool = False,
    reproducible: bool = False,
    device: str = "cpu",
    max_pixels: int | None = None,
    overwrite: bool = False,
    progress: bool | Callable[[int, int], object] | None = None,
    memory: int | None = None,
    threads: int | None = None,
) -> str:
    """Writes a file, or a part of it, as another GeoTIFF or COG, in bounded memory; returns `target`.

    All that the file says is kept: georeference, nodata, masks, colours, names, scales, tags. Blocks stored alike in
    both files are copied without decoding. This is `strile convert`.

    format, profile, creation_options
        "gtiff" or "cog"; a profile of rio-cogeo ("deflate", "zstd", "jpeg", …); GDAL's creation options, as
        {"COMPRESS": "ZSTD", "BLOCKSIZE": 256}.
    window, bands, overview_level, page
        What is taken: a window (column, row, width, height) or a rasterio `Window`, bands from 1, an overview from 0.
    crs, nodata, transform
        What is said of the pixels differently; `nodata="none"` removes the value.
    resampling
        How overviews are made: average, nearest, mode, …
    reencode, reproducible, device
        Decode and encode every block; the same bytes whichever device encodes; "cpu", "auto" or "cuda:N".
    max_pixels
        The most samples of what is written, as in `strile.read`.
    """
    from . import _core
    from .progress import resolve
    from .writing.georef import checked_transform

    path = path_of(target, "target")
    if creation_options is not None and not isinstance(creation_options, Mapping):
        raise TypeError(f"creation_options is {creation_options!r}: expected a dict, as {{'COMPRESS': 'ZSTD'}}")
    options: dict[str, Any] = {
        "format": format,
        "profile": profile,
        "creation_options": [(str(name), str(value)) for name, value in (creation_options or {}).items()],
        "window": window_of(window),
        "bands": bands_of(bands),
        "level": level_of(overview_level),
        "page": index_of(page, "page"),
        "crs": crs,
        "nodata": nodata,
        "transform": checked_transform(transform),
        "resampling": resampling,
        "reencode": flag_of(reencode, "reencode"),
        "reproducible": flag_of(reproducible, "reproducible"),
        "device": device,
        "max_pixels": pixel_limit(max_pixels),
    }
    chosen = {key: value for key, value in options.items() if value is not None}
    report = _core.convert(
        _core_of(source),
        path,
        chosen,
        overwrite=flag_of(overwrite, "overwrite"),
        progress=resolve(progress, "convert"),
        memory=count_of(memory, "memory"),
        threads=count_of(threads, "threads"),
    )
    _warn(path, report)
    return path


def add_overviews(
    path: str | os.PathLike[str],
    *,
    count: int | None = None,
    resampling: str | None = None,
    compression: str | None = None,
    external: bool = False,
    overwrite: bool = False,
    max_pixels: int | None = None,
    memory: int | None = None,
    threads: int | None = None,
) -> None:
    """Adds overviews to a file: `count` of them, each half of the one above, or until the smallest fits one block.

    `external` writes them beside the file as `.ovr`, and `overwrite` replaces one that is there. This is `strile overview`."""
    from . import _core

    options = {
        "count": count,
        "resampling": resampling,
        "compression": compression,
        "external": flag_of(external, "external"),
        "overwrite": flag_of(overwrite, "overwrite"),
        "max_pixels": pixel_limit(max_pixels),
    }
    chosen = {key: value for key, value in options.items() if value is not None}
    target = path_of(path, "path")
    limits = {"memory": count_of(memory, "memory"), "threads": count_of(threads, "threads")}
    _warn(target, _core.add_overviews(target, chosen, **limits))


def validate_cog(source: Place | Any, *, strict: bool = False) -> dict[str, Any]:
    """Whether a file is a Cloud-Optimized GeoTIFF, by the rules of GDAL and of rio-cogeo.

    Returns `valid` (with `strict`: and without warnings), `errors` and `warnings`; each finding has a `code`, a `place`, a
    `message`, `advice`, and by whose rules it is one. This is `strile cog validate`."""
    from . import _core

    return _core.validate_cog(_core_of(source), strict=flag_of(strict, "strict"))


def compare(
    a: Place | Any,
    b: Place | Any,
    *,
    tolerance: float = 0.0,
    structure: bool = False,
    device: str = "auto",
    max_pixels: int | None = None,
) -> list[dict[str, Any]]:
    """How two files differ: shape, pixels, masks, overviews, georeference, metadata, tags; an empty list if they do not.

    `tolerance`: by how much samples may differ. `structure` compares compression, blocks and byte order as well. Each
    difference has a `category`, a `place`, a `message`, and figures of `samples` or None. This is `strile compare`."""
    from . import _core

    allowed = number_of(tolerance, "tolerance")
    if not allowed >= 0:
        raise StrileError(f"tolerance is {tolerance!r}: expected a number from 0 on")
    return _core.compare(
        _core_of(a),
        _core_of(b),
        tolerance=float(allowed),
        structure=flag_of(structure, "structure"),
        device=text_of(device, "device"),
        max_pixels=pixel_limit(max_pixels),
    )


def info(source: Place | Any) -> dict[str, Any]:
    """What a file holds, without reading pixels: levels, type, layout, georeference, nodata, bands, tags.

    Of an open file `Dataset.profile`, `Dataset.facts` and their neighbours tell the same. This is `strile info`."""
    core = _core_of(source)
    facts = Facts.of(core)
    told = asdict(facts)
    told["name"] = core.name
    told["levels"] = told.pop("pages")[0]
    return told


def _core_of(source: Any) -> Any:
    if isinstance(source, Dataset):
        return source._opened()
    return opened.dataset(Source.of(source), level=1)


def _warn(path: str, report: dict[str, Any]) -> None:
    for message in report["warnings"]:
        warnings.warn(f"{path}: {message}", UserWarning, stacklevel=3)
