"""Runs the examples of the documentation in order, and checks that the reference has every public name and parameter."""

from __future__ import annotations

import ast
import inspect
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strile

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = DOCS / "python"
# Pages with examples, as paths below `docs`.
NAMES = sorted(
    path.relative_to(DOCS).as_posix()
    for pattern in ("python/*.md", "how-to/*.md", "tutorial.md")
    for path in DOCS.glob(pattern)
)
NEEDS = {
    "python/cluster.md": "distributed",
    "python/training.md": "torch",
    "python/coming-from-tifffile.md": "tifffile",
    "how-to/dask.md": "dask",
    "how-to/mosaic.md": "dask",
    "how-to/remote.md": "fsspec",
    "how-to/stack.md": "dask",
    "how-to/values.md": "pyproj",
}
BLOCK = re.compile(r"^```python( gpu)?\n(.*?)^```", re.M | re.S)


def gpu() -> bool:
    return any(device["usable"] for device in strile.devices() if device["name"].startswith("cuda"))


def write_files_of_the_how_to_pages() -> None:
    """Elevation with missing pixels, three bands, two neighbours in a folder, and points."""
    rows, columns = np.mgrid[:500, :700]
    height = (500 + 300 * np.sin(rows / 40) * np.cos(columns / 50)).astype("float32")

    def write(path: str, pixels: np.ndarray, west: float = 500_000.0, **options: Any) -> None:
        transform = (10.0, 0.0, west, 0.0, -10.0, 5_200_000.0)
        strile.to_geotiff(pixels, path, crs=32632, transform=transform, **options)

    missing = height.copy()
    missing[:20, :30] = -9999
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write("dem.tif", missing, nodata=-9999)
        write("scene.tif", np.stack([height.astype("uint16")] * 3), dims=("band", "y", "x"))
        Path("scenes").mkdir()
        write("scenes/a.tif", height)
        write("scenes/b.tif", height + 1, west=507_000.0)
    Path("points.csv").write_text("x,y\n500105,5199895\n500255,5199605\n")


@pytest.mark.parametrize("page", NAMES)
def test_examples_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DOCS / page).read_text()
    if page in NEEDS:
        pytest.importorskip(NEEDS[page])
    if "rioxarray" in page:
        pytest.importorskip("rioxarray")
        import xarray

        if "strile" not in xarray.backends.list_engines():
            pytest.skip(
                "strile is not installed, only importable: xarray finds engines of installed packages"
            )
    monkeypatch.chdir(tmp_path)
    if page.startswith("how-to/"):
        write_files_of_the_how_to_pages()
    names: dict[str, object] = {"__name__": "example"}
    for found in BLOCK.finditer(text):
        on_gpu, code = found.groups()
        if on_gpu and not gpu():
            continue
        line = text.count("\n", 0, found.start(2))
        # Lines of an error are those of the page.
        exec(compile("\n" * line + code, str(DOCS / page), "exec"), names)


def _asserts_something(code: str) -> bool:
    """Whether an assert looks at a value: one of constants alone holds whatever happens."""
    asserts = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Assert)]
    return any(isinstance(part, ast.Name) for node in asserts for part in ast.walk(node.test))


@pytest.mark.parametrize("page", NAMES)
def test_examples_say_what_comes_out(page: str) -> None:
    """An example that only runs shows nothing: each asserts something about its results, also those for GPUs."""
    text = (DOCS / page).read_text()
    silent = [
        text.count("\n", 0, found.start()) + 1 for found in BLOCK.finditer(text) if not _asserts_something(found[2])
    ]
    assert silent == [], f"{page}: examples without an assert at lines {silent}"


def test_the_example_of_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It turned missing pixels into valid ones of twice the nodata value."""
    pytest.importorskip("dask")
    xarray = pytest.importorskip("xarray")
    if "strile" not in xarray.backends.list_engines():
        pytest.skip("strile is not installed, only importable")
    monkeypatch.chdir(tmp_path)
    coords = {"y": 4_909_990.0 - 20 * np.arange(500), "x": 600_010.0 + 20 * np.arange(500)}
    dem = xarray.DataArray(
        np.arange(250_000, dtype="float32").reshape(500, 500), coords, ("y", "x"), attrs={"crs": 32633, "nodata": -9999.0}
    )
    dem[:40, :60] = np.nan
    strile.to_geotiff(dem, "dem.tif")
    strile.to_geotiff(dem, "scene.tif")
    code = BLOCK.search((DOCS.parent / "README.md").read_text())
    assert code is not None
    lines = [
        line.replace("import strile, torch, xarray", "import strile, xarray")
        for line in code[2].splitlines()
        if "torch.from_dlpack" not in line and "gpu=True).explain" not in line
    ]
    names: dict[str, object] = {"paths": ["dem.tif"], "windows": [[0, 0, 64, 64]]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec("\n".join(lines).replace('device="cuda"', 'device="cpu"'), names)
    twice = strile.open_geotiff("twice.tif", masked=True)
    assert np.array_equal(twice, dem.values * 2, equal_nan=True)
    assert strile.compare("dem.tif", "cog.tif") == [] and strile.validate_cog("cog.tif")["valid"]


def test_the_guide_has_examples_for_gpus_and_others() -> None:
    blocks = BLOCK.findall((PAGES / "README.md").read_text())
    assert sum(1 for on_gpu, _ in blocks if on_gpu) >= 2 and sum(1 for on_gpu, _ in blocks if not on_gpu) >= 8


def test_the_reference_has_every_name() -> None:
    text = (PAGES / "api.md").read_text()
    missing = [name for name in strile.__all__ if name not in text]
    assert missing == []


def test_the_page_of_docstrings_has_every_name() -> None:
    named = re.findall(r"^::: strile\.(\w+)$", (PAGES / "reference.md").read_text(), re.M)
    assert sorted(named) == sorted(strile.__all__)


FUNCTIONS = """open_geotiff to_geotiff open read read_batch prefetch plan vrt convert add_overviews validate_cog compare
    info Dataset.read Dataset.sample Dataset.read_masks Dataset.dataset_mask""".split()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_reference_has_every_parameter(function: str) -> None:
    text = (PAGES / "api.md").read_text()
    found = getattr(strile.Dataset, function.removeprefix("Dataset.")) if "." in function else getattr(strile, function)
    parameters = [name for name in inspect.signature(found).parameters if name != "self"]
    missing = [name for name in parameters if not re.search(rf"\b{name}\b", text)]
    assert missing == []
