"""Every door reports the same reference system, and it is the one that rasterio reads.

Once `open_geotiff` reported the geographic base of a projected system without a code (4269 for a Lambert projection on
NAD83, 4326 for ESRI's Web Mercator), dropped the vertical part of compound systems, and texts of EPSG:3035, 3410 and 3413
had names and axes of an older registry, so that rasterio took them for other systems.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import strile
import xarray as xr

sys.path.insert(0, str(Path(__file__).parents[3] / "xtask" / "python"))
doors = pytest.importorskip("doors")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Path]]:
    return doors.made(tmp_path_factory.mktemp("doors"))


def said(path: Path) -> dict[str, tuple[str | None, int | None, str | None]]:
    """Kind, code and text by door."""
    with strile.open(path) as file:
        facts = file._facts.crs
    found: dict[str, Any] = {"core": (facts and facts.kind, facts and facts.epsg, facts and facts.wkt)}
    attrs = strile.open_geotiff(path, allow_rotated=True, allow_invalid_nodata=True, window=(0, 0, 1, 1)).attrs
    if "rotated_affine" not in attrs:
        found["open_geotiff"] = (None, attrs.get("crs"), attrs.get("crs_wkt"))
    return found


def through_engine(path: Path) -> Any:
    with xr.open_dataset(path, engine="strile") as dataset:
        return dataset.rio.crs


def test_made_files(made: list[tuple[str, Path]]) -> None:
    wrong = []
    for name, path in made:
        system, corners = doors.judged(path)
        doors_said = said(path)
        wrong += [f"{name} by {door}: {fault}" for door, ours in doors_said.items() if (fault := doors.fault(system, corners, ours))]
        if len({(code, wkt) for _, code, wkt in doors_said.values()}) != 1:
            wrong.append(f"{name}: doors differ: {doors_said}")
    assert not wrong, "\n".join(wrong)


def test_rasterio_takes_our_text_for_the_system_it_reads(made: list[tuple[str, Path]]) -> None:
    wrong = [name for name, path in made if through_engine(path) != doors.judged(path)[0]]
    assert not wrong


def test_the_corpus() -> None:
    files = doors.corpus()
    if not files:
        pytest.skip("no corpus in STRILE_CORPUS")
    wrong, unequal, count = [], [], 0
    for name, path in files:
        judged = doors.judged(path)
        if judged is None:
            continue
        try:
            doors_said = said(path)
        except (strile.StrileError, OSError, MemoryError):
            continue
        count += 1
        for door, ours in doors_said.items():
            fault = doors.fault(*judged, ours)
            if fault:
                wrong.append(f"{name} by {door}: {fault}")
        # Its keys name the registered system and its citation ESRI's; GDAL takes the latter, with other axes.
        if path.name == "crs_paris_4807_esri.tif":
            continue
        if judged[0] is not None and doors_said["core"][2] and not doors.equal(judged[0], doors_said["core"][2]):
            unequal.append(f"{name}: {doors_said['core'][2]}\n    {judged[0].to_wkt()}")
    print(f"{count} files, {len(unequal)} systems that rasterio does not take for its own")
    assert not wrong, "\n".join(wrong)
    assert not unequal, "\n".join(unequal)
