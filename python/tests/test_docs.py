"""The pages of docs/python: every example runs, in order, and every public name and parameter is told."""

from __future__ import annotations

import inspect
import re
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
