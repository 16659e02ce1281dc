"""Provides `read_batch`: many windows of many files in one array, `write_header_index`: their headers in one file, and `prefetch`: the next batch
read while this one is used.

Arguments are checked and converted to plain numbers here. The core reads all windows of a batch in one
job. The headers of files are kept between batches (`Headers`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .checks import bands_of, count_of, device_of, flag_of, index_of, number_of, sides_of, text_of, truth_of, window_of
from .errors import StrileError

if TYPE_CHECKING:
    from ._core import Headers, Onto, Raster

_headers: Any = None
"""The headers of batches without `headers=`, made by the first of them."""
_AT_ONCE = 32
"""Files of servers that are opened at once."""


def headers_of_process() -> Headers:
    """Returns the headers that batches of this process share."""
    global _headers
    if _headers is None:
        from ._core import Headers

        _headers = Headers()
    return _headers


def read_batch(
    files: Sequence[Any] | str | os.PathLike[str],
    windows: Any = None,
    *,
    bounds: Any = None,
    points: Any = None,
    size: int | tuple[int, int] | None = None,
    grid: Any = None,
    crs: Any = None,
    bounds_crs: Any = None,
    resampling: str = "nearest",
    bands: Sequence[int] | None = None,
    level: int | Sequence[int] | None = None,
    page: int = 0,
    dtype: Any = None,
    masked: bool = False,
    unpack: bool = False,
    fill: float | None = None,
    on_fault: str = "fail",
    device: Any = "cpu",
    decode_on: str = "auto",
    out: Any = None,
    stream: int | None = None,
    headers: Headers | None = None,
    memory: int | None = None,
    threads: int | None = None,
    max_pixels: int | None = None,
    cache: str = "auto",
    storage_options: Mapping[str, Any] | None = None,
    anonymous: bool = False,
    store: Any = None,
    sidecars: str = "auto",
    allowed_hosts: Sequence[str] = (),
    tolerance: float | None = None,
    datum_shift: str = "required",
    source_crs: Any = None,
    nodata: int | float | None = None,
    polygons: Any = None,
    polygon_crs: Any = None,
    order: int | None = None,
    tps: bool = False,
    rpc: bool = False,
    rpc_height: float | None = None,
    rpc_dem: str | os.PathLike[str] | Mapping[str, Any] | None = None,
) -> Raster | Any:
    """Reads windows of files into one array (window, band, row, column).

    `files` are paths, URLs, or open files (`strile.open`, which avoids a request per batch to a server); VRTs
    are files, too.
    Choose the pixels by one of these, with one row per window:

    - `windows`: (file, column, row, width, height) in pixels of the level, or (file, column, row) with `size`; `file` is
      an index into `files`. Without it the i-th window is of the i-th file, or all are of the one there is. Windows
      may leave the image on any side.
    - `bounds`: (file, west, south, east, north) in the coordinates of the file.
    - `points`: (file, x, y) with `size`: the pixel that holds the place is in the middle of the window, at
      (width // 2, height // 2).

    Boxes and points that lie entirely outside their file are warned about: perhaps they are in another reference system.

    All windows have one size, or are resampled to `size` (width, height): `nearest`, `bilinear` between the four pixels
    around the centre (also where windows shrink, as in PyTorch; GDAL widens it then), or `average` of all that lie
    under it; nodata and pixels outside do not count. Bands count from 1.

    With `grid` (as in `strile.read`) windows are put onto it, whatever reference system each file has: windows are then in pixels of the
    grid, `bounds` and `points` in its reference system, and may lie outside of it. With `size` each window has that size,
    whatever those of the grid are; for `bounds` with `size` the reference system `crs` suffices in place of a grid.
    `resampling` may then be any method of `strile.read`, and `tolerance`, `datum_shift`, `source_crs`, `nodata`, `order`, `tps`, `rpc`,
    `rpc_height` and `rpc_dem` are those of `strile.read`, too. `level` is one number, or None for the coarsest level that suffices for each window.

    `bounds_crs` is the reference system of `bounds` and `points`, where it is neither that of the grid nor, without a grid, that of each
    file. A box becomes the bounds of its edges in the other system. On a grid a box over the antimeridian
    continues beyond 180°; in a file in longitude and latitude it is an error.

    `polygons` clips windows, as `polygon` of `strile.read` does: one polygon for all, or a list with one per window, of which some may be
    None. Pixels whose centre lies outside are missing, and only blocks under the polygons are read. `polygon_crs` is the reference system
    of all of them. Windows that are clipped are not resampled to a `size` without a grid.

    `level` is 0 for the full image and k for its k-th overview, one number or one for each window; windows are in pixels of
    that level. Without it windows are in pixels of the full image. Windows that shrink are then read from the smallest
    overview that has at least `size` pixels for them, as rasterio does, and `Raster.levels` says which.

    The result has the type of the files, which must be one, or `dtype`: float16, float32 or float64. `masked` makes nodata NaN,
    `unpack` also scales by each file's scale and offset; files without a nodata value are masked by their mask image or alpha. Pixels outside their image become `fill`; without it NaN
    where `masked` or `unpack` is set, else the file's nodata, else 0.

    It is a `Raster` that numpy, CuPy, PyTorch and JAX take without a copy, in the memory of `device` ("cpu", "cuda" or
    "cuda:N"), or `out`: an array of the caller, of that shape and type, to be used again and again. `decode_on` says
    which processor decodes, as in `strile.read`. `max_pixels` is the most samples of a window before it is resampled, as
    in `strile.read`, and so is `cache`. `storage_options`, `anonymous`, `store` and `sidecars` are those of `open_geotiff`, for all
    URLs among the files; with a `store` all files are paths in it. `allowed_hosts` are those that sources of VRTs among the files
    may be on."""
    from ._core import Execution, Meaning, Place
    from ._core import read_batch as read
    from .reading.arguments import pixel_limit
    from .reading.storage import Storage

    kind, rows, wanted = _areas(windows, bounds, points, size)
    listed = _listed(files)
    onto = _onto(
        grid, crs, kind, wanted, level, resampling=resampling, tolerance=tolerance, datum_shift=datum_shift, source_crs=source_crs, nodata=nodata,
        order=order, tps=tps, rpc=rpc, rpc_height=rpc_height, rpc_dem=rpc_dem,
    )
    numbers = _numbers(kind, rows, wanted, 0 if level is None or onto is not None else level, len(listed))
    used, numbers = _used(numbers, len(listed))
    resampled = _is_resampled(kind, rows, wanted)
    chooses = level is None and resampled and onto is None
    deepest = int(chooses or onto is not None) if level is None else int(np.max(level, initial=0))
    kept = headers_of_process() if headers is None else headers
    places = {"storage_options": storage_options, "anonymous": anonymous, "store": store, "sidecars": sidecars}
    hosts = _hosts_of_mosaics(listed, allowed_hosts)
    # Overviews beside an object are looked for only if they are needed, and not for objects of an index.
    by_core = deepest == 0 or getattr(kept, "index", None) is not None
    usual = storage_options is None and not truth_of(anonymous, "anonymous") and store is None and sidecars == "auto"
    by_core = by_core and usual
    opened = _opened([listed[file] for file in used], deepest, by_core, places, hosts)
    place = Place(page=index_of(page, "page"), bands=bands_of(bands), onto=onto)
    meaning = Meaning(
        masked=flag_of(masked, "masked"), unpack=flag_of(unpack, "unpack"), float_type=None if dtype is None else _float_type(dtype)
    )
    execution = Execution(
        on_fault=text_of(on_fault, "on_fault"),
        decode_on=text_of(decode_on, "decode_on"),
        memory=count_of(memory, "memory"),
        threads=count_of(threads, "threads"),
        max_pixels=pixel_limit(max_pixels),
        cache=text_of(cache, "cache"),
    )
    return read(
        opened, numbers, kept, place, meaning, execution,
        kind=kind,
        size=wanted if resampled else None,
        sufficient=chooses,
        resampling=text_of(resampling, "resampling") if onto is None else "nearest",
        fill=None if fill is None else number_of(fill, "fill"),
        bounds_crs=_system_of_bounds(bounds_crs, kind),
        polygons=_polygons(polygons, polygon_crs),
        device=device_of(device, out),
        out=out,
        stream=count_of(stream, "stream", 0),
        remote=Storage().for_core("http://"),
    )  # fmt: skip


def _onto(
    grid: Any, crs: Any, kind: str, size: tuple[int, int] | None, level: Any, **given: Any
) -> Onto | None:
    """Returns the grid that windows are read onto; None if they are pixels of their files."""
    from ._core import Grid
    from .grid_options import onto_of, refuse_without_grid

    if grid is None and crs is None:
        refuse_without_grid({name: value for name, value in given.items() if name != "resampling"})
        return None
    if grid is not None and crs is not None:
        raise StrileError("expected grid or crs, got both: a grid has a reference system (bounds_crs= is that of bounds and points)")
    if grid is None:
        if kind != "bounds" or size is None:
            raise StrileError("crs without a grid does not say how large a pixel is: pass bounds and size with it, or a grid")
        grid = Grid(crs, (1, 0, 0, 0, -1, 0), (1, 1))
    if level is not None and np.ndim(level) != 0:
        raise StrileError("level is a list: expected one number for windows that are put onto a grid, or None")
    return onto_of(grid, level=level, **given)


def _system_of_bounds(crs: Any, kind: str) -> Any:
    """Returns the reference system of boxes and points; None for that of the files or the grid."""
    if crs is not None and kind == "pixels":
        raise StrileError("bounds_crs is the reference system of bounds and points, and windows are pixels: drop it")
    return crs


def _polygons(polygons: Any, crs: Any) -> list[tuple[str | None, str | None] | None]:
    """Returns the polygons: none, one for all windows, or one per window."""
    from .grid_options import polygon_of

    if polygons is None or not isinstance(polygons, list | tuple):
        text, own = polygon_of(polygons, crs)
        return [] if text is None else [(text, own)]
    if not polygons:
        raise StrileError("polygons is empty: expected one polygon, or one per window")
    return [None if polygon is None else polygon_of(polygon, crs) for polygon in polygons]


def _listed(files: Any) -> Sequence[Any]:
    if isinstance(files, str | bytes | os.PathLike) or hasattr(files, "read"):
        return [files]
    if not isinstance(files, Iterable):
        raise TypeError(f"files is {files!r}: expected paths, URLs or open files")
    return files if isinstance(files, Sequence) else list(files)


def _used(numbers: list[tuple[Any, ...]], files: int) -> tuple[list[int], list[tuple[Any, ...]]]:
    """Returns the files that have windows, and the windows with indices into these. Other files are not opened."""
    used = sorted({window[0] for window in numbers}) or list(range(min(files, 1)))
    if used and used[-1] >= files:
        raise StrileError(f"there is no file {used[-1]}: {files} are given, and indices count from 0")
    place = {file: at for at, file in enumerate(used)}
    return used, [(place[file], *rest) for file, *rest in numbers]


def _hosts_of_mosaics(files: Sequence[Any], allowed: Any) -> Sequence[str]:
    """Hosts that sources of VRTs may be on, if there are VRTs."""
    from .reading.source import Source, hosts_of

    hosts = hosts_of(allowed)
    if hosts and not any(isinstance(file, str | os.PathLike) and Source.of(file).is_vrt for file in files):
        raise StrileError("allowed_hosts apply to VRTs, and none of the files is one: drop them")
    return hosts


def _opened(
    files: list[Any], deepest: int, by_core: bool, places: dict[str, Any], hosts: Sequence[str]
) -> list[Any]:
    """Opens the files for the core. Remote files that Python opens are opened together, since each waits for several
    answers; the error is that of the first by order. With `by_core` the core opens those of `http(s)` URLs."""
    if sum(_waits(file, by_core, places) for file in files) < 2:
        return [_file(file, deepest, by_core, places, hosts) for file in files]
    with ThreadPoolExecutor(min(len(files), _AT_ONCE), "strile-open") as threads:
        return list(threads.map(_file, files, repeat(deepest), repeat(by_core), repeat(places), repeat(hosts)))


def _is_remote(file: Any, places: dict[str, Any]) -> bool:
    from .reading.source import Source

    return isinstance(file, str | os.PathLike) and (places["store"] is not None or Source.of(file).is_remote)


def _waits(file: Any, by_core: bool, places: dict[str, Any]) -> bool:
    return _is_remote(file, places) and not (by_core and _is_http(os.fspath(file)))


def _is_http(location: str) -> bool:
    from .reading.storage import service_of

    return service_of(location) == "http"


def _file(file: Any, deepest: int, by_core: bool, places: dict[str, Any], hosts: Sequence[str]) -> Any:
    """Returns a local path or a URL as text, which `Headers` opens, and other files as open datasets of the core."""
    from . import _core
    from .reading import opened
    from .reading.source import Source

    if isinstance(file, _core.Dataset):
        return file
    if hasattr(file, "_opened"):
        return file._opened()
    # Options are for the URLs among the files.
    plain = Source.of(file)
    mosaic: dict[str, Any] = {"allowed_hosts": hosts} if plain.is_vrt and hosts else {}
    # Sources of a mosaic may be remote, wherever it is itself.
    chosen = places if _is_remote(file, places) or mosaic else {"sidecars": places["sidecars"]}
    source = Source.of(file, **chosen, **mosaic)
    if by_core and _is_http(source.location) and not source.is_vrt and not source.is_object:
        return source.location
    if source.is_object or source.is_remote or source.is_vrt:
        return opened.dataset(source, level=deepest)
    return source.location


def _areas(windows: Any, bounds: Any, points: Any, size: Any) -> tuple[str, np.ndarray, tuple[int, int] | None]:
    given = [(name, value) for name, value in (("windows", windows), ("bounds", bounds), ("points", points)) if value is not None]
    if len(given) != 1:
        found = ", ".join(name for name, _ in given) or "none of them"
        raise StrileError(f"one of windows, bounds and points says which pixels are read; given: {found}")
    name, value = given[0]
    kind = "pixels" if name == "windows" else name
    if name == "windows":
        value = _plain(value)
    try:
        rows = np.asarray(value)
    except (TypeError, ValueError):
        raise StrileError(f"{name} is {value!r}: expected rows of numbers, all of one length") from None
    if rows.ndim == 1 and rows.size:
        rows = rows[None, :]
    if rows.ndim != 2 or rows.dtype.kind not in "iuf" or (kind == "pixels" and rows.dtype.kind == "f" and not _whole(rows)):
        expected = "whole numbers" if kind == "pixels" else "numbers"
        raise StrileError(f"{name}: expected rows of {expected}, got an array of {rows.dtype} and shape {rows.shape}")
    rows = rows.astype(np.int64 if kind == "pixels" else np.float64)
    return kind, rows, None if size is None else sides_of(size)


def _plain(windows: Any) -> Any:
    """Windows as numbers, those of rasterio too."""
    if hasattr(windows, "col_off"):
        return window_of(windows, boundless=True)
    if not isinstance(windows, list | tuple):
        return windows
    return [window_of(window, boundless=True) if hasattr(window, "col_off") else window for window in windows]


def _whole(rows: np.ndarray) -> bool:
    return bool(np.all(np.isfinite(rows)) and np.all(rows == np.floor(rows)))


def _is_resampled(kind: str, rows: np.ndarray, size: tuple[int, int] | None) -> bool:
    """Returns whether windows are resampled to `size`, since they have a size of their own."""
    return size is not None and kind != "points" and not (kind == "pixels" and rows.shape[1] <= 3)


def _numbers(
    kind: str, rows: np.ndarray, size: tuple[int, int] | None, level: Any, files: int
) -> list[tuple[Any, ...]]:
    """Returns (file, level, four numbers) of each window."""
    count, columns = rows.shape
    own = 2 if kind == "points" or columns <= 3 else 4
    if kind == "bounds" and own != 4 or columns not in (own, own + 1):
        expected = "5 (or 4 without the file)" if kind == "bounds" else "3 (or 2)" if own == 2 else "5, 4, 3 or 2"
        raise StrileError(f"windows of {columns} numbers, expected {expected}")
    if columns == own + 1:
        which = rows[:, 0].astype(np.int64)
        rows = rows[:, 1:]
    elif files == 1:
        which = np.zeros(count, np.int64)
    elif files == count:
        which = np.arange(count)
    else:
        raise StrileError(f"{count} windows of {files} files: expected as many files, or the index of its file first in each")
    if count and which.min() < 0:
        raise StrileError(f"there is no file {which.min()}: indices count from 0")
    if own == 2:
        if size is None:
            raise StrileError(f"{kind} without a width and a height need a `size`")
        rows = np.concatenate([rows, np.broadcast_to(np.asarray(size, rows.dtype), (count, 2))], axis=1)
    levels = _levels(level, count)
    if kind == "pixels":
        rows = rows.astype(np.int64)
        _check_sides(rows[:, 2:])
    numbers = rows.tolist()
    if kind == "points":
        numbers = [[x, y, int(width), int(height)] for x, y, width, height in numbers]
    elif kind == "bounds":
        numbers = [[float(side) for side in sides] for sides in numbers]
    return [(file, at, *row) for file, at, row in zip(which.tolist(), levels.tolist(), numbers, strict=True)]


def _levels(level: Any, count: int) -> np.ndarray:
    """Returns the level of each window."""
    levels = np.asarray(level)
    if levels.shape not in ((), (count,)) or (levels.size and levels.dtype.kind not in "iu"):
        raise StrileError(f"level is {level!r} and there are {count} windows: expected a whole number, or one for each window")
    levels = np.broadcast_to(levels.astype(np.int64), (count,))
    if count and levels.min() < 0:
        raise StrileError(f"there is no level {levels.min()}: 0 is the full image")
    return levels


def _check_sides(sides: np.ndarray) -> None:
    wrong = np.flatnonzero(((sides < 1) | (sides >= 1 << 32)).any(axis=1))
    if wrong.size:
        width, height = sides[wrong[0]].tolist()
        most = (1 << 32) - 1
        raise StrileError(f"window {wrong[0]}: {width} x {height} pixels; expected a width and a height of 1 to {most:,}")


def _float_type(dtype: Any) -> str:
    try:
        name = np.dtype(dtype).name
    except TypeError:
        # PyTorch names its types as numpy does, behind the name of the package.
        name = str(dtype).rpartition(".")[2]
    if name not in ("float16", "float32", "float64"):
        raise StrileError(f"dtype {name}: expected float16, float32 or float64, or None for the type of the files")
    return name


def write_header_index(
    target: str | os.PathLike[str], files: Iterable[str | os.PathLike[str]], *, sidecars: bool = True
) -> tuple[int, int, list[tuple[str, str]]]:
    """Writes an index of the headers of `files`, paths and `http(s)` URLs, to `target`.

    `Headers(index=...)` uses it: `read_batch` then opens these files without a read, and URLs without a request. A local file
    that has changed since is opened anew. A URL whose object has changed is an error when it is read. URLs are stored without
    credentials. `sidecars` says whether files beside local ones (`.ovr`, `.aux.xml`, world files) count.

    Returns how many files are in the index, its size in bytes, and the files that could not be opened, each with the reason."""
    from ._core import write_header_index as write
    from .reading import hosts
    from .reading.storage import Storage

    listed = [os.fspath(file) for file in files]
    for file in listed:
        if "://" in file:
            hosts.check_any(file)
    return write(os.fspath(target), listed, sidecars=sidecars, remote=Storage().for_core("http://"))


T = TypeVar("T")
R = TypeVar("R")


def prefetch(read: Callable[[T], R], requests: Iterable[T], *, depth: int = 2, readers: int = 1) -> Iterator[R]:
    """Yields the result of `read` for each request, in order. A thread reads up to `depth` requests ahead.

    `readers` threads call `read` at once, at most `depth`: two keep a GPU busy where one batch alone does not fill it. An
    error is raised where its result would have come. Closing the iterator (or leaving a loop over it) stops reading after
    the batches that are under way."""
    if not callable(read):
        raise TypeError(f"read is {read!r}: expected a callable of one request")
    if not isinstance(requests, Iterable):
        raise TypeError(f"requests is {requests!r}: expected an iterable")
    depth, readers = index_of(depth, "depth"), count_of(readers, "readers") or 1
    if depth == 0:
        for request in requests:
            yield read(request)
        return
    from .ahead import Ahead

    with Ahead(read, requests, depth, readers) as ahead:
        yield from ahead
