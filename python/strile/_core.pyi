"""The core in Rust. Converts, calls strile, converts back; what Python users see is made of it in this package."""

# For all: no module of the package has the name of a public function (`open`, `plan`, `read`, `open_geotiff`, …), since
# importing it would put the module in the function's place. `open_geotiff` lives in `opening.py`, `to_geotiff` in `write.py`.

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

from ._core_write import Assembly as Assembly
from ._core_write import ConvertOptions as ConvertOptions
from ._core_write import Parts as Parts
from ._core_write import PartWriter as PartWriter
from ._core_write import RasterSpec as RasterSpec
from ._core_write import WriteOptions as WriteOptions
from ._core_write import Writer as Writer
from ._options import Execution as Execution
from ._options import Layout as Layout
from ._options import Meaning as Meaning
from ._options import Onto as Onto
from ._options import Place as Place
from ._options import ReadOptions as ReadOptions
from ._options import RemoteOptions as RemoteOptions

Transform = tuple[float, float, float, float, float, float]
Window = tuple[int, int, int, int]
Progress = Callable[[int, int], object]
"""Called with (done, total) blocks on the calling thread, at most some twenty times a second and once at the end; an
exception of it stops the work and is raised."""

class RangeReader(Protocol):
    """A source other than a local file. Called from several threads, one call per batch of reads. It may have a `mark`, a
    text that changes when the source changes."""

    def read_ranges(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        """The bytes [start, end) of each range."""

class Raster:
    """Pixels that numpy, DLPack and CUDA libraries take without a copy."""

    @staticmethod
    def zeros(dtype: str, shape: tuple[int, int, int]) -> Raster:
        """(bands, rows, columns) in host memory, to be written to."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(bands, rows, columns), (rows, columns, bands) of pixels, (windows, bands, rows, columns) of a batch."""
    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the axes: band, y and x, and window of a batch."""
    @property
    def dtype(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def faults(self) -> list[tuple[str, str]]: ...
    @property
    def holes(self) -> list[tuple[str, str]]:
        """Sources that a mosaic went on without, each with the problem."""
    @property
    def found(self) -> bool | None:
        """Whether `look_for` is among the pixels; None if nothing was looked for."""
    @property
    def levels(self) -> list[int]:
        """The level that each window, or each file on a grid, was read from: 0 the full image, k its k-th overview."""
    @property
    def operations(self) -> list[str]:
        """How coordinates passed between the datums, for each window or each file on a grid: the operation, its codes and accuracy."""
    def converted(self, dtype: str) -> Raster:
        """Pixels in host memory in another type, as GDAL converts them."""
    @property
    def attrs(self) -> dict[str, Any]:
        """What the file says of these pixels, under the names of `open_geotiff`: transform, crs, nodata, tags, …"""
    @property
    def transform(self) -> Transform | None:
        """The transform of pixel corners."""
    @property
    def crs(self) -> str | None:
        """`EPSG:n` where the reference system has a code, else WKT."""
    @property
    def nodata(self) -> int | float | None: ...
    def set_origin(self, origin: Callable[[], dict[str, Any]]) -> None:
        """Sets the function that gives `attrs`, called once and only where they are asked for."""
    def numpy(self) -> Any: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class Plan:
    """What a read would do."""

    def explain(self) -> str: ...
    @property
    def engine(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def fallback(self) -> str | None:
        """Why some or all of it is not done on the GPU that was asked for; None where all is."""
    @property
    def figures(self) -> dict[str, Any]: ...

class Dataset:
    """An opened TIFF or mosaic. Threads may share it."""

    @staticmethod
    def open(path: str, *, sidecars: bool = True, max_blocks: int | None = None) -> Dataset: ...
    @staticmethod
    def open_vrt(
        path: str, *, missing: Literal["raise", "warn"] = "raise", allow_outside: bool = False,
        allowed_roots: Sequence[str] = (), allowed_hosts: Sequence[str] = (),
        max_bytes: int | None = None, max_work: int | None = None, dtype: str | None = None, empty_holes: bool = False,
        sidecars: Literal["auto", "always", "never"] | str = "auto", remote: RemoteOptions | None = None,
    ) -> Dataset:
        """`dtype`: what bands are given in, where it is not the one type that all of them state. `empty_holes`: NaN or 0,
        not nodata, where a source is missing."""
    @staticmethod
    def open_ranges(
        reader: RangeReader, name: str, size: int, *, overviews: tuple[RangeReader, str, int] | None = None, aux_xml: str | None = None
    ) -> Dataset: ...
    @staticmethod
    def open_remote(
        url: str, *, sidecars: Literal["auto", "always", "never"] | str = "auto", overviews: bool = True,
        remote: RemoteOptions | None = None,
    ) -> Dataset:
        """Opens the TIFF of a URL. Without `overviews` "auto" asks for no `.ovr`. `remote` is how it is reached (`strile.reading.storage` makes it); without it private hosts are
        refused."""
    @property
    def name(self) -> str: ...
    @property
    def version(self) -> tuple[int, str]:
        """Size and mark: they tell two states of one file apart (`same_version`)."""
    @property
    def facts(self) -> dict[str, Any]:
        """All that is known without reading pixels; see `strile.facts`."""
    @property
    def memo(self) -> dict[Any, Any]:
        """What this package has found out about the file, so that it is found out once per open file."""
    def colour_table(self, band: int) -> list[tuple[int, int, int, int]]:
        """Red, green, blue and alpha of each value of a band (from 1); empty without a colour table."""
    def tags(self, page: int = 0, level: int = 0, *, tables: bool = True) -> list[tuple[int, int, int, Any]]:
        """(tag, type, count, value) of every field as stored; value is a number, a tuple (rationals flat: numerator,
        denominator, …), text (type 2) or bytes (7); None for one of more than 16 MiB (tables of blocks),
        and for those tables without `tables`."""
    def read(
        self, options: ReadOptions | None = None, *, out: Any = None, stream: int | None = None, progress: Progress | None = None
    ) -> Any:
        """Pixels of a level as a `Raster`, all of the first page without options. `out`: any array (buffer, `__cuda_array_interface__`,
        DLPack) of exactly the type and shape, of any strides; it is returned, and blocks that were filled in it (`on_fault="fill"`) are
        reported by a GeoTIFFFallbackWarning."""
    def read_masks(
        self, options: ReadOptions | None = None, *, with_pixels: bool = False, progress: Progress | None = None
    ) -> Any:
        """Masks of bands in host memory, (band, y, x): 255 for valid samples, 0 for missing ones. `with_pixels`: a pair of the stored
        samples and their masks."""
    def read_mask_of_all(self, options: ReadOptions) -> Raster:
        """One mask of all bands: the mask image or alpha, else 255 where any band is valid."""
    def read_sized(
        self, options: ReadOptions, size: tuple[int, int], *, window: tuple[int, ...] | None = None, resampling: str = "nearest",
        fill: int | float | None = None, sufficient: bool = False, masks: bool = False,
    ) -> tuple[Raster, Raster | None]:
        """A window of a level, which may leave the image, as `size` (columns, rows), and with `masks` those of its bands in host memory.
        `sufficient`: from the smallest overview that has enough pixels. `fill` is the value of pixels outside."""
    def check_size(self, samples: int, bytes: int, *, max_pixels: int | None = None) -> None:
        """Refuses a result of this many samples and bytes by the limits of `read`: PixelSafetyLimitError."""
    def plan(self, options: ReadOptions | None = None) -> Plan:
        """The plan of `read` with these options."""
    def masking(self, level: int = 0, bands: Sequence[int] | None = None) -> Literal["values", "other"] | None:
        """What says which pixels of bands of a level are missing: nodata values of all these bands, or what else there is; None
        where `masked` changes no pixel."""
    def open_source(self, path: str) -> Dataset:
        """Of a mosaic: opens the file of a source, by the `path` that `sources` has for it."""
    def holes(self) -> list[tuple[str, str]]:
        """Of a mosaic: sources that reads so far went on without, missing or damaged, each with the problem."""
    def sources(self) -> list[dict[str, Any]]:
        """Of a mosaic: its sources as stated: name, path (resolved, None where it is missing or refused), problem (why it
        is refused, None otherwise), band and source_band (from 1), source_rect and target_rect (column, row, width,
        height; None for all of it), exists. The facts of a mosaic also have `band_nodata`, one for each band."""
    def close(self) -> None: ...

class Headers:
    """The headers of files that batches share: at most `files` of them and `memory` bytes, with at most `open_files` open at
    a time; looked up again where size or modification time is another. `index`: a file of `write_header_index`, looked
    into before a header is read; its bytes count in `memory`. Pickled they are these arguments: headers are read anew in the
    other process."""

    def __init__(
        self,
        *,
        files: int | None = None,
        memory: int | None = None,
        open_files: int | None = None,
        index: str | None = None,
        sidecars: bool = True,
    ) -> None: ...
    @property
    def index(self) -> str | None: ...
    def held(self) -> tuple[int, int, int]:
        """Files whose headers are kept, bytes that these take with the index, files that are open."""
    def clear(self) -> None: ...

def read_batch(
    files: Sequence[Dataset | str],
    windows: Sequence[tuple[Any, ...]],
    headers: Headers,
    place: Place | None = None,
    meaning: Meaning | None = None,
    execution: Execution | None = None,
    *,
    kind: Literal["pixels", "bounds", "points"] | str = "pixels",
    size: tuple[int, int] | None = None,
    sufficient: bool = False,
    resampling: Literal["nearest", "bilinear", "average"] | str = "nearest",
    fill: int | float | None = None,
    bounds_crs: Any = None,
    polygons: Sequence[tuple[str | None, str | None] | None] = (),
    device: str | None = None,
    out: Any = None,
    stream: int | None = None,
    remote: RemoteOptions | None = None,
) -> Raster | Any:
    """Windows of files in one array; each is (index of its file, level, four numbers), which are (column, row, width,
    height), (west, south, east, north) or (x, y, width, height) as `kind` says. `place` has the page, the bands, and the grid that the four
    numbers are then of. `size` (columns, rows) resamples windows, with `sufficient` from the overview that suffices. `bounds_crs` is the
    reference system of boxes and points, None for that of each file or of the grid. `polygons` are texts with their reference systems, one or one per window. `out` is (windows, bands, rows, columns); see `strile.batch`."""

def write_header_index(
    target: str,
    files: Sequence[str],
    *,
    sidecars: bool = True,
    remote: RemoteOptions | None = None,
) -> tuple[int, int, list[tuple[str, str]]]:
    """Writes an index of headers: files in it, its bytes, and those that are not with why; see `strile.header_index`."""

class SharedObject:
    """A file in a bucket that several processes write: one begins it, each sends parts, one completes it."""

    @staticmethod
    def begin(url: str, remote: RemoteOptions) -> SharedObject: ...
    @staticmethod
    def join(url: str, remote: RemoteOptions, ticket: str) -> SharedObject: ...
    @property
    def ticket(self) -> str:
        """A secret: whoever has it can write."""
    @property
    def in_order(self) -> bool: ...
    def part_size(self, total: int) -> int: ...
    def put(self, number: int, offset: int, content: bytes) -> str: ...
    def complete(
        self, parts: Sequence[tuple[int, str]], offset: int, last: bytes, sidecars: Sequence[tuple[str, bytes]]
    ) -> None: ...
    def abort(self) -> None: ...

class Viewer:
    """The viewer of files, folders and URLs: a server that answers in the background until it is closed."""

    url: str
    port: int
    def __init__(
        self, paths: list[str], *, port: int, memory: int | None, threads: int | None, decode_on: str, sidecars: str,
        basemap: str | None, remote: RemoteOptions | None,
    ) -> None: ...
    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...

def devices() -> list[dict[str, Any]]: ...
def set_cache_limit(bytes: int) -> None:
    """Limits the bytes that the block cache of the process holds, from now on; 0 turns it off for all reads. At first it is
    256 MiB, or an eighth of the memory budget if that is less. The cache gives its memory back when a call needs it."""

def cache_stats() -> dict[str, int]:
    """What the block cache of the process holds: `limit` and `bytes`, `blocks`, and how many blocks reads found in it
    (`hits`) or not (`misses`); `folder_limit` and `folder_bytes` of its folder, and how many blocks came from there
    (`folder_hits`)."""

def set_cache_folder(path: str | os.PathLike[str] | None, limit: int = 10737418240) -> None:
    """Keeps encoded blocks of remote files in a folder, too, where later processes find them; None ends that. It holds at most `limit`
    bytes, and the oldest blocks go first. The folder is made if it is not there, and has to be the user's alone (permissions
    0700). Names of files tell nothing of URLs and credentials. A child of a fork has no folder."""

def clear_cache() -> None:
    """Empties the block cache of the process."""

def same_version(a: tuple[int, str], b: tuple[int, str]) -> bool:
    """Whether two versions are the same state of one source."""

def write_vrt(
    path: str,
    sources: Sequence[str],
    *,
    relative: bool = True,
    overwrite: bool = False,
    separate: bool = False,
    te: tuple[float, ...] | None = None,
    tr: tuple[float, ...] | None = None,
    nodata: str | None = None,
) -> list[str]:
    """Writes a VRT that lays files side by side; returns what it does not keep, in words."""
def write_tiles(
    path: str, raster: RasterSpec, tiles: Sequence[tuple[str, int, int, int, int]], aux_xml: bytes | None = None
) -> None:
    """Writes the VRT of a raster whose tiles are files: name relative to the VRT, row, column, height, width."""
def color_ramps() -> list[str]: ...
def write_style(path: str, ramp: str, bounds: tuple[float, float]) -> None:
    """Writes a style of QGIS: the first band in the colours of a ramp between two values."""
def checked_transform(value: Any, name: str, *, aligned: bool = False, dropped: bool = False) -> Transform | None:
    """An Affine or its six numbers. One that is not `aligned` with rows and columns is an error, or `dropped`."""
def place(
    *,
    stated: Transform | None,
    points: bool,
    follows: bool,
    gcps: Sequence[tuple[float, ...]],
    mapped: Transform | None,
    unplaced: bool,
    square: bool,
    y: tuple[str, bytes, float | None] | None,
    x: tuple[str, bytes, float | None] | None,
) -> tuple[Transform | None, list[tuple[float, float, float, float, float]]]:
    """The transform of pixel corners and the control points of an array, from what it states and its coordinates."""
def crs(definition: int | str) -> dict[str, Any]:
    """A reference system by EPSG code, `EPSG:n`, WKT or PROJ text: epsg, wkt, name, kind. UnparseableCRSError or
    InvalidCRSCodeError where there is none."""
def convert(
    source: Dataset,
    target: str,
    options: ConvertOptions,
    *,
    overwrite: bool = False,
    remote: RemoteOptions | None = None,
    progress: Progress | None = None,
    memory: int | None = None,
    threads: int | None = None,
) -> dict[str, Any]:
    """Writes (part of) a file as another; returns a report with `warnings`."""

def convert_many(
    inputs: list[str],
    folder: str,
    options: ConvertOptions,
    *,
    jobs: int = 1,
    overwrite: bool = False,
    recursive: bool = False,
    allow_outside: bool = False,
    progress: Progress | None = None,
    memory: int | None = None,
    threads: int | None = None,
) -> list[dict[str, Any]]:
    """Converts files into a folder. Of each file `input`, `output`, `state` ("written", "skipped", "failed"), `error` and
    `warnings`."""

def add_overviews(
    path: str,
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
) -> dict[str, Any]:
    """Adds overviews to a file; a report with `warnings`."""

def remove_overviews(path: str, *, external: bool = False) -> int:
    """Removes the overviews in a file, or its `.ovr`; how many there were."""

def measure(
    source: Dataset,
    *,
    bands: Sequence[int] | None = None,
    window: tuple[int, int, int, int] | None = None,
    statistics: bool = False,
    histogram: bool = False,
    checksum: bool = False,
    polygon: str | None = None,
    polygon_crs: Any = None,
    max_pixels: int | None = None,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Per band: `band`, and the figures asked for (`statistics`, `histogram`, `checksum`), of pixels within the polygon."""

