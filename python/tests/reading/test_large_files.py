"""Files larger than 4 GiB. They are sparse: the space between blocks takes no room on the disk."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import strile

rasterio, tifffile = pytest.importorskip("rasterio"), pytest.importorskip("tifffile")
GIB = 1 << 30


def spread(path: Path, gap: int) -> None:
    """Moves the tiles of a BigTIFF apart, so that each starts `gap` bytes after the one before."""
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        table = page.tags[324].valueoffset
        offsets, lengths = page.dataoffsets, page.databytecounts
    content = path.read_bytes()
    moved = [len(content) + 4096 + number * gap for number in range(len(offsets))]
    with path.open("r+b") as file:
        for target, offset, length in zip(moved, offsets, lengths):
            file.seek(target)
            file.write(content[offset : offset + length])
        file.seek(table)
        file.write(np.array(moved, "<u8").tobytes())


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system with sparse files")
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_blocks_beyond_4_gib_are_read_as_gdal_does(tmp_path: Path, compression: str | None) -> None:
    path = tmp_path / "large.tif"
    pixels = np.random.default_rng(4).integers(0, 60_000, (96, 128), dtype="uint16")
    tifffile.imwrite(path, pixels, bigtiff=True, tile=(32, 32), compression=compression)
    spread(path, GIB)
    if path.stat().st_blocks * 512 > GIB:
        pytest.skip("the file system has no sparse files")
    assert path.stat().st_size > 11 * GIB
    assert np.array_equal(strile.read(path).numpy()[0], pixels)
    # The last tile, more than 11 GiB into the file.
    assert np.array_equal(strile.read(path, window=(96, 64, 32, 32)).numpy()[0], pixels[64:, 96:])
    assert np.array_equal(strile.open_geotiff(path, chunks=32).compute(), pixels)
    with rasterio.open(path) as file:
        assert np.array_equal(file.read(1), pixels)
