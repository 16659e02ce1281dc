"""`open_geotiff` against what xarray-spatial said of the same files, opened in the same ways (`make_answers.py`)."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rasterio")

import made  # noqa: E402
import strile  # noqa: E402
from described import described, ways  # noqa: E402

KEPT = json.loads((Path(__file__).parent / "xarray_spatial.json").read_text())["answers"]

SERVED = {
    # It refuses what has a meaning for us, or gives less of it.
}
"""Answers that are ours on purpose, and why."""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parity")


def test_every_file_has_its_answers() -> None:
    assert set(KEPT) == {f"{name}/{way}" for name in made.MAKERS for way in ways(name)}


@pytest.mark.parametrize("case", sorted(KEPT))
def test_answers_are_those_of_xarray_spatial(case: str, folder: Path) -> None:
    if case in SERVED:
        pytest.skip(f"on purpose: {SERVED[case]}")
    name, way = case.split("/")
    path = made.make(name, folder)
    answer = KEPT[case]
    if "error" in answer:
        with pytest.raises(Exception) as raised:
            strile.open_geotiff(path, **ways(name)[way])
        assert_kind(raised.value, answer["error"])
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = strile.open_geotiff(path, **ways(name)[way])
        ours = json.loads(json.dumps(described(array)))
    for part in ("dims", "shape", "dtype", "name", "coords", "attrs", "values"):
        assert ours[part] == answer[part], part


def assert_kind(error: BaseException, kinds: list[str]) -> None:
    """The same class where it is one of the contract's, else one with the same ancestor in Python."""
    ours = [kind.__name__ for kind in type(error).__mro__]
    wanted: Any = kinds[0]
    if not hasattr(strile, wanted) and wanted not in ("ValueError", "TypeError", "IndexError", "NotImplementedError"):
        wanted = next(kind for kind in kinds if kind in ("ValueError", "TypeError", "RuntimeError", "OSError"))
    assert wanted in ours, f"{ours} raised, {kinds} expected: {error}"
