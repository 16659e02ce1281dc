"""The commands of `strile` as functions: `convert`, `add_overviews`, `remove_overviews`, `validate_cog`, `compare`, `info`,
`sample`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from .asked import bands_of, level_of, window_of
from .dataset import Dataset
from .dataset import open as open_dataset
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

    path = os.fspath(target)
    options: dict[str, Any] = {
        "format": format,
        "profile": profile,
        "creation_options": [(str(name), str(value)) for name, value in (creation_options or {}).items()],
        "window": window_of(window),
        "bands": bands_of(bands),
        "level": level_of(overview_level),
        "page": page,
        "crs": crs,
        "nodata": nodata,
        "transform": None if transform is None else [float(number) for number in transform][:6],
        "resampling": resampling,
        "reencode": reencode,
        "reproducible": reproducible,
        "device": device,
        "max_pixels": pixel_limit(max_pixels),
    }
    chosen = {key: value for key, value in options.items() if value is not None}
    report = _core.convert(
        _core_of(source),
        path,
        chosen,
        overwrite=overwrite,
        progress=resolve(progress, "convert"),
        memory=memory,
        threads=threads,
    )
    _warn(path, report)
    return path


def add_overviews(
    path: str | os.PathLike[str],
    *,
    count: int | None = None,
    levels: Sequence[int] | None = None,
    resampling: str | None = None,
    compression: str | None = None,
    external: bool = False,
    rebuild: bool = False,
    max_pixels: int | None = None,
    memory: int | None = None,
    threads: int | None = None,
) -> None:
    """Adds overviews to a file: `count` of them, each half of the one above, or until the smallest fits one block.

    `levels` names them by how many times smaller they are: [2, 4, 8]. `external` writes them beside the file as `.ovr`.
    `rebuild` replaces overviews that are there; those in the file become unused bytes of it. Overviews that are already
    there as asked for stay as they are. This is `strile overview`."""
    from . import _core

    options = {
        "count": count,
        "levels": None if levels is None else [int(level) for level in levels],
        "resampling": resampling,
        "compression": compression,
        "external": external,
        "rebuild": rebuild,
        "max_pixels": pixel_limit(max_pixels),
    }
    chosen = {key: value for key, value in options.items() if value is not None}
    _warn(os.fspath(path), _core.add_overviews(os.fspath(path), chosen, memory=memory, threads=threads))


def remove_overviews(path: str | os.PathLike[str], *, external: bool = False) -> int:
    """Removes the overviews in a file, or with `external` its `.ovr`; returns how many there were.

    Those in the file become unused bytes of it. This is `strile overview --clean`."""
    from . import _core

    return _core.remove_overviews(os.fspath(path), external=external)


def validate_cog(source: Place | Any, *, strict: bool = False) -> dict[str, Any]:
    """Whether a file is a Cloud-Optimized GeoTIFF, by the rules of GDAL and of rio-cogeo.

    Returns `valid` (with `strict`: and without warnings), `errors` and `warnings`; each finding has a `code`, a `place`, a
    `message`, `advice`, and by whose rules it is one. This is `strile cog validate`."""
    from . import _core

    return _core.validate_cog(_core_of(source), strict=strict)


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

    return _core.compare(
        _core_of(a), _core_of(b), tolerance=tolerance, structure=structure, device=device, max_pixels=pixel_limit(max_pixels)
    )


def info(
    source: Place | Any,
    *,
    stats: bool = False,
    hist: bool = False,
    checksum: bool = False,
    max_pixels: int | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """Returns what a file holds: levels, type, layout, georeference, nodata, bands, tags.

    `stats`, `hist` and `checksum` read all pixels, in pieces, and add `figures`, one dict per band: `statistics` (minimum,
    maximum, mean, standard_deviation, valid, missing), `histogram` (minimum, maximum, 256 counts) and `checksum`, as GDAL
    defines them. Of an open file `Dataset.profile`, `Dataset.facts` and their neighbours tell the same. This is
    `strile info`."""
    from . import _core
    from .progress import resolve

    core = _core_of(source)
    facts = Facts.of(core)
    told = asdict(facts)
    told["name"] = core.name
    told["levels"] = told.pop("pages")[0]
    if stats or hist or checksum:
        told["figures"] = _core.measure(
            core,
            statistics=stats,
            histogram=hist,
            checksum=checksum,
            max_pixels=pixel_limit(max_pixels),
            progress=resolve(progress, "info"),
        )
    return told


def sample(source: Place | Any, points: Iterable[Any], *, bands: Sequence[int] | None = None, masked: bool = False) -> Any:
    """Returns the values of bands at points (x, y) as an array (point, band); outside the file its nodata value, else 0.

    `masked` gives a masked array. This is `strile sample`."""
    dataset = source if isinstance(source, Dataset) else open_dataset(source)
    found = list(dataset.sample(points, bands, masked=masked))
    if not found:
        return np.zeros((0, dataset.count if bands is None else len(bands)), dataset.dtypes[0])
    return np.ma.stack(found) if masked else np.stack(found)


def _core_of(source: Any) -> Any:
    if isinstance(source, Dataset):
        return source._opened()
    return opened.dataset(Source.of(source), level=1)


def _warn(path: str, report: dict[str, Any]) -> None:
    for message in report["warnings"]:
        warnings.warn(f"{path}: {message}", UserWarning, stacklevel=3)