def check_target(path: str) -> None:
    """Refuses the name of a file that ends as those of another format than TIFF do."""

def sample(source: Dataset, places: bytes, bands: Sequence[int], crs: Any = None) -> tuple[str, bytes, bytes, int]:
    """Values at places (pairs of 64-bit floats, in the reference system `crs` or that of the file): dtype, values (place, band),
    whether each is valid, and the number of places outside the image."""

def picture(samples: bytes, dtype: str, valid: bytes, shape: tuple[int, int]) -> bytes:
    """A PNG of samples (band, row, column) of one or three bands, stretched from the 2nd to the 98th percentile. `valid` has a byte for each
    sample, 0 where it is not valid: such pixels are transparent. `shape`: rows and columns."""
def validate_cog(source: Dataset, *, strict: bool = False) -> dict[str, Any]:
    """`valid`, `errors`, `warnings`."""

def compare(
    a: Dataset, b: Dataset, *, tolerance: float = 0.0, structure: bool = False, decode_on: str = "auto",
    max_pixels: int | None = None,
) -> list[dict[str, Any]]:
    """How two files differ."""

def count_missing(array: Any, value: int | float) -> tuple[int, int]:
    """How many samples of a host array are NaN, and how many equal a value; all cores; GIL released."""
def command_line(arguments: list[str]) -> int:
    """Runs the command line and returns its exit code. Takes over the signals of the process: `strile.__main__` calls it, once."""
