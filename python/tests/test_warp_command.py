"""`strile warp` beside GDAL's warper, which rasterio has: grids, pixels, nodata, masks and files on top of each other."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest

rasterio = pytest.importorskip("rasterio")
from rasterio.enums import Resampling  # noqa: E402
from rasterio.vrt import WarpedVRT  # noqa: E402
from rasterio.warp import calculate_default_transform, transform_bounds  # noqa: E402

SCRIPT = [str(Path(sysconfig.get_path("scripts")) / "strile")]

# Name, reference system, first corner and pixel of a source.
SOURCES = {
    "utm": ("EPSG:32633", (500_000, 5_538_630), 30),
    "degrees": ("EPSG:4326", (14.9, 50.1), 0.0003),
    "east": ("EPSG:4326", (14.98, 49.99), 0.0003),
    "laea": ("EPSG:3035", (4_600_000, 3_000_000), 25),
    "polar": ("EPSG:3413", (-300_000, -900_000), 500),
    "sinusoidal": ("+proj=sinu +R=6371007.181 +units=m +no_defs", (1_000_000, 5_500_000), 463),
}
METHODS = [
    "near", "bilinear", "cubic", "cubicspline", "lanczos", "average", "mode", "min", "max", "med", "q1", "q3", "rms", "sum",
]  # fmt: skip
RASTERIO = {"near": "nearest", "cubicspline": "cubic_spline"}


def warp(*words: object) -> str:
    ended = subprocess.run([*SCRIPT, "warp", *map(str, words)], capture_output=True, timeout=120, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def values(dtype: str, height: int, width: int, bands: int = 1) -> np.ndarray:
    y, x = np.mgrid[:height, :width]
    waves = 100 + 60 * np.sin(x / 9.0) * np.cos(y / 7.0) + (x * 7 + y * 13) % 23
    return np.stack([waves + 10 * band for band in range(bands)]).astype(dtype)


def write(path: Path, pixels: np.ndarray, source: str, **profile: object) -> Path:
    crs, (x, y), pixel = SOURCES[source]
    count, height, width = pixels.shape
    transform = rasterio.Affine(pixel, 0, x, 0, -pixel, y)
    profile = dict(count=count, height=height, width=width, dtype=pixels.dtype, tiled=True, blockxsize=64, blockysize=64) | profile
    with rasterio.open(path, "w", driver="GTiff", crs=crs, transform=transform, **profile) as file:
        file.write(pixels)
    return path


def expected(path: Path, out: Path, method: str, **options: object) -> np.ndarray:
    """What GDAL puts onto the grid of `out`, with places that are all but exact."""
    with rasterio.open(path) as source, rasterio.open(out) as target:
        options |= {name: getattr(target, name) for name in ["crs", "transform", "width", "height"]}
        resampling = Resampling[RASTERIO.get(method, method)]
        with WarpedVRT(source, resampling=resampling, tolerance=1e-6, dtype=target.dtypes[0], **options) as vrt:
            return vrt.read()


def compare(found: np.ndarray, wanted: np.ndarray, ties: float) -> None:
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    assert (wanted != wanted.flat[0]).sum() > found.size / 10
    if found.dtype.kind == "f":
        near = np.isclose(found, wanted, rtol=2e-5, atol=2e-3, equal_nan=True)
    else:
        near = found == wanted
    assert (~near).mean() <= ties, f"{(~near).sum()} of {found.size} differ, by up to {np.abs(found.astype(float) - wanted).max()}"


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("target", ["EPSG:3857", "EPSG:4326", "EPSG:3035", "EPSG:32633"])
def test_grids_are_gdals(tmp_path: Path, source: str, target: str) -> None:
    path = write(tmp_path / "in.tif", values("uint8", 150, 210), source)
    crs, (x, y), pixel = SOURCES[source]
    if (source, target) in {("polar", "EPSG:32633"), ("polar", "EPSG:3035")}:
        pytest.skip("far outside the system")
    transform, width, height = calculate_default_transform(crs, target, 210, 150, x, y - 150 * pixel, x + 210 * pixel, y)
    warp(path, tmp_path / "out.tif", "-t_srs", target)
    with rasterio.open(tmp_path / "out.tif") as out:
        assert (out.width, out.height) == (width, height) and out.crs == target
        assert np.allclose(out.transform[:6], transform[:6], rtol=1e-9, atol=1e-6)


# Kernels are widened on coarser grids by a scale that GDAL takes of parts of the grid, and strile of all of it.
KERNELS = {"bilinear", "cubic", "cubicspline", "lanczos"}


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32"])
@pytest.mark.parametrize("method", METHODS)
def test_pixels_are_gdals(tmp_path: Path, method: str, dtype: str) -> None:
    if (method, dtype) == ("sum", "uint8"):
        pytest.skip("sums are larger than the type")
    if method == "mode" and dtype != "float32":
        pytest.skip("GDAL 3.10 counts integer samples, strile the areas that they cover")
    cases = [("utm", "EPSG:3857", (190, 150)), ("degrees", "EPSG:32633", (70, 50)), ("laea", "EPSG:4326", (400, 300))]
    for source, target, size in cases:
        if method in KERNELS:
            size = (480, 400)
        path = write(tmp_path / "in.tif", values(dtype, 160, 200, 2), source)
        out = tmp_path / "out.tif"
        warp(path, out, "-t_srs", target, "-ts", *size, "-r", method, "-et", 0, "-overwrite")
        with rasterio.open(out) as file:
            compare(file.read(), expected(path, out, method), 0.002)


@pytest.mark.parametrize("method", ["near", "bilinear", "cubic", "average"])
def test_nodata_is_gdals(tmp_path: Path, method: str) -> None:
    pixels = values("int16", 160, 200)
    pixels[:, 40:60, 30:90] = -5
    pixels[:, ::17, ::13] = -5
    path = write(tmp_path / "in.tif", pixels, "utm", nodata=-5)
    out = tmp_path / "out.tif"
    warp(path, out, "-t_srs", "EPSG:3857", "-r", method, "-et", 0)
    with rasterio.open(out) as file:
        assert file.nodata == -5
        compare(file.read(), expected(path, out, method, src_nodata=-5, nodata=-5), 0.002)
    warp(path, out, "-t_srs", "EPSG:3857", "-r", method, "-et", 0, "-dstnodata", 7, "-ot", "Float32", "-overwrite")
    with rasterio.open(out) as file:
        wanted = expected(path, out, method, src_nodata=-5, nodata=7)
        assert file.nodata == 7
        compare(file.read(), wanted, 0.002)


def test_the_approximation_is_within_an_eighth_of_a_pixel(tmp_path: Path) -> None:
    y, x = np.mgrid[:600, :700]
    path = write(tmp_path / "in.tif", np.stack([x, y]).astype("float32"), "utm")
    exact, near = tmp_path / "exact.tif", tmp_path / "near.tif"
    warp(path, exact, "-t_srs", "EPSG:3857", "-r", "bilinear", "-et", 0)
    warp(path, near, "-t_srs", "EPSG:3857", "-r", "bilinear")
    with rasterio.open(exact) as a, rasterio.open(near) as b:
        a, b = a.read(), b.read()
    inside = (a[0] > 1) & (b[0] > 1)
    assert inside.mean() > 0.8 and np.abs(a - b)[:, inside].max() <= 0.125


def test_later_files_lie_on_top(tmp_path: Path) -> None:
    low = write(tmp_path / "low.tif", values("uint8", 160, 200), "utm")
    high = values("int16", 160, 200) + 20
    high[:, ::5] = 0
    high = write(tmp_path / "high.tif", high, "east", nodata=0)
    with rasterio.open(low) as file:
        box = transform_bounds(file.crs, "EPSG:3857", *file.bounds)
    grid = ["-t_srs", "EPSG:3857", "-te", *box, "-tr", 40, 40, "-et", 0, "-dstnodata", 0]
    for name, files in [("low", [low]), ("high", [high]), ("last", [low, high]), ("first", [low, high, "--first-on-top"])]:
        warp(*files[:2], tmp_path / f"{name}_out.tif", *grid, *files[2:])
    made = {name: rasterio.open(tmp_path / f"{name}_out.tif").read() for name in ["low", "high", "last", "first"]}
    assert np.array_equal(made["last"], np.where(made["high"] != 0, made["high"], made["low"]))
    assert np.array_equal(made["first"], np.where(made["low"] != 0, made["low"], made["high"]))
    assert (made["last"] != made["first"]).any()


def test_overviews_memory_and_threads(tmp_path: Path) -> None:
    path = write(tmp_path / "in.tif", values("uint16", 1400, 1600), "utm")
    with rasterio.open(path, "r+") as file:
        file.build_overviews([2, 4, 8], Resampling.average)
    words = ["-t_srs", "EPSG:3857", "-r", "cubic", "-of", "COG", "-co", "COMPRESS=ZSTD"]
    for metres, level in [(40, 0), (95, 1), (190, 2)]:
        assert f"level  {level} of" in warp("--explain", path, tmp_path / "no.tif", "-tr", metres, metres, *words)
    assert not (tmp_path / "no.tif").exists()
    warp(path, tmp_path / "a.tif", *words, "--threads", 1)
    warp(path, tmp_path / "b.tif", *words, "--threads", 3, "--memory", "96MiB")
    with rasterio.open(tmp_path / "a.tif") as a, rasterio.open(tmp_path / "b.tif") as b:
        assert np.array_equal(a.read(), b.read()) and a.overviews(1)
        assert a.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"


def window_of(path: Path) -> tuple[str, tuple[float, ...], tuple[int, int]]:
    with rasterio.open(path) as file:
        return str(file.crs), tuple(file.transform)[:6], (file.width, file.height)


# A box in three systems, which is the extent of the result in the system of the grid.
@pytest.mark.parametrize("target", ["EPSG:3857", "EPSG:32633", "EPSG:4326"])
@pytest.mark.parametrize(
    ("system", "box"),
    [
        ("EPSG:4326", (15.003, 49.972, 15.041, 49.996)),
        ("EPSG:3035", (4_679_500, 2_996_700, 4_682_300, 2_999_400)),
        ("EPSG:32633", (500_400, 5_535_000, 503_000, 5_537_900)),
    ],
)
def test_te_srs_is_the_system_of_the_extent(tmp_path: Path, target: str, system: str, box: tuple[float, ...]) -> None:
    path = write(tmp_path / "in.tif", values("float32", 160, 200), "utm")
    out = tmp_path / "out.tif"
    warp(path, out, "-t_srs", target, "-te", *box, "-te_srs", system, "-ts", 240, 200, "-r", "bilinear", "-et", 0)
    west, south, east, north = transform_bounds(system, target, *box, densify_pts=21)
    crs, transform, size = window_of(out)
    assert (crs, size) == (target, (240, 200))
    wanted = ((east - west) / 240, 0, west, 0, -(north - south) / 200, north)
    assert np.allclose(transform, wanted, rtol=1e-9, atol=1e-12)
    with rasterio.open(out) as file:
        compare(file.read(), expected(path, out, "bilinear"), 0.002)


@pytest.mark.parametrize("stated", [None, "EPSG:32632"], ids=["none", "another"])
@pytest.mark.parametrize("method", ["near", "cubic"])
def test_s_srs_is_the_system_of_the_source(tmp_path: Path, stated: str | None, method: str) -> None:
    right = write(tmp_path / "right.tif", values("int16", 160, 200), "utm")
    path = tmp_path / "in.tif"
    with rasterio.open(right) as file, rasterio.open(path, "w", **(file.profile | {"crs": stated})) as other:
        other.write(file.read())
    out = tmp_path / "out.tif"
    warp(path, out, "-s_srs", "EPSG:32633", "-t_srs", "EPSG:3857", "-r", method, "-et", 0)
    with rasterio.open(right) as file:
        wanted = calculate_default_transform(file.crs, "EPSG:3857", file.width, file.height, *file.bounds)
    crs, transform, size = window_of(out)
    assert (crs, size) == ("EPSG:3857", wanted[1:]) and np.allclose(transform, wanted[0][:6], rtol=1e-9, atol=1e-6)
    with rasterio.open(out) as file:
        compare(file.read(), expected(path, out, method, src_crs="EPSG:32633"), 0.002)
        assert np.array_equal(file.read(), expected(right, out, method)) or method == "cubic"


@pytest.mark.parametrize("stated", [None, 3], ids=["none", "another"])
@pytest.mark.parametrize("method", ["near", "bilinear", "average"])
def test_srcnodata_is_missing_in_the_source(tmp_path: Path, stated: int | None, method: str) -> None:
    pixels = values("int16", 160, 200)
    pixels[:, 40:60, 30:90] = -5
    pixels[:, 70:90, 30:90] = 3
    path = write(tmp_path / "in.tif", pixels, "utm", **({} if stated is None else {"nodata": stated}))
    out = tmp_path / "out.tif"
    warp(path, out, "-t_srs", "EPSG:3857", "-srcnodata", -5, "-dstnodata", -99, "-r", method, "-et", 0)
    with rasterio.open(out) as file:
        found = file.read()
        assert file.nodata == -99 and (found == 3).any() and not (found == -5).any()
        compare(found, expected(path, out, method, src_nodata=-5, nodata=-99), 0.002)


@pytest.mark.parametrize("resolution", [(40, 40), (33, 70), (7.5, 12.5)])
@pytest.mark.parametrize("box", [None, (1_670_010, 6_440_020, 1_673_333, 6_443_001)], ids=["file", "te"])
def test_tap_widens_to_multiples_of_the_resolution(tmp_path: Path, resolution: tuple[float, float], box: tuple[float, ...] | None) -> None:
    path = write(tmp_path / "in.tif", values("float32", 160, 200), "utm")
    out = tmp_path / "out.tif"
    with rasterio.open(path) as file:
        chosen, width, height = calculate_default_transform(file.crs, "EPSG:3857", file.width, file.height, *file.bounds)
    own = (chosen.c, chosen.f + height * chosen.e, chosen.c + width * chosen.a, chosen.f) if box is None else box
    extent = [] if box is None else ["-te", *box]
    warp(path, out, "-t_srs", "EPSG:3857", "-tr", *resolution, "-tap", *extent, "-r", "near", "-et", 0)
    (x, y), (west, south, east, north) = resolution, own
    west, east = np.floor(west / x), np.ceil(east / x)
    south, north = np.floor(south / y), np.ceil(north / y)
    crs, transform, size = window_of(out)
    assert transform == (x, 0, west * x, 0, -y, north * y) and size == (east - west, north - south)
    with rasterio.open(out) as file:
        compare(file.read(), expected(path, out, "near"), 0.002)


@pytest.mark.parametrize(("word", "level"), [(0, 0), (1, 1), ("NONE", None), ("AUTO", 0)])
def test_ovr_is_the_overview_that_is_read(tmp_path: Path, word: int | str, level: int | None) -> None:
    path = write(tmp_path / "in.tif", values("uint8", 640, 800), "utm")
    with rasterio.open(path, "r+") as file:
        file.build_overviews([2, 4], Resampling.nearest)
    # The pixels say which level they are of.
    for number, factor in enumerate([2, 4]):
        with rasterio.open(path, "r+", overview_level=number) as file:
            file.write(values("uint8", 640 // factor, 800 // factor) + np.uint8(20 * factor))
    out = tmp_path / "out.tif"
    warp(path, out, "-t_srs", "EPSG:3857", "-ts", 290, 240, "-ovr", word, "-r", "near", "-et", 0)
    options = {} if level is None else {"overview_level": level}
    with rasterio.open(out) as target, rasterio.open(path, **options) as source:
        grid = {name: getattr(target, name) for name in ["crs", "transform", "width", "height"]}
        with WarpedVRT(source, resampling=Resampling.nearest, tolerance=1e-6, **grid) as vrt:
            compare(target.read(), vrt.read(), 0.002)


@pytest.mark.parametrize("target", ["EPSG:3857", "EPSG:4326"])
@pytest.mark.parametrize("size", [(300, 0), (0, 170)], ids=["width", "height"])
@pytest.mark.parametrize("box", [None, (15.003, 49.972, 15.041, 49.996)], ids=["file", "te"])
def test_ts_of_one_side_keeps_pixels_square(tmp_path: Path, target: str, size: tuple[int, int], box: tuple[float, ...] | None) -> None:
    path = write(tmp_path / "in.tif", values("uint8", 160, 200), "utm")
    out = tmp_path / "out.tif"
    extent = [] if box is None else ["-te", *box, "-te_srs", "EPSG:4326"]
    warp(path, out, "-t_srs", target, "-ts", *size, *extent, "-r", "near", "-et", 0)
    with rasterio.open(path) as file:
        chosen, width, height = calculate_default_transform(file.crs, target, file.width, file.height, *file.bounds)
    own = (chosen.c, chosen.f + height * chosen.e, chosen.c + width * chosen.a, chosen.f)
    if box is not None:
        own = transform_bounds("EPSG:4326", target, *box, densify_pts=21)
    wide, high = own[2] - own[0], own[3] - own[1]
    wanted = (size[0], int(size[0] * high / wide + 0.5)) if size[0] else (int(size[1] * wide / high + 0.5), size[1])
    crs, transform, found = window_of(out)
    assert (crs, found) == (target, wanted)
    exact = (wide / wanted[0], 0, own[0], 0, -high / wanted[1], own[3])
    assert np.allclose(transform, exact, rtol=1e-9, atol=1e-9)
    with rasterio.open(out) as file:
        compare(file.read(), expected(path, out, "near"), 0.002)


def test_te_srs_over_the_antimeridian(tmp_path: Path) -> None:
    """GDAL takes the box around the Earth backwards."""
    path, out = tmp_path / "world.tif", tmp_path / "out.tif"
    world = np.arange(7200, dtype=np.float32).reshape(1, 20, 360)
    place = rasterio.Affine(1, 0, -180, 0, -1, 60)
    with rasterio.open(path, "w", driver="GTiff", width=360, height=20, count=1, dtype="float32", crs="EPSG:4326", transform=place) as file:
        file.write(world)
    box = (704_000, 5_595_000, 950_000, 5_900_000)
    warp(path, out, "-te", *box, "-te_srs", "EPSG:32660", "-ts", 60, 40, "-r", "near", "-et", 0)
    west, south, east, north = transform_bounds("EPSG:32660", "EPSG:4326", *box, densify_pts=21)
    assert west > 0 > east
    wide, high = (east + 360 - west) / 60, (north - south) / 40
    with rasterio.open(out) as file:
        assert np.allclose(file.transform[:6], (wide, 0, west, 0, -high, north), rtol=1e-9)
        columns = (west + wide * (np.arange(60) + 0.5) + 180) % 360
        rows = 60 - (north - high * (np.arange(40) + 0.5))
        assert np.array_equal(file.read(1), world[0][rows.astype(int)[:, None], columns.astype(int)])
