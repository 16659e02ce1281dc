"""The core in Rust: converts arguments, calls strile, converts results. The modules of this package wrap it for users."""

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
"""Called with (done, total) blocks on the calling thread, about twenty times per second and once at the end; an
exception of it stops the work and is raised."""

class RangeReader(Protocol):
    """A source other than a local file. Called from several threads, one call per batch of reads. It may have a `mark`, a
    text that changes when the source changes."""

    def read_ranges(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        """Returns the bytes [start, end) of each range."""

class Raster:
    """Pixels that numpy, DLPack and CUDA libraries take without a copy."""

    @staticmethod
    def zeros(dtype: str, shape: tuple[int, int, int]) -> Raster:
        """Makes (bands, rows, columns) of zeros in host memory, to be written to."""

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
        """Sources of a mosaic that were skipped, each with the problem."""
    @property
    def found(self) -> bool | None:
        """Whether `look_for` is among the pixels; None if nothing was looked for."""
    @property
    def levels(self) -> list[int]:
        """The level that each window, or each file on a grid, was read from: 0 the full image, k its k-th overview."""
    @property
    def operations(self) -> list[str]:
        """The operations between the datums, for each window or each file on a grid, with codes and accuracy."""
    def converted(self, dtype: str) -> Raster:
        """Converts pixels in host memory to another type, as GDAL does."""
    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes that `open_geotiff` gives of the same pixels: transform, crs, nodata, tags, …"""
    @property
    def transform(self) -> Transform | None:
        """The transform of pixel corners."""
    @property
    def crs(self) -> str | None:
        """`EPSG:n` if the reference system has a code, else WKT."""
    @property
    def nodata(self) -> int | float | None: ...
    def set_origin(self, origin: Callable[[], dict[str, Any]]) -> None:
        """Sets the function that makes `attrs`, called once, at the first use of `attrs`."""
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
    """The plan of a read."""

    def explain(self) -> str: ...
    @property
    def engine(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def fallback(self) -> str | None:
        """Why some or all work is not done on the requested GPU; None if all is."""
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
        """`dtype`: the type that bands are read as, by default the one that all of them have. `empty_holes`: NaN or 0,
        not nodata, for missing sources."""
    @staticmethod
    def open_ranges(
        reader: RangeReader, name: str, size: int, *, overviews: tuple[RangeReader, str, int] | None = None, aux_xml: str | None = None
    ) -> Dataset: ...
    @staticmethod
    def open_remote(
        url: str, *, sidecars: Literal["auto", "always", "never"] | str = "auto", overviews: bool = True,
        remote: RemoteOptions | None = None,
    ) -> Dataset:
        """Opens the TIFF of a URL. Without `overviews` "auto" requests no `.ovr`. `strile.reading.storage` makes `remote`; without it private hosts are
        refused."""
    @property
    def name(self) -> str: ...
    @property
    def version(self) -> tuple[int, str]:
        """Size and mark, which differ between two states of one file (`same_version`)."""
    @property
    def facts(self) -> dict[str, Any]:
        """The metadata of the file; see `strile.facts`."""
    @property
    def memo(self) -> dict[Any, Any]:
        """Values that this package derives from the file once per open file."""
    def colour_table(self, band: int) -> list[tuple[int, int, int, int]]:
        """Returns red, green, blue and alpha of each value of a band (from 1); empty without a colour table."""
    def tags(self, page: int = 0, level: int = 0, *, tables: bool = True) -> list[tuple[int, int, int, Any]]:
        """Returns (tag, type, count, value) of every field as stored; value is a number, a tuple (rationals flat: numerator,
        denominator, …), text (type 2) or bytes (7); None for one of more than 16 MiB (tables of blocks),
        and for those tables without `tables`."""
    def read(
        self, options: ReadOptions | None = None, *, out: Any = None, stream: int | None = None, progress: Progress | None = None
    ) -> Any:
        """Reads pixels of a level as a `Raster`, all of the first page without options. `out`: any array (buffer, `__cuda_array_interface__`,
        DLPack) of exactly the type and shape, of any strides; it is returned, and blocks that were filled in it (`on_fault="fill"`) are
        reported by a GeoTIFFFallbackWarning."""
    def read_masks(
        self, options: ReadOptions | None = None, *, with_pixels: bool = False, progress: Progress | None = None
    ) -> Any:
        """Reads masks of bands into host memory, (band, y, x): 255 for valid samples, 0 for missing ones. `with_pixels`: a pair of the stored
        samples and their masks."""
    def read_mask_of_all(self, options: ReadOptions) -> Raster:
        """Reads one mask of all bands: the mask image or alpha, else 255 where any band is valid."""
    def read_sized(
        self, options: ReadOptions, size: tuple[int, int], *, window: tuple[int, ...] | None = None, resampling: str = "nearest",
        fill: int | float | None = None, sufficient: bool = False, masks: bool = False,
    ) -> tuple[Raster, Raster | None]:
        """Reads a window of a level, which may leave the image, as `size` (columns, rows), and with `masks` those of its bands into host memory.
        `sufficient`: from the smallest overview that has enough pixels. `fill` is the value of pixels outside."""
    def check_size(self, samples: int, bytes: int, *, max_pixels: int | None = None) -> None:
        """Refuses a result of this many samples and bytes by the limits of `read`: PixelSafetyLimitError."""
    def plan(self, options: ReadOptions | None = None) -> Plan:
        """Plans `read` with these options."""
    def masking(self, level: int = 0, bands: Sequence[int] | None = None) -> Literal["values", "other"] | None:
        """Returns the kind of mask of bands of a level: nodata values of all these bands, or another; None
        if `masked` changes no pixel."""
    def open_source(self, path: str) -> Dataset:
        """Opens the file of a source of a mosaic, by its `path` in `sources`."""
    def holes(self) -> list[tuple[str, str]]:
        """Returns sources of a mosaic that reads have skipped so far, missing or damaged, each with the problem."""
    def sources(self) -> list[dict[str, Any]]:
        """Returns the sources of a mosaic as stated: name, path (resolved, None if it is missing or refused), problem (why it
        is refused, None otherwise), band and source_band (from 1), source_rect and target_rect (column, row, width,
        height; None for all of it), exists. The facts of a mosaic also have `band_nodata`, one for each band."""
    def close(self) -> None: ...

class Headers:
    """The headers of files that batches share: at most `files` of them and `memory` bytes, with at most `open_files` open at
    a time; read again if size or modification time has changed. `index`: a file of `write_header_index`, looked
    up before a header is read; its bytes count in `memory`. Pickling keeps these arguments: headers are read anew in the
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
        """Counts files whose headers are kept, their bytes with the index, and open files."""
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
    """Reads windows of files into one array; each is (index of its file, level, four numbers), which are (column, row, width,
    height), (west, south, east, north) or (x, y, width, height) by `kind`. `place` has the page, the bands, and the grid that the four
    numbers are then of. `size` (columns, rows) resamples windows, with `sufficient` from the overview that suffices. `bounds_crs` is the
    reference system of boxes and points, None for that of each file or of the grid. `polygons` are texts with their reference systems, one or one per window. `out` is (windows, bands, rows, columns); see `strile.batch`."""

def write_header_index(
    target: str,
    files: Sequence[str],
    *,
    sidecars: bool = True,
    remote: RemoteOptions | None = None,
) -> tuple[int, int, list[tuple[str, str]]]:
    """Writes an index of headers. Returns the number of files in it, its bytes, and the files left out with the reasons."""

class SharedObject:
    """A file in a bucket that several processes write: one begins it, each sends parts, one completes it."""

    @staticmethod
    def begin(url: str, remote: RemoteOptions) -> SharedObject: ...
    @staticmethod
    def join(url: str, remote: RemoteOptions, ticket: str) -> SharedObject: ...
    @property
    def ticket(self) -> str:
        """A secret that permits to write."""
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
    """Limits the bytes of the block cache of the process from this call on; 0 turns it off for all reads. Initially it is
    256 MiB, or an eighth of the memory budget if that is less. The cache gives its memory back when a call needs it."""

def cache_stats() -> dict[str, int]:
    """Returns the contents of the block cache of the process: `limit` and `bytes`, `blocks`, and how many blocks reads found in it
    (`hits`) or not (`misses`); `folder_limit` and `folder_bytes` of its folder, and how many blocks came from there
    (`folder_hits`)."""

def set_cache_folder(path: str | os.PathLike[str] | None, limit: int = 10737418240) -> None:
    """Also keeps encoded blocks of remote files in a folder, for later processes; None turns that off. It holds at most `limit`
    bytes, and removes the oldest blocks first. The folder is created if missing, and must belong to the user alone (permissions
    0700). Names of files contain neither URLs nor credentials. A child of a fork has no folder."""

def clear_cache() -> None:
    """Empties the block cache of the process."""

def same_version(a: tuple[int, str], b: tuple[int, str]) -> bool:
    """Returns whether two versions are the same state of one source."""

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
    """Writes a VRT of files side by side. Returns in words what it does not keep."""
def write_tiles(
    path: str, raster: RasterSpec, tiles: Sequence[tuple[str, int, int, int, int]], aux_xml: bytes | None = None
) -> None:
    """Writes the VRT of a raster whose tiles are files: name relative to the VRT, row, column, height, width."""
def color_ramps() -> list[str]: ...
def write_style(path: str, ramp: str, bounds: tuple[float, float]) -> None:
    """Writes a style of QGIS: the first band in the colours of a ramp between two values."""
def checked_transform(value: Any, name: str, *, aligned: bool = False, dropped: bool = False) -> Transform | None:
    """Returns the six numbers of a transform. One that is not `aligned` with rows and columns is an error, or `dropped`."""
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
    """Returns the transform of pixel corners and the control points of an array, by its attributes and coordinates."""
def crs(definition: int | str) -> dict[str, Any]:
    """Returns a reference system by EPSG code, `EPSG:n`, WKT or PROJ text: epsg, wkt, name, kind. UnparseableCRSError or
    InvalidCRSCodeError for others."""
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
    """Converts files into a folder. Returns for each file `input`, `output`, `state` ("written", "skipped", "failed"), `error` and
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
    """Adds overviews to a file. Returns a report with `warnings`."""

def remove_overviews(path: str, *, external: bool = False) -> int:
    """Removes the overviews in a file, or its `.ovr`. Returns their number."""

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
    """Returns per band: `band`, and the requested figures (`statistics`, `histogram`, `checksum`), of pixels within the polygon."""

def check_target(path: str) -> None:
    """Refuses the name of a file that ends as those of another format than TIFF do."""

def sample(source: Dataset, places: bytes, bands: Sequence[int], crs: Any = None) -> tuple[str, bytes, bytes, int]:
    """Reads values at points (pairs of 64-bit floats, in the reference system `crs` or that of the file): dtype, values (place, band),
    whether each is valid, and the number of points outside the image."""

def picture(samples: bytes, dtype: str, valid: bytes, shape: tuple[int, int]) -> bytes:
    """Makes a PNG of samples (band, row, column) of one or three bands, stretched from the 2nd to the 98th percentile. `valid` has a byte for each
    sample, 0 where it is not valid: such pixels are transparent. `shape`: rows and columns."""
def validate_cog(source: Dataset, *, strict: bool = False) -> dict[str, Any]:
    """Returns `valid`, `errors`, `warnings`."""

def compare(
    a: Dataset, b: Dataset, *, tolerance: float = 0.0, structure: bool = False, decode_on: str = "auto",
    max_pixels: int | None = None,
) -> list[dict[str, Any]]:
    """Returns the differences of two files."""

def count_missing(array: Any, value: int | float) -> tuple[int, int]:
    """Counts the samples of a host array that are NaN, and those that equal a value; on all cores, with the GIL released."""
def command_line(arguments: list[str]) -> int:
    """Runs the command line and returns its exit code. Takes over the signals of the process: `strile.__main__` calls it, once."""
def redacted(text: str) -> str:
    """Cuts every URL in a text to scheme, host and path, without credentials."""
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
        """Makes the grid that fills bounds (xmin, ymin, xmax, ymax). `target_aligned` widens them to multiples of the resolution, as GDAL's `-tap`."""
    @staticmethod
    def xyz(z: int, x: int, y: int, size: int = 256) -> Grid:
        """Makes the grid of a tile of a web map (EPSG:3857), `size` pixels on each side; rows count from the north."""
    @staticmethod
    def like(other: Any) -> Grid:
        """Makes the grid of the pixels of a path, a `Dataset`, a DataArray, a `GeoBox` of odc-geo, or a dataset of rasterio."""
    @staticmethod
    def suggest(
        source: Any,
        crs: Any,
        resolution: float | tuple[float, float] | None = None,
        *,
        datum_shift: Literal["required", "none"] | str = "required",
    ) -> Grid:
        """Makes the grid that GDAL suggests for an argument of `like`; `datum_shift="none"` allows datums without a known operation."""
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
        """Completes a grid for open files, as gdalwarp chooses its output."""
    @staticmethod
    def of_dataset(dataset: Dataset) -> Grid:
        """Makes the grid of an open file at full resolution."""
    def cropped(self, polygon: str, crs: Any, datum_shift: str) -> Grid:
        """Cuts the grid to the part that the box around a polygon (GeoJSON or WKT) touches. `crs` is its reference system: None for that of the text, empty for that
        of the grid."""
    @property
    def crs(self) -> str:
        """`EPSG:n` if the reference system has a code, else WKT."""
    def system(self) -> dict[str, Any]:
        """Returns the reference system: epsg, wkt, name, kind."""
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
        """Returns the same grid as a `GeoBox` of odc-geo."""
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class Placement:
    """The georeference of a level. `transform` keeps the numbers of the file: that of pixel corners, or of the first
    pixel's centre if `point`. `rotated` is a transform that was dropped; `gcps` are (row, column, x, y, z)."""

    transform: Transform | None
    point: bool
    rotated: Transform | None
    gcps: tuple[tuple[float, float, float, float, float], ...]
    def at(self, row: int, column: int) -> Transform | None:
        """Returns the transform of a window that begins at a pixel."""
    def window_of(self, sides: tuple[float, float, float, float], height: int, width: int) -> tuple[int, int, int, int]:
        """Returns the smallest window (row0, col0, row1, col1) that covers a box."""

def placement(
    dataset: Dataset, level: int = 0, reduce: int = 0, *, allow_rotated: bool = False, oriented: bool = True
) -> Placement:
    """Returns the georeference of a level, halved `reduce` times."""
def scaled(transform: Transform, x: float, y: float) -> Transform:
    """Returns the transform of a level whose pixels are `x` columns wide and `y` rows high."""
def moved(transform: Transform, column: float, row: float) -> Transform:
    """Returns the transform of a window that begins at a pixel."""
def stored_window(window: tuple[int, int, int, int], turn: tuple[int, int, int]) -> tuple[int, int, int, int]:
    """Returns column, row, width and height of a window (row0, col0, row1, col1) of a turned image in the stored one. `turn`: orientation, and the
    height and width as stored."""
def extent(transform: Transform, width: int, height: int) -> tuple[float, float, float, float]:
    """Returns left, bottom, right and top, in the order of the axes: `top` is where row 0 begins on a grid that is not turned."""
def pixel_size(transform: Transform) -> tuple[float, float]: ...
def labels(pixels: tuple[int, int], along: tuple[float, float], corners: bool) -> bytearray:
    """Returns the centres of pixels from one to another along an axis (size and origin), as float64; with `corners` where they begin."""
def placed_at(transform: Transform, first: bytes, second: bytes, *, inverse: bool = False) -> bytearray:
    """Returns x and y, all of x first, of places in columns and rows, or the reverse with `inverse`; all are float64."""
def placed_on(grid: Grid) -> dict[str, Any]:
    """Returns the attributes of pixels on a grid. Of a turned one the transform is `rotated_affine`."""
def read_onto(
    files: Sequence[Dataset], options: ReadOptions, *, out: Any = None, stream: int | None = None, progress: Progress | None = None
) -> Any:
    """Reads files onto the grid of `options`, whose pixels the window counts. One file is also read by `Dataset.read`."""
def plan_onto(files: Sequence[Dataset], options: ReadOptions) -> Plan:
    """Plans `read_onto`."""
def files_onto(files: Sequence[Dataset], onto: Onto) -> list[dict[str, Any]]:
    """Returns how each file is read onto the grid: name, level, ratio (its pixels along one of the grid), operation (text), accuracy, codes, and
    is_outside: whether it certainly does not lie under the grid."""
def placed(
    dataset: Dataset, placement: Placement, level: int, row: int, column: int, *, shifted: bool = False, allow_unparseable_crs: bool = False
) -> dict[str, Any]:
    """Returns attributes: status of the georeference, reference system, transform or control points of a window."""
def stated(dataset: Dataset, level: int) -> dict[str, Any]:
    """Returns attributes of the tags of a level, without those about the layout of the file."""
def scaling(dataset: Dataset, band: int | None = None) -> tuple[float, float] | None:
    """Returns scale and offset of a band (from 0), or of all bands."""
def words(dataset: Dataset) -> dict[str, str]:
    """Returns the items of the file in GDAL's default domain."""
def check_nodata(value: int | float, dtype: str, name: str, *, allow_invalid: bool = False) -> bool:
    """Returns whether pixels of a type can have a nodata value. One that is not a whole number is refused for integers, unless it is allowed."""
def check_level(dataset: Dataset, level: int) -> None:
    """Refuses a level whose table of blocks has fewer entries than it has blocks, or whose signed samples are stored white as zero."""
def categories(dataset: Dataset) -> tuple[dict[str, Any], str | None, list[str]]:
    """Returns names and colours of classes as attributes, tables as the text of a sidecar, and problems of what was ignored."""
def aux_xml(
    names: Sequence[str], colours: Sequence[tuple[int, ...]], items: Sequence[tuple[str, str]], tables: str | None = None, bands: Sequence[int] = ()
) -> bytes | None:
    """Returns the text of `.aux.xml`; None if there is nothing to write."""
def one_array(
    path: str, *, band: int | None = None, mixed_nodata: bool = False, max_bytes: int | None = None, remote: RemoteOptions | None = None
) -> tuple[str, list[int | float | None], bool]:
    """Returns the type of the bands of a VRT as one array, their nodata values, and whether these differ."""
