"""Files in buckets of S3, Google and Azure, read by every door that takes a URL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strile
from servers import Store

PIXELS = np.random.default_rng(11).integers(0, 4000, (700, 900), np.uint16)
GRID = {"crs": 32633, "transform": (10.0, 0.0, 500_000.0, 0.0, -10.0, 5_200_000.0)}


@pytest.fixture(scope="module")
def cog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("read") / "cog.tif"
    strile.to_geotiff(PIXELS, path, cog=True, tile_size=128, **GRID)
    return path


def test_every_door_reads_from_every_store(store: Store, cog: Path) -> None:
    store.put("read/cog.tif", cog.read_bytes())
    url, reached = store.url("read/cog.tif"), {"storage_options": store.options}
    assert np.array_equal(strile.open_geotiff(url, **reached), PIXELS)
    assert np.array_equal(strile.open_geotiff(url, chunks=300, **reached).compute(scheduler="threads"), PIXELS)
    with strile.open(url, **reached) as dataset:
        assert np.array_equal(dataset.read(1, window=(100, 200, 300, 400)), PIXELS[200:600, 100:400])
    batch = np.asarray(strile.read_batch([url, url], [(0, 5, 6, 64, 64), (1, 800, 600, 64, 64)], **reached))
    assert np.array_equal(batch[0, 0], PIXELS[6:70, 5:69]) and np.array_equal(batch[1, 0], PIXELS[600:664, 800:864])
    told = strile.info(url, checksum=True, **reached)
    assert told["figures"] == strile.info(cog, checksum=True)["figures"]
    assert strile.validate_cog(url, strict=True, **reached)["valid"]
    assert strile.compare(url, cog, structure=True, **reached) == []


def test_options_need_a_url(cog: Path) -> None:
    options: dict[str, Any] = {"storage_options": {"region": "x"}}
    with pytest.raises(strile.StrileError, match="apply to URLs"):
        strile.info(cog, **options)
    with pytest.raises(strile.StrileError, match="apply to URLs"):
        strile.validate_cog(cog, **options)
    with pytest.raises(strile.StrileError, match="apply to URLs"):
        strile.compare(cog, cog, **options)
    with pytest.raises(strile.StrileError, match="apply when a file is opened"), strile.open(cog) as dataset:
        strile.info(dataset, **options)
    with pytest.raises(strile.StrileError, match="allowed_hosts apply to VRTs"):
        strile.read_batch([cog], [(0, 0, 0, 8, 8)], allowed_hosts=["example.org"])


def test_sources_of_a_mosaic_are_on_hosts_that_are_allowed(store: Store, cog: Path, tmp_path: Path) -> None:
    if store.name != "s3":
        pytest.skip("one store is enough")
    store.put("read/cog.tif", cog.read_bytes())
    mosaic = tmp_path / "mosaic.vrt"
    mosaic.write_text(
        f"""<VRTDataset rasterXSize="900" rasterYSize="700"><VRTRasterBand dataType="UInt16" band="1"><SimpleSource>
        <SourceFilename relativeToVRT="0">{store.url("read/cog.tif")}</SourceFilename><SourceBand>1</SourceBand>
        <SrcRect xOff="0" yOff="0" xSize="900" ySize="700"/><DstRect xOff="0" yOff="0" xSize="900" ySize="700"/>
        </SimpleSource></VRTRasterBand></VRTDataset>"""
    )
    allowed: dict[str, Any] = {"allowed_hosts": ["s3://scenes"], "storage_options": store.options}
    found = np.asarray(strile.read_batch([mosaic], [(0, 10, 20, 100, 50)], **allowed))
    assert np.array_equal(found[0, 0], PIXELS[20:70, 10:110])
    strile.convert(mosaic, tmp_path / "out.tif", **allowed)
    assert strile.info(tmp_path / "out.tif", checksum=True)["figures"] == strile.info(cog, checksum=True)["figures"]
    with pytest.raises(Exception, match="allowed"):
        strile.read_batch([mosaic], [(0, 10, 20, 100, 50)])


def test_blocks_are_found_in_the_folder_of_the_cache(store: Store, cog: Path, tmp_path: Path) -> None:
    if store.name == "gcs":
        pytest.skip("the emulator tells no ETag, so that blocks have nothing to be known by")
    key = f"read/folder-{store.name}.tif"
    store.put(key, cog.read_bytes())
    strile.set_cache_folder(tmp_path / "blocks", limit=1 << 26)
    try:
        for turn in range(2):
            strile.clear_cache()
            before = strile.cache_stats()["folder_hits"]
            with strile.open(store.url(key), storage_options=store.options) as dataset:
                assert np.array_equal(dataset.read(1), PIXELS)
            hits = strile.cache_stats()["folder_hits"] - before
            assert (hits > 0) == (turn == 1)
        names = "".join(path.name for path in (tmp_path / "blocks").iterdir())
        assert "folder" not in names and "scenes" not in names
    finally:
        strile.set_cache_folder(None)
    (tmp_path / "open").mkdir(mode=0o755)
    (tmp_path / "open").chmod(0o755)
    with pytest.raises(OSError, match="chmod 700"):
        strile.set_cache_folder(tmp_path / "open")
