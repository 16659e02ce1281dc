"""The pages of docs/python: every example runs, in order, and every public name and parameter is told."""

from __future__ import annotations

import inspect
import re
import warnings
from pathlib import Path

import pytest
import strile

PAGES = Path(__file__).resolve().parents[2] / "docs" / "python"
NEEDS = {"cluster.md": "distributed", "training.md": "torch"}
BLOCK = re.compile(r"^```python( gpu)?\n(.*?)^```", re.M | re.S)


def gpu() -> bool:
    return any(device["usable"] for device in strile.devices() if device["name"].startswith("cuda"))


@pytest.mark.parametrize("page", sorted(path.name for path in PAGES.glob("*.md")))
def test_examples_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (PAGES / page).read_text()
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
    names: dict[str, object] = {"__name__": "example"}
    for found in BLOCK.finditer(text):
        on_gpu, code = found.groups()
        if on_gpu and not gpu():
            continue
        line = text.count("\n", 0, found.start(2))
        # Lines of an error are those of the page.
        exec(compile("\n" * line + code, str(PAGES / page), "exec"), names)


@pytest.mark.parametrize("page", sorted(path.name for path in PAGES.glob("*.md")))
def test_examples_say_what_comes_out(page: str) -> None:
    """An example that only runs shows nothing: each asserts its results."""
    text = (PAGES / page).read_text()
    silent = [
        text.count("\n", 0, found.start()) + 1
        for found in BLOCK.finditer(text)
        if not found[1] and "assert" not in found[2]
    ]
    assert silent == [], f"{page}: examples without an assert at lines {silent}"


def test_the_example_of_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It turned missing pixels into valid ones of twice the nodata value."""
    pytest.importorskip("dask")
    xarray = pytest.importorskip("xarray")
    import numpy as np

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
    code = BLOCK.search((PAGES.parents[1] / "README.md").read_text())
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


@pytest.mark.parametrize("function", ["open_geotiff", "to_geotiff", "read", "read_batch", "prefetch", "plan"])
def test_the_reference_has_every_parameter(function: str) -> None:
    text = (PAGES / "api.md").read_text()
    parameters = inspect.signature(getattr(strile, function)).parameters
    missing = [name for name in parameters if not re.search(rf"\b{name}\b", text)]
    assert missing == []
