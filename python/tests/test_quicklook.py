"""Small pictures: valid PNG by another decoder, stretched, transparent where there is no data."""

from __future__ import annotations

import numpy as np
import pytest
from strile import quicklook

imagecodecs = pytest.importorskip("imagecodecs")


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_png_holds_the_pixels(channels: int) -> None:
    pixels = np.random.default_rng(1).integers(0, 255, (7, 11, channels), dtype=np.uint8)
    assert np.array_equal(imagecodecs.png_decode(quicklook.png(pixels)).reshape(pixels.shape), pixels)


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
