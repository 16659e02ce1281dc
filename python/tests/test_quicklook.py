"""Small pictures: valid PNG by another decoder, stretched, transparent where there is no data."""

from __future__ import annotations

import numpy as np
import pytest
from strile import StrileError, _core, quicklook

imagecodecs = pytest.importorskip("imagecodecs")


@pytest.mark.parametrize("bands", [1, 3])
def test_bytes_that_reach_from_0_to_255_are_the_pixels_of_the_png(bands: int) -> None:
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 256, (bands, 7, 11), dtype=np.uint8)
    pixels[:, 0, :2] = 0, 255
    valid = rng.integers(0, 4, (7, 11)) > 0
    valid[0, :2] = True
    shown = imagecodecs.png_decode(quicklook.picture(pixels, np.broadcast_to(valid, pixels.shape)))
    assert shown.shape == (7, 11, bands + 1)
    assert np.array_equal(np.moveaxis(shown[..., :bands], -1, 0)[:, valid], pixels[:, valid])
    assert np.array_equal(shown[..., bands], np.where(valid, 255, 0))


def test_a_picture_that_is_not_filled_is_refused() -> None:
    for samples, valid, shape in ((bytes(3), bytes(4), (2, 2)), (bytes(6), bytes(6), (2, 2)), (b"", b"", (0, 0))):
        with pytest.raises(StrileError, match="a picture of"):
            _core.picture(samples, "uint8", valid, shape)


def test_values_are_stretched_and_holes_are_transparent() -> None:
    ramp = np.linspace(-3000, 5000, 64 * 32).reshape(1, 32, 64)
    valid = np.ones(ramp.shape, bool)
    valid[0, :4] = False
    ramp[0, 5, 5] = np.nan
    shown = imagecodecs.png_decode(quicklook.picture(ramp, valid))
    assert shown.shape == (32, 64, 2)
    assert (shown[:4, :, 1] == 0).all() and shown[5, 5, 1] == 0 and (shown[6:, :, 1] == 255).all()
    assert shown[6, 0, 0] < 25 and shown[31, 63, 0] == 255
    assert (np.diff(shown[6:, :, 0].ravel().astype(int)) >= 0).all()


def test_a_picture_is_no_wider_than_asked() -> None:
    pixels = np.arange(3 * 90 * 400, dtype=np.int32).reshape(3, 90, 400)
    shown = imagecodecs.png_decode(quicklook.picture(pixels, np.ones(pixels.shape, bool), 100))
    assert shown.shape == (23, 100, 4)


def test_nothing_but_holes_is_a_picture_too() -> None:
    shown = imagecodecs.png_decode(quicklook.picture(np.zeros((1, 4, 4)), np.zeros((1, 4, 4), bool)))
    assert (shown[..., 1] == 0).all()
