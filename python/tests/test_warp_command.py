"""`strile warp` beside GDAL's warper, which rasterio has: grids, pixels, nodata, masks and files on top of each other."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest

rasterio = pytest.importorskip("rasterio")
from rasterio.enums import Resampling  # noqa: E402
from rasterio.warp import calculate_default_transform, reproject, transform_bounds  # noqa: E402

SCRIPT = [str(Path(sysconfig.get_path("scripts")) / "strile")]

# Name, reference system, first corner and pixel of a source.
SOURCES = {
    "utm": ("EPSG:32633", (500_000, 5_538_630), 30),
    "degrees": ("EPSG:4326", (14.9, 50.1), 0.0003),
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
    """What GDAL puts onto the grid of `out`."""
    with rasterio.open(path) as source, rasterio.open(out) as target:
        fill = options.pop("fill", 0)
        made = np.full((source.count, target.height, target.width), fill, options.pop("dtype", target.dtypes[0]))
        reproject(
            source.read(),
            made,
            src_transform=source.transform,
            src_crs=source.crs,
            dst_transform=target.transform,
            dst_crs=target.crs,
            resampling=Resampling[RASTERIO.get(method, method)],
            tolerance=0,
            num_threads=1,
            **options,
        )
        return made


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


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32"])
@pytest.mark.parametrize("method", METHODS)
def test_pixels_are_gdals(tmp_path: Path, method: str, dtype: str) -> None:
    for source, target, size in [("utm", "EPSG:3857", (190, 150)), ("degrees", "EPSG:32633", (70, 50)), ("laea", "EPSG:4326", (400, 300))]:
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
        compare(file.read(), expected(path, out, method, src_nodata=-5, dst_nodata=-5, fill=-5), 0.002)
    warp(path, out, "-t_srs", "EPSG:3857", "-r", method, "-et", 0, "-dstnodata", 7, "-ot", "Float32", "-overwrite")
    with rasterio.open(out) as file:
        wanted = expected(path, out, method, src_nodata=-5, dst_nodata=7, fill=7, dtype="float32")
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
    high = write(tmp_path / "high.tif", high, "degrees", nodata=0)
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
