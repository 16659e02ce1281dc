"""The commands of `strile` as functions: `convert`, `convert_many`, `add_overviews`, `remove_overviews`, `validate_cog`,
`compare`, `info`, `sample`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from .checks import bands_of, count_of, flag_of, index_of, level_of, number_of, path_of, text_of, window_of
from .dataset import Dataset
from .dataset import open as open_dataset
from .errors import StrileError
from .facts import Facts
from .reading import opened
from .reading.arguments import pixel_limit
from .reading.shown import redacted
from .reading.source import Source
from .reading.storage import is_bucket, service_of, storage_of

if TYPE_CHECKING:
    from ._core import ConvertOptions

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
    level: int = 0,
    page: int = 0,
    srcwin: Sequence[float] | None = None,
    projwin: Sequence[float] | None = None,
    bbox: Sequence[float] | None = None,
    epo: bool = False,
    polygon: Any = None,
    polygon_crs: Any = None,
    crop_to_polygon: bool = False,
    outsize: Sequence[int | str] | None = None,
    tr: Sequence[float] | None = None,
    resampling: str | None = None,
    ovr: int | str | None = None,
    dtype: Any = None,
    scale: Any = None,
    exponent: Any = None,
    unscale: bool = False,
    expand: str | None = None,
    colorinterp: Sequence[str] | Mapping[int, str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    crs: int | str | None = None,
    nodata: float | str | None = None,
    transform: Sequence[float] | None = None,
    a_ullr: Sequence[float] | None = None,
    a_scale: float | None = None,
    a_offset: float | None = None,
    overview_resampling: str | None = None,
    reencode: bool = False,
    reproducible: bool = False,
    decode_on: str = "auto",
    encode_on: str = "auto",
    max_pixels: int | None = None,
    overwrite: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    allowed_hosts: Sequence[str] = (),
    progress: bool | Callable[[int, int], object] | None = None,
    memory: int | None = None,
    threads: int | None = None,
) -> str:
    """Writes a file, or a part of it, as another GeoTIFF or COG, in bounded memory; returns `target`.

    All that the file says is kept: georeference, nodata, masks, colours, names, scales, tags. Blocks stored alike in
    both files are copied without decoding. This is `strile convert`, and options that gdal_translate has mean the same.

    format, profile, creation_options
        "gtiff" or "cog"; a profile of rio-cogeo ("deflate", "zstd", "jpeg", …); GDAL's creation options, as
        {"COMPRESS": "ZSTD", "BLOCKSIZE": 256}.
    window, bands, level, page
        What is taken: a window (column, row, width, height) or a rasterio `Window`, bands from 1, a level
        (0 is full resolution).
    srcwin, projwin, bbox, epo
        Another way to say which part: (column, row, width, height), which may reach beyond the image; (ulx, uly, lrx, lry)
        or (west, south, east, north) in the reference system of the file. `epo=True` refuses a part that reaches beyond.
    polygon, polygon_crs, crop_to_polygon
        Clips by a polygon, as in `strile.read`: pixels whose centre lies outside are nodata, or without nodata and alpha 0 and masked
        out, and only blocks under it are read. `crop_to_polygon=True` writes the pixels that the box around it touches.
    outsize, tr, resampling, ovr
        The size: (columns, rows) as pixels, "50%", or 0 to keep the proportions; or the size of a pixel. `resampling` is
        "nearest" (the default), "bilinear", "cubic", "cubicspline", "lanczos", "average", "rms" or "mode". An overview
        that suffices is read, unless `ovr` is "none" or a number.
    dtype, scale, exponent, unscale, expand
        Another type ("uint8" or GDAL's "Byte"), rounded and clamped as GDAL does. `scale` maps a range to another: True
        (all values to all that the type has), (min, max), (min, max, new_min, new_max), or {band: …}. `exponent` maps
        by a power. `unscale` writes value × scale + offset. `expand` writes a palette as "gray", "rgb" or "rgba".
    colorinterp, metadata, crs, nodata, transform, a_ullr, a_scale, a_offset
        Changed metadata: ["red", "green", "blue"] or {4: "nir"}; items to set; a reference system;
        a value, or "none" to remove it; six numbers, or the corners (ulx, uly, lrx, lry); a scale and an offset.
    overview_resampling
        How overviews are made: average, nearest, mode, …
    reencode, reproducible, decode_on, encode_on
        Decode and encode every block; the same bytes whichever processor encodes; which processors decode and encode:
        "auto", "cpu", "cuda" or "cuda:N". "auto" encodes on the CPU. A GPU that encodes also decodes, unless `decode_on`
        says otherwise.
    max_pixels
        The most samples of what is written, as in `strile.read`.
    storage_options, allowed_hosts
        How the URLs among `source` and `target`, such as "s3://bucket/cog.tif", are reached, and on which hosts sources of a VRT may
        be, as in `open_geotiff`.
    """
    from . import _core
    from .progress import resolve
    from .reading.source import hosts_of

    given = dict(locals())
    path = path_of(target, "target")
    hosts = hosts_of(allowed_hosts)
    is_url, to_bucket = _is_url(source) or bool(hosts), is_bucket(path)
    if storage_options is not None and not is_url and not to_bucket:
        raise StrileError(f"storage_options apply to URLs, got {redacted(path)}: drop them")
    report = _core.convert(
        _core_of(source, storage_options if is_url else None, hosts),
        path,
        _convert_options(given),
        overwrite=flag_of(overwrite, "overwrite"),
        remote=storage_of(path, storage_options).for_core(path) if to_bucket else None,
        progress=resolve(progress, "convert"),
        memory=count_of(memory, "memory"),
        threads=count_of(threads, "threads"),
    )
    _warn(path, report)
    return path


def convert_many(
    inputs: Sequence[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    *,
    jobs: int = 1,
    overwrite: bool = False,
    recursive: bool = False,
    allow_outside: bool = False,
    progress: bool | Callable[[int, int], object] | None = None,
    memory: int | None = None,
    threads: int | None = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """Converts files into a folder, `jobs` at once; `options` are those of `convert`.

    A folder among `inputs` stands for its .tif and .tiff files (with `recursive` those below it, too). Outputs that exist
    are skipped unless `overwrite` is set. Two inputs with one name, or an output that is an input, are an error before
    anything is written. Returns a dict per file: `input`, `output`, `state` ("written", "skipped" or "failed"), `error`
    and `warnings`. A file that fails does not stop the others, and is warned about. This is `strile convert … -o DIR`."""
    from . import _core
    from .progress import resolve

    defaults: dict[str, Any] = convert.__kwdefaults__ or {}
    known = _own_options()
    if unknown := sorted(set(options) - known):
        raise TypeError(f"convert_many() got unexpected options {unknown}; known are {sorted(known)}")
    results = _core.convert_many(
        [os.fspath(path) for path in inputs],
        os.fspath(folder),
        _convert_options(defaults | options),
        jobs=jobs,
        overwrite=overwrite,
        recursive=recursive,
        allow_outside=allow_outside,
        progress=resolve(progress, "convert"),
        memory=memory,
        threads=threads,
    )
    for result in results:
        result["input"], result["output"] = os.fspath(result["input"]), os.fspath(result["output"])
        for message in result["warnings"]:
            warnings.warn(f"{result['output']}: {message}", UserWarning, stacklevel=2)
        if result["error"] is not None:
            warnings.warn(f"{result['input']} failed: {result['error']}", UserWarning, stacklevel=2)
    return results


def _convert_options(given: Mapping[str, Any]) -> ConvertOptions:
    """Returns the core's options, from arguments of `convert`."""
    from ._core import ConvertOptions
    from .grid_options import polygon_of
    from .writing.georef import checked_transform

    for name in ("creation_options", "metadata"):
        if given[name] is not None and not isinstance(given[name], Mapping):
            raise TypeError(f"{name} is {given[name]!r}: expected a dict, as {{'COMPRESS': 'ZSTD'}}")
    polygon, polygon_crs = polygon_of(given["polygon"], given["polygon_crs"])
    options = {name: given[name] for name in _own_options()} | {"polygon": polygon, "polygon_crs": polygon_crs}
    for name in ("creation_options", "metadata"):
        options[name] = [(str(key), str(value)) for key, value in (given[name] or {}).items()]
    for name in ("crop_to_polygon", "reencode", "reproducible"):
        options[name] = flag_of(given[name], name)
    for name, read in (("window", window_of), ("bands", bands_of), ("level", level_of), ("transform", checked_transform)):
        options[name] = read(given[name])
    for name, make in _MADE.items():
        options[name] = _made(name, make, given[name])
    options |= {"page": index_of(given["page"], "page"), "max_pixels": pixel_limit(given["max_pixels"])}
    return ConvertOptions(**{name: value for name, value in options.items() if value is not None})


_EXPECTED = {
    "dtype": "the type of a sample, as 'uint8'",
    "scale": "True, (low, high) or (low, high, new low, new high), or a dict of them by band",
    "exponent": "a number, or a dict of numbers by band",
    "colorinterp": "names of colours, one per band, or a dict of names by band",
}


def _own_options() -> set[str]:
    """Returns the keywords of `convert` that describe the output; the others control the call."""
    return set(convert.__kwdefaults__ or {}) - {"overwrite", "storage_options", "allowed_hosts", "progress", "memory", "threads"}


def _made(name: str, make: Callable[[Any], Any], value: Any) -> Any:
    """Converts an argument by `make`. The error names the argument."""
    try:
        return make(value)
    except StrileError:
        raise
    except (TypeError, ValueError, OverflowError, AttributeError) as problem:
        raise TypeError(f"{name} is {value!r}: expected {_EXPECTED[name]}") from problem


def _per_band(value: Any, read: Callable[[Any], Any]) -> list[tuple[int | None, Any]] | None:
    """Returns a value for all bands, or values by band."""
    if value is None or value is False:
        return None
    if isinstance(value, Mapping):
        return [(int(band), read(own)) for band, own in value.items()]
    return [(None, read(value))]


def _ranges(value: Any) -> list[float]:
    return [] if value is True else [float(number) for number in value]


def _colours(value: Sequence[str] | Mapping[int, str] | None) -> list[tuple[int, str]] | None:
    if value is None:
        return None
    if isinstance(value, str):
        value = value.split(",")
    named = value.items() if isinstance(value, Mapping) else enumerate(value, 1)
    return [(int(band), str(name).strip()) for band, name in named]


_MADE: dict[str, Callable[[Any], Any]] = {
    "dtype": lambda value: value if value is None or isinstance(value, str) else np.dtype(value).name,
    "scale": lambda value: _per_band(value, _ranges),
    "exponent": lambda value: _per_band(value, float),
    "colorinterp": _colours,
}


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

    target = path_of(path, "path")
    report = _core.add_overviews(
        target,
        count=count_of(count, "count"),
        levels=None if levels is None else [int(level) for level in levels],
        resampling=None if resampling is None else text_of(resampling, "resampling"),
        compression=None if compression is None else text_of(compression, "compression"),
        external=flag_of(external, "external"),
        rebuild=flag_of(rebuild, "rebuild"),
        max_pixels=pixel_limit(max_pixels),
        memory=count_of(memory, "memory"),
        threads=count_of(threads, "threads"),
    )
    _warn(target, report)


def remove_overviews(path: str | os.PathLike[str], *, external: bool = False) -> int:
    """Removes the overviews in a file, or with `external` its `.ovr`; returns how many there were.

    Those in the file become unused bytes of it. This is `strile overview --clean`."""
    from . import _core

    return _core.remove_overviews(path_of(path, "path"), external=flag_of(external, "external"))


def validate_cog(
    source: Place | Any, *, strict: bool = False, storage_options: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Validates a Cloud-Optimized GeoTIFF by the rules of GDAL and of rio-cogeo.

    Returns `valid` (with `strict`: and without warnings), `errors` and `warnings`; each finding has a `code`, a `place`, a
    `message`, `advice`, and by whose rules it is one. `storage_options` are those of `open_geotiff`. This is
    `strile cog validate`."""
    from . import _core

    return _core.validate_cog(_core_of(source, storage_options), strict=flag_of(strict, "strict"))


def compare(
    a: Place | Any,
    b: Place | Any,
    *,
    tolerance: float = 0.0,
    structure: bool = False,
    decode_on: str = "auto",
    max_pixels: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Compares two files: shape, pixels, masks, overviews, georeference, metadata, tags. Returns an empty list if they are equal.

    `tolerance`: the largest difference of samples that is ignored. `structure` compares compression, blocks and byte order as well. Each
    difference has a `category`, a `place`, a `message`, and figures of `samples` or None. `storage_options` are those of
    `open_geotiff`, for the URLs among the two. This is `strile compare`."""
    from . import _core

    allowed = number_of(tolerance, "tolerance")
    if not allowed >= 0:
        raise StrileError(f"tolerance is {tolerance!r}: expected a number from 0 on")
    if storage_options is not None and not _is_url(a) and not _is_url(b):
        raise StrileError("storage_options apply to URLs, and both files are none: drop them")
    first, second = (_core_of(file, storage_options if _is_url(file) else None) for file in (a, b))
    return _core.compare(
        first,
        second,
        tolerance=float(allowed),
        structure=flag_of(structure, "structure"),
        decode_on=text_of(decode_on, "decode_on"),
        max_pixels=pixel_limit(max_pixels),
    )


def info(
    source: Place | Any,
    *,
    stats: bool = False,
    hist: bool = False,
    checksum: bool = False,
    polygon: Any = None,
    polygon_crs: Any = None,
    max_pixels: int | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Returns the metadata of a file: levels, type, layout, georeference, nodata, bands, tags.

    `stats`, `hist` and `checksum` read all pixels, in pieces, and add `figures`, one dict per band: `statistics` (minimum,
    maximum, mean, standard_deviation, valid, missing), `histogram` (minimum, maximum, 256 counts) and `checksum`, as GDAL
    defines them. With `polygon` (as in `strile.read`) `stats` and `hist` count only pixels whose centre lies within, and only blocks
    under it are read. An open file has the same in `Dataset.profile`, `Dataset.facts` and other properties. `storage_options` are
    those of `open_geotiff`. This is `strile info`."""
    from . import _core
    from .grid_options import polygon_of
    from .progress import resolve

    core = _core_of(source, storage_options)
    facts = Facts.of(core)
    found = asdict(facts)
    found["name"] = core.name
    found["levels"] = found.pop("pages")[0]
    stats, hist, checksum = flag_of(stats, "stats"), flag_of(hist, "hist"), flag_of(checksum, "checksum")
    text, text_crs = polygon_of(polygon, polygon_crs)
    if text is not None and not (stats or hist):
        raise StrileError("polygon counts pixels of statistics and histograms: pass stats=True or hist=True, or drop it")
    if stats or hist or checksum:
        found["figures"] = _core.measure(
            core,
            statistics=stats,
            histogram=hist,
            checksum=checksum,
            polygon=text,
            polygon_crs=text_crs,
            max_pixels=pixel_limit(max_pixels),
            progress=resolve(progress, "info"),
        )
    return found


def sample(
    source: Place | Any, points: Iterable[Any], *, bands: Sequence[int] | None = None, masked: bool = False, crs: Any = None
) -> Any:
    """Returns the values of bands at points (x, y) as an array (point, band); outside the file its nodata value, else 0.

    `crs` is the reference system of the points, longitude before latitude, where it is not the file's; `masked` gives a masked array. Points
    outside the file are counted in a warning. This is `strile sample`."""
    dataset = source if isinstance(source, Dataset) else open_dataset(source)
    outside: list[int] = []
    found = list(dataset._sampled(points, bands, masked, crs, outside))
    if sum(outside):
        system = f"its reference system, {dataset.crs or 'none'}: pass crs= if they are in another" if crs is None else str(crs)
        warnings.warn(
            f"{dataset.name}: points outside the image: {sum(outside)}; coordinates are those of {system}", UserWarning, stacklevel=2
        )
    if not found:
        return np.zeros((0, dataset.count if bands is None else len(bands)), dataset.dtypes[0])
    return np.ma.stack(found) if masked else np.stack(found)


def _is_url(source: Any) -> bool:
    return isinstance(source, str) and service_of(source) is not None


def _core_of(
    source: Any, storage_options: Mapping[str, Any] | None = None, allowed_hosts: Sequence[str] = ()
) -> Any:
    if isinstance(source, Dataset):
        if storage_options is not None or allowed_hosts:
            raise StrileError("storage_options and allowed_hosts apply when a file is opened, and this one is open: drop them")
        return source._opened()
    # Commands show, compare and copy all metadata of a file.
    places: dict[str, Any] = {"storage_options": storage_options, "allowed_hosts": allowed_hosts}
    return opened.dataset(Source.of(source, sidecars="always", **places), level=1)


def _warn(path: str, report: dict[str, Any]) -> None:
    for message in report["warnings"]:
        warnings.warn(f"{path}: {message}", UserWarning, stacklevel=3)