def redacted(text: str) -> str:
    """Text with every URL in it cut to scheme, host and path: without credentials."""
def check_host(host: str, location: str) -> None:
    """Raises `UnsafeURLError` for a host on this machine or in a private network; `location` names it in the message."""
def _panic(place: str) -> None:
    """Panics, for the tests: "thread", "at once", or with the interpreter."""

class Grid:
    """Pixels that files are read onto: a reference system, a transform and a size. Equal grids have the same pixels."""

    def __init__(self, crs: Any, transform: Sequence[float], shape: tuple[int, int]) -> None:
        """`crs`: an EPSG code, text (`EPSG:n`, WKT, PROJ), or an object of pyproj, rasterio or odc-geo. `transform`: (a, b, c, d, e, f) of pixel
        corners, or an Affine; it may be rotated. `shape`: (height, width)."""
    @staticmethod
    def from_bounds(
        bounds: Sequence[float],
        crs: Any,
        *,
        resolution: float | tuple[float, float] | None = None,
        shape: tuple[int, int] | None = None,
        target_aligned: bool = False,
    ) -> Grid:
        """Bounds are (xmin, ymin, xmax, ymax). `target_aligned` widens them to multiples of the resolution, as GDAL's `-tap`."""
    @staticmethod
    def xyz(z: int, x: int, y: int, size: int = 256) -> Grid:
        """The grid of a tile of a web map (EPSG:3857), `size` pixels on each side; rows count from the north."""
    @staticmethod
    def like(other: Any) -> Grid:
        """The pixels of a path, a `Dataset`, a DataArray, a `GeoBox` of odc-geo, or a dataset of rasterio."""
    @staticmethod
    def suggest(
        source: Any,
        crs: Any,
        resolution: float | tuple[float, float] | None = None,
        *,
        datum_shift: Literal["required", "none"] | str = "required",
    ) -> Grid:
        """GDAL's suggestion for what `like` takes; `datum_shift="none"` allows datums without a known operation."""
    @staticmethod
    def chosen(
        files: Sequence[Dataset],
        *,
        crs: Any = None,
        bounds: Sequence[float] | None = None,
        resolution: float | tuple[float, float] | None = None,
        shape: tuple[int, int] | None = None,
        target_aligned: bool = False,
        datum_shift: str = "required",
        source_crs: Any = None,
        order: int | None = None, tps: bool = False, rpc: bool = False, rpc_height: float | None = None,
        rpc_dem: tuple[str, str, float | None] | None = None,
    ) -> Grid:
        """The grid for open files of which a part is given, as gdalwarp chooses its output."""
    @staticmethod
    def of_dataset(dataset: Dataset) -> Grid:
        """The pixels of an open file at full resolution."""
    def cropped(self, polygon: str, crs: Any, datum_shift: str) -> Grid:
        """The part that the box around a polygon (GeoJSON or WKT) touches. `crs` is its reference system: None as the text says, empty
        that of the grid."""
    @property
    def crs(self) -> str:
        """`EPSG:n` where the reference system has a code, else WKT."""
    def system(self) -> dict[str, Any]:
        """What is known of the reference system: epsg, wkt, name, kind."""
    @property
    def transform(self) -> Transform:
        """The transform of pixel corners: a, b, c, d, e, f, as `affine.Affine` takes them."""
    @property
    def shape(self) -> tuple[int, int]:
        """(height, width)."""
    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...
    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """(xmin, ymin, xmax, ymax) of all corners."""
    @property
    def resolution(self) -> tuple[float, float]:
        """Width and height of a pixel."""
    def to_geobox(self) -> Any:
        """The same grid as a `GeoBox` of odc-geo."""
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class Placement:
    """Where the pixels of a level lie. `transform` keeps the numbers of the file: that of pixel corners, or of the first
    pixel's centre where `point`. `rotated` is a transform that was dropped; `gcps` are (row, column, x, y, z)."""

    transform: Transform | None
    point: bool
    rotated: Transform | None
    gcps: tuple[tuple[float, float, float, float, float], ...]
    def at(self, row: int, column: int) -> Transform | None:
        """The transform of a window that begins at a pixel."""
    def window_of(self, sides: tuple[float, float, float, float], height: int, width: int) -> tuple[int, int, int, int]:
        """The smallest window (row0, col0, row1, col1) that covers a box."""

