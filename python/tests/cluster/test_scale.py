"""The page on sizes past one machine: its numbers are those of the simulation, and that cuts as the core does."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("strile")

from strile import _core  # noqa: E402

DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.fixture(scope="module")
def simulation() -> Any:
    spec = importlib.util.spec_from_file_location("simulate", DOCS / "scale" / "simulate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["simulate"] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_table_of_the_simulation(simulation: Any) -> None:
    page = (DOCS / "scale.md").read_text()
    assert simulation.table() in page and simulation.facts() in page


@pytest.mark.parametrize("part", [2048, 8192])
def test_parts_are_cut_as_the_core_cuts_them(simulation: Any, part: int) -> None:
    raster = _core.RasterSpec(width=simulation.WIDTH, height=simulation.HEIGHT, bands=1, dtype="uint16")
    tile = (simulation.TILE, simulation.TILE)
    parts = _core.Parts(raster, _core.WriteOptions(format="cog", tile=tile, encode_on="cpu"), (part, part))
    counted = [tier.parts for tier in simulation.tiers(part)]
    assert [tier["rows"] * tier["columns"] for tier in parts.tiers] == counted
    assert parts.blocks == sum(tier.blocks for tier in simulation.tiers(part))
    assert parts.is_big
