"""Runs the examples and the notebooks of `examples/`. Each checks its own results and makes its own data."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import strile

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
# `train.py` needs PyTorch; `batch/test_training.py` runs it.
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("python/*.py") if path.name != "train.py")
NOTEBOOKS = sorted(path.name for path in EXAMPLES.glob("notebooks/*.ipynb"))
NEEDS = {"write_from_dask.py": ["dask"], "many_scenes.ipynb": ["dask", "matplotlib"], "first_look.ipynb": ["matplotlib"]}
LONGEST = 60


def need(name: str) -> None:
    for module in NEEDS.get(name, []):
        pytest.importorskip(module)


def environment(folder: Path) -> dict[str, str]:
    """Imports the strile that is tested; what is written to temporary files goes away with the test."""
    package = os.path.dirname(os.path.dirname(strile.__file__))
    return {**os.environ, "PYTHONPATH": package, "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "MPLCONFIGDIR": str(folder)}


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_run(name: str, tmp_path: Path) -> None:
    need(name)
    ended = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", EXAMPLES / "python" / name],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=tmp_path,
        env=environment(tmp_path),
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout and ended.stderr == ""


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need(name)
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    for variable, value in environment(tmp_path).items():
        monkeypatch.setenv(variable, value)
    # Jupyter looks for kernels and settings of the user and the machine; only this environment's count here.
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(EXAMPLES / "notebooks" / name, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}}).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    said = [output.text for cell in cells for output in cell.outputs if output.get("name") == "stderr"]
    assert said == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_short_and_check_something(name: str) -> None:
    text = (EXAMPLES / "python" / name).read_text()
    assert len(text.splitlines()) <= LONGEST and "assert " in text


def test_there_are_examples() -> None:
    assert len(SCRIPTS) >= 6 and len(NOTEBOOKS) >= 2