def placement(
    dataset: Dataset, level: int = 0, reduce: int = 0, *, allow_rotated: bool = False, oriented: bool = True
) -> Placement:
    """The grid of a level, halved `reduce` times."""
def scaled(transform: Transform, x: float, y: float) -> Transform:
    """The transform of a level whose pixels are `x` columns wide and `y` rows high."""
def moved(transform: Transform, column: float, row: float) -> Transform:
    """The transform of a window that begins at a pixel."""
def stored_window(window: tuple[int, int, int, int], turn: tuple[int, int, int]) -> tuple[int, int, int, int]:
    """Column, row, width and height of a window (row0, col0, row1, col1) of a turned image in the stored one. `turn`: orientation, and the
    height and width as stored."""
def extent(transform: Transform, width: int, height: int) -> tuple[float, float, float, float]:
    """Left, bottom, right and top, in the order of the axes: `top` is where row 0 begins on a grid that is not turned."""
def pixel_size(transform: Transform) -> tuple[float, float]: ...
def labels(pixels: tuple[int, int], along: tuple[float, float], corners: bool) -> bytearray:
    """The centres of pixels from one to another along an axis (size and origin), as float64; with `corners` where they begin."""
def placed_at(transform: Transform, first: bytes, second: bytes, *, inverse: bool = False) -> bytearray:
    """x and y, all of x first, of places in columns and rows, or the reverse with `inverse`; all are float64."""
