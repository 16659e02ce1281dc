"""`open_geotiff` against what xarray-spatial said of the same files, opened in the same ways (`make_answers.py`)."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import pytest

rasterio = pytest.importorskip("rasterio")

import made  # noqa: E402
import numpy as np  # noqa: E402
import strile  # noqa: E402
from described import described, ways  # noqa: E402
from rasterio.windows import Window  # noqa: E402

KEPT = json.loads((Path(__file__).parent / "xarray_spatial.json").read_text())["answers"]

OURS = {
    "complex": "complex numbers are read, there they are refused",
    "predictor_3": "there floats of several bands that lie together come out wrong",
    "local_crs": "a reference system of its own, without a code, is kept as WKT",
    "masked_image/masked": "the mask that is in the file is honoured where there is no nodata value",
    "masked_image/lazy": "the mask that is in the file is honoured where there is no nodata value",
    "control_points": "a file placed by control points opens on its pixel grid",
    "point/bbox": "pixels of a file of points have an extent as well, so the right ones are half a pixel further",
}
"""Answers, or all of a file, that are ours on purpose, and why; rasterio is on our side (below)."""


def on_purpose(case: str) -> bool:
    return case in OURS or case.split("/")[0] in OURS


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parity")


def test_every_file_has_its_answers() -> None:
    assert set(KEPT) == {f"{name}/{way}" for name in made.MAKERS for way in ways(name)}


@pytest.mark.parametrize("case", [case for case in sorted(KEPT) if not on_purpose(case)])
def test_answers_are_those_of_xarray_spatial(case: str, folder: Path) -> None:
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
    if not hasattr(strile, wanted) and wanted not in (
        "ValueError",
        "TypeError",
        "IndexError",
        "NotImplementedError",
    ):
        wanted = next(
            kind for kind in kinds if kind in ("ValueError", "TypeError", "RuntimeError", "OSError")
        )
    assert wanted in ours, f"{ours} raised, {kinds} expected: {error}"


@pytest.mark.parametrize("case", [case for case in sorted(KEPT) if on_purpose(case)])
def test_where_answers_differ_rasterio_is_with_us(case: str, folder: Path) -> None:
    name, way = case.split("/")
    options = ways(name)[way]
    array = strile.open_geotiff(made.make(name, folder), **options)
    with rasterio.open(made.make(name, folder)) as file:
        window = None
        if "window" in options:
            row, column, end_row, end_column = options["window"]
            window = Window(column, row, end_column - column, end_row - row)
        elif "bbox" in options:
            (top, bottom), (left, right) = file.window(*options["bbox"]).toranges()
            window = Window.from_slices(
                (math.floor(top), math.ceil(bottom)), (math.floor(left), math.ceil(right))
            )
        pixels = file.read(window=window, masked=name == "masked_image")
        crs = file.gcps[1] if name == "control_points" else file.crs
        assert crs == rasterio.crs.CRS.from_user_input(array.attrs["crs_wkt"])
    if name == "masked_image":
        pixels = pixels.astype(float).filled(np.nan)
        assert array.attrs["mask_source"] == "image"
    ours = array.transpose("band", ...).values if "band" in array.dims else array.values[None]
    assert np.array_equal(ours, pixels, equal_nan=pixels.dtype.kind == "f")
