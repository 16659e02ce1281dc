"""JPEG 2000 at lower resolutions: every tile as OpenJPEG gives it, and pictures of files without overviews."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
import strile

imagecodecs = pytest.importorskip("imagecodecs")
tifffile = pytest.importorskip("tifffile")


def made(folder: Path, pixels: np.ndarray, tile: int, *, reversible: bool = True) -> Path:
    """A file whose tiles OpenJPEG encoded."""

    def tiles() -> Any:
        for row in range(0, pixels.shape[0], tile):
            for column in range(0, pixels.shape[1], tile):
                yield pixels[row : row + tile, column : column + tile].tobytes()

    path = folder / "made.tif"
    level = 0 if reversible else 40
    encoded = [
        imagecodecs.jpeg2k_encode(
            np.frombuffer(one, pixels.dtype).reshape(tile, tile, *pixels.shape[2:]),
            level=level,
            reversible=reversible,
            codecformat="j2k",
        )
        for one in tiles()
    ]
    tifffile.imwrite(
        path,
        iter(encoded),
        shape=pixels.shape,
        dtype=pixels.dtype,
        tile=(tile, tile),
        compression=34712,
        photometric="rgb" if pixels.ndim == 3 else "minisblack",
    )
    return path


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
@pytest.mark.parametrize(
    ("shape", "dtype", "reversible"),
    [((512, 1024), np.uint16, True), ((512, 512, 3), np.uint8, True), ((512, 512), np.uint8, False)],
)
@pytest.mark.parametrize("reduce", [1, 2])
def test_every_tile_is_as_openjpeg_gives_it(
    tmp_path: Path, shape: tuple[int, ...], dtype: Any, reversible: bool, reduce: int
) -> None:
    y, x = np.mgrid[: shape[0], : shape[1]]
    values = (np.sin(x / 9.0) + np.cos(y / 7.0) + 2) * 60 + np.random.default_rng(3).integers(0, 9, shape[:2])
    pixels = values.astype(dtype)
    if len(shape) == 3:
        pixels = np.stack([pixels, pixels[::-1], pixels[:, ::-1]], axis=-1)
    path = made(tmp_path, np.ascontiguousarray(pixels), 512, reversible=reversible)
    found = strile.read(path, reduce=reduce, device="cpu").numpy()
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        side = 512 >> reduce
        for at, (offset, count) in enumerate(zip(page.dataoffsets, page.databytecounts, strict=True)):
            file.filehandle.seek(offset)
            stream = tmp_path / "tile.j2k"
            stream.write_bytes(file.filehandle.read(count))
            # GDAL gives lower resolutions, by OpenJPEG, as overviews.
            with rasterio.open(stream, overview_level=reduce - 1) as opened:
                tile = opened.read()
            assert tile.shape[1:] == (side, side)
            part = found[:, :, at * side :][:, :, :side]
            # Floats of lossy streams are rounded apart, at full size as well.
            assert np.abs(part.astype(int) - tile).max() <= (0 if reversible else 1)


def test_a_large_file_without_overviews_has_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from strile import quicklook

    pixels = np.tile(np.arange(256, dtype=np.uint8), (256, 1))
    path = made(tmp_path, pixels, 128)
    monkeypatch.setattr(quicklook, "MOST_PIXELS", 5000)
    with strile.open(path) as dataset:
        shown = imagecodecs.png_decode(dataset.quicklook(64))
        assert shown.shape == (64, 64, 2)
        assert (np.diff(shown[5, :, 0].astype(int)) >= 0).all()
        assert dataset.quicklook(256) is None


def test_what_has_no_lower_resolution_says_why(tmp_path: Path) -> None:
    path = made(tmp_path, np.zeros((256, 256), np.uint8), 128)
    with strile.open(path) as dataset:
        assert "halved 2 times" in dataset.plan(reduce=2).explain()
        with pytest.raises(strile.StrileError, match="7 wavelet levels to be left out of"):
            dataset.read(reduce=7)
    plain = tmp_path / "plain.tif"
    tifffile.imwrite(plain, np.zeros((16, 16), np.uint8))
    with pytest.raises(strile.StrileError, match="only those of JPEG 2000 hold lower resolutions"):
        strile.read(plain, reduce=1)