def placed_on(grid: Grid) -> dict[str, Any]:
    """The same attributes of pixels on a grid. Of a turned one the transform is `rotated_affine`."""
def read_onto(
    files: Sequence[Dataset], options: ReadOptions, *, out: Any = None, stream: int | None = None, progress: Progress | None = None
) -> Any:
    """Pixels of files on the grid of `options`, whose pixels the window counts. One file is also read by `Dataset.read`."""
def plan_onto(files: Sequence[Dataset], options: ReadOptions) -> Plan:
    """The plan of `read_onto`."""
def files_onto(files: Sequence[Dataset], onto: Onto) -> list[dict[str, Any]]:
    """How each file is put onto the grid: name, level, ratio (its pixels along one of the grid), operation (text), accuracy, codes, and
    is_outside: whether it certainly does not lie under the grid."""
def placed(
    dataset: Dataset, placement: Placement, level: int, row: int, column: int, *, shifted: bool = False, allow_unparseable_crs: bool = False
) -> dict[str, Any]:
    """Attributes: status of the georeference, reference system, transform or control points of a window."""
def stated(dataset: Dataset, level: int) -> dict[str, Any]:
    """Attributes: what the tags of a level state about the image and not about its layout."""
def scaling(dataset: Dataset, band: int | None = None) -> tuple[float, float] | None:
    """Scale and offset of a band (from 0), or of all bands."""
def words(dataset: Dataset) -> dict[str, str]:
    """The items of the file in GDAL's default domain."""
def check_nodata(value: int | float, dtype: str, name: str, *, allow_invalid: bool = False) -> bool:
    """Whether pixels of a type can have a nodata value. One that is not a whole number is refused for integers, unless it is allowed."""
def check_level(dataset: Dataset, level: int) -> None:
    """Refuses a level whose table of blocks has fewer entries than it has blocks, or whose signed samples are stored white as zero."""
def categories(dataset: Dataset) -> tuple[dict[str, Any], str | None, list[str]]:
    """Names and colours of classes as attributes, tables as the text of a sidecar, and what was ignored."""
def aux_xml(
    names: Sequence[str], colours: Sequence[tuple[int, ...]], items: Sequence[tuple[str, str]], tables: str | None = None, bands: Sequence[int] = ()
) -> bytes | None:
    """The text of `.aux.xml`; None where there is nothing to say."""
def one_array(
    path: str, *, band: int | None = None, mixed_nodata: bool = False, max_bytes: int | None = None, remote: RemoteOptions | None = None
) -> tuple[str, list[int | float | None], bool]:
    """The type of the bands of a VRT as one array, their nodata values, and whether these differ."""
