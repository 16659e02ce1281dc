"""The round-trip matrix: no feature of a file is lost without a word, on any way through strile."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("rasterio")
pytest.importorskip("dask")
pytest.importorskip("pyproj")
sys.path.insert(0, str(Path(__file__).parent))

import strile  # noqa: E402
from inputs import FEATURES  # noqa: E402
from table import matrix, page  # noqa: E402
from ways import KEPT, LOST, WAYS, Cell, cell, stripped  # noqa: E402

PAGE = Path(__file__).resolve().parents[3] / "docs" / "round-trips.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("matrix")


@pytest.fixture(scope="module")
def cells(folder: Path) -> dict[tuple[str, str], Cell]:
    return matrix(folder)


NOT_YET: dict[tuple[str, str], str] = {}
"""Cells that are known to be lost, and why. Nothing may be added; what is kept by now must be taken out."""


@pytest.mark.parametrize("feature", [feature.name for feature in FEATURES])
def test_nothing_is_lost(feature: str, cells: dict[tuple[str, str], Cell]) -> None:
    lost = {way for (name, way), found in cells.items() if name == feature and found.state == LOST}
    known = {way for name, way in NOT_YET if name == feature}
    assert lost - known == set(), "lost without a word"
    assert known - lost == set(), "kept by now: take it out of NOT_YET"


def test_the_page_is_this_matrix(cells: dict[tuple[str, str], Cell]) -> None:
    assert PAGE.read_text() == page(cells), "run python/tests/round_trips/table.py > docs/round-trips.md"


def judged(source: Path, target: Path) -> set[str]:
    """Categories in which `strile compare` finds two files different. Overviews and the name of the software are no
    features of the input."""
    return {one["category"] for one in strile.compare(source, target)} - {"overviews", "software"}


UNSEEN = {"xarray engine → to_geotiff": {"pixels"}, "vrt → convert": {"pixels"}}
"""Stored values of pixels that are masked, which no reader sees: the engine gives NaN, and a VRT does not lay them."""

EXPECTED: dict[str, dict[str, set[str]]] = {
    "RGBA": UNSEEN,
    "alpha": UNSEEN,
    "internal mask": UNSEEN,
    # Written with photometric palette, as GDAL shows such a file.
    "palette + minisblack": {way: {"colour"} for way in WAYS if not way.startswith("convert")},
    # The geographic base, "unknown" on the datum of NAD83, is written as EPSG:4269, which it is.
    "user-defined CRS": {way: {"crs"} for way in WAYS},
}
"""What `strile compare` sees between files whose feature is kept, by feature and way."""


@pytest.mark.parametrize("number", range(len(FEATURES)), ids=[feature.name for feature in FEATURES])
def test_compare_sees_no_difference_either(number: int, folder: Path, cells: dict[tuple[str, str], Cell]) -> None:
    name = FEATURES[number].name
    found = {
        way: judged(folder / f"in{number}.tif", folder / f"out{number}_{at}.tif")
        for at, way in enumerate(WAYS)
        if cells[name, way].state == KEPT
    }
    expected = {way: EXPECTED.get(name, {}).get(way, set()) for way in found}
    assert found == expected


@pytest.mark.parametrize("number", range(len(FEATURES)), ids=[feature.name for feature in FEATURES])
def test_a_loss_is_seen(number: int, folder: Path, cells: dict[tuple[str, str], Cell]) -> None:
    """By the comparison of the matrix and by `strile compare`: without this a cell could be kept because nothing looks."""
    source, target = folder / f"in{number}.tif", folder / f"stripped{number}.tif"
    assert cell(FEATURES[number], stripped, source, target).state == LOST
    assert judged(source, target) != set()
