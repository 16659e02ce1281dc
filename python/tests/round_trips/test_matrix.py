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
from ways import KEPT, LOST, WAYS, Cell  # noqa: E402

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


ALIKE = {"band names", "units", "tags", "nodata int", "south-up", "PixelIsPoint", "RGB", "internal mask", "complex"}


@pytest.mark.parametrize("feature", sorted(ALIKE))
def test_compare_sees_no_difference_either(
    feature: str, folder: Path, cells: dict[tuple[str, str], Cell]
) -> None:
    number = next(number for number, one in enumerate(FEATURES) if one.name == feature)
    for at, way in enumerate(WAYS):
        # What is stored in masked pixels is lost: the engine gives NaN, and a VRT does not lay them, as gdalbuildvrt's.
        hidden = feature == "internal mask" and ("engine" in way or "vrt" in way)
        if cells[feature, way].state == KEPT and not hidden:
            found = strile.compare(folder / f"in{number}.tif", folder / f"out{number}_{at}.tif")
            assert [one for one in found if one["category"] not in ("overviews", "software")] == [], way
