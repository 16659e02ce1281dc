"""What the core tells of a file before any pixel is read, against what tifffile and rasterio say of the same file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from asking import read
from strile import _core, errors

rasterio = pytest.importorskip("rasterio")
tifffile = pytest.importorskip("tifffile")


def made(path: Path, **profile: object) -> np.ndarray:
    """A file of GDAL's with overviews, bands that say what they are, and a mask of nodata."""
    pixels = np.random.default_rng(7).integers(0, 60000, (3, 150, 200)).astype("uint16")
    options = {
        "driver": "GTiff", "width": 200, "height": 150, "count": 3, "dtype": "uint16", "tiled": True,
        "blockxsize": 64, "blockysize": 32, "compress": "deflate", "predictor": 2, "nodata": 65535,
        "crs": "EPSG:32633", "transform": rasterio.transform.from_origin(500000, 5100000, 10, 20),
    }
    with rasterio.open(path, "w", **options | profile) as file:
        file.write(pixels)
        file.descriptions = ("red", "green", "blue")
        file.scales = (0.5, 0.5, 0.5)
        file.offsets = (-10, -10, -10)
        file.update_tags(place="here")
        file.update_tags(2, sensor="two")
    with rasterio.open(path, "r+") as file:
        file.build_overviews([2, 4], rasterio.enums.Resampling.nearest)
    return pixels


def test_facts_are_what_rasterio_says(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    made(path)
    facts = _core.Dataset.open(str(path)).facts
    with rasterio.open(path) as file:
        full, *overviews = facts["pages"][0]["levels"]
        assert (full["width"], full["height"], full["bands"]) == (file.width, file.height, file.count)
        assert (full["dtype"], full["block"]) == (file.dtypes[0], file.block_shapes[0])
        assert [full["width"] // level["width"] for level in overviews] == file.overviews(1)
        assert facts["transform"] == tuple(file.transform)[:6]
        assert facts["crs"]["epsg"] == file.crs.to_epsg()
        assert facts["nodata"] == file.nodata and isinstance(facts["nodata"], int)
        assert [band["description"] for band in facts["bands"]] == list(file.descriptions)
        assert [band["scale"] for band in facts["bands"]] == list(file.scales)
        assert [band["offset"] for band in facts["bands"]] == list(file.offsets)
        assert ("place", "here", "") in facts["items"]
        assert facts["bands"][1]["items"] == {"sensor": "two"}
    assert (full["compression"], full["compression_code"], full["predictor"]) == ("deflate", 8, 2)
    assert (full["bits"], full["sample_formats"], full["planar"]) == ([16] * 3, [1] * 3, "contig")
    assert (facts["kind"], facts["byte_order"], facts["bigtiff"]) == ("tiff", "little", False)
    assert (facts["mask_source"], facts["area_or_point"], facts["warnings"]) == ("nodata", "area", [])


def test_facts_are_made_once(tmp_path: Path) -> None:
    made(tmp_path / "a.tif")
    dataset = _core.Dataset.open(str(tmp_path / "a.tif"))
    assert dataset.facts is dataset.facts


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("bigtiff", [False, True])
def test_tags_are_what_tifffile_says(tmp_path: Path, order: str, bigtiff: bool) -> None:
    path = tmp_path / "a.tif"
    extra = [
        (65000, 3, 4, (1, 2, 3, 65535)), (65001, 12, 2, (0.1, -2.5)), (65002, 2, 0, "some text"),
        (65003, 7, 3, b"\x00\x01\xff"), (65004, 9, 1, -7), (65005, 5, 1, (1, 3)), (65006, 11, 1, 0.25),
    ]
    tifffile.imwrite(
        path, np.zeros((16, 16), "u1"), byteorder=order, bigtiff=bigtiff, extratags=[(*tag, True) for tag in extra]
    )
    found = {tag: (kind, count, value) for tag, kind, count, value in _core.Dataset.open(str(path)).tags()}
    with tifffile.TiffFile(path) as file:
        theirs = file.pages[0].tags
        assert set(found) == {tag.code for tag in theirs}
        for tag in theirs:
            kind, count, value = found[tag.code]
            assert (kind, count) == (int(tag.dtype), tag.count), tag.name
            theirs_value = tag.value
            if isinstance(theirs_value, str):
                assert value.rstrip("\0") == theirs_value
            elif tag.count == 1 and isinstance(theirs_value, tuple) and len(theirs_value) == 1:
                assert value == theirs_value[0]
            else:
                assert value == theirs_value, tag.name


def test_levels_beside_follow_those_inside(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    pixels = np.arange(64 * 64, dtype="u2").reshape(64, 64)
    with tifffile.TiffWriter(path) as file:
        file.write(pixels, tile=(16, 16), subifds=0)
        file.write(pixels[::2, ::2], tile=(16, 16), subfiletype=1)
    with tifffile.TiffWriter(f"{path}.ovr", byteorder=">") as file:
        file.write(pixels[::4, ::4], tile=(16, 16), subfiletype=1)
    dataset = _core.Dataset.open(str(path))
    levels = dataset.facts["pages"][0]["levels"]
    assert [(level["width"], level["sidecar"]) for level in levels] == [(64, False), (32, False), (16, True)]
    for level in range(3):
        step = 2**level
        assert np.array_equal(read(dataset, level=level).numpy()[0], pixels[::step, ::step])
    assert [level["width"] for level in _core.Dataset.open(str(path), sidecars=False).facts["pages"][0]["levels"]] == [64, 32]
    assert dict((tag, value) for tag, _, _, value in dataset.tags(0, 2))[256] == 16


def test_version_tells_states_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.zeros((16, 16), "u1"))
    before = _core.Dataset.open(str(path)).version
    assert before == _core.Dataset.open(str(path)).version and before[0] == path.stat().st_size
    tifffile.imwrite(path, np.zeros((17, 16), "u1"))
    assert _core.Dataset.open(str(path)).version != before


def test_a_closed_dataset_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.zeros((16, 16), "u1"))
    dataset = _core.Dataset.open(str(path))
    raster = dataset.read()
    dataset.close()
    dataset.close()
    for call in (dataset.read, dataset.plan, dataset.tags, dataset.holes, dataset.sources, lambda: dataset.facts):
        with pytest.raises(errors.ClosedError, match="was closed"):
            call()
    assert dataset.name == str(path) and raster.numpy().shape == (1, 16, 16)


def test_limits_on_blocks(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.zeros((64, 64), "u1"), tile=(16, 16))
    assert _core.Dataset.open(str(path), max_blocks=16).facts
    with pytest.raises(errors.StrileError, match="number of blocks is 16, over the limit of 15"):
        _core.Dataset.open(str(path), max_blocks=15)
