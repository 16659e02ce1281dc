#!/usr/bin/env python3
"""Makes the streams in this folder (see README.md): python make.py. Needs numpy and imagecodecs."""
import struct
from pathlib import Path

import imagecodecs
import numpy as np

HERE = Path(__file__).parent
HEIGHT, WIDTH, TILE = 40, 50, 32


def ramp(bands, bits, dtype):
    """The twin of Pixels::ramp: smooth, no two bands alike, the top 8 bits in use."""
    b, y, x = np.mgrid[:bands, :HEIGHT, :WIDTH]
    return ((40 + 2 * x + y + 20 * b) << (bits - 8)).astype(dtype)


def tiles(array):
    """Interleaved 32 by 32 tiles, edges repeated, row by row."""
    rows, columns = -HEIGHT % TILE, -WIDTH % TILE
    array = np.pad(array, ((0, 0), (0, rows), (0, columns)), mode="edge").transpose(1, 2, 0)
    for y in range(0, array.shape[0], TILE):
        for x in range(0, array.shape[1], TILE):
            tile = np.ascontiguousarray(array[y : y + TILE, x : x + TILE])
            yield tile[..., 0].copy() if tile.shape[2] == 1 else tile


def write(name, array, encode):
    streams = [bytes(encode(tile)) for tile in tiles(array)]
    data = b"".join(struct.pack("<I", len(s)) + s for s in streams)
    (HERE / f"{name}.streams").write_bytes(data)
    print(name, len(data))


u8, u16 = np.uint8, np.uint16
j2k = dict(reversible=True, level=0)
write("j2k_u8_rgb", ramp(3, 8, u8), lambda t: imagecodecs.jpeg2k_encode(t, codecformat="j2k", mct=True, **j2k))
write("jp2_u8_rgb", ramp(3, 8, u8), lambda t: imagecodecs.jpeg2k_encode(t, codecformat="jp2", mct=False, **j2k))
write("j2k_u16_gray", ramp(1, 14, u16), lambda t: imagecodecs.jpeg2k_encode(t, codecformat="j2k", **j2k))
write("webp_lossy_rgb", ramp(3, 8, u8), lambda t: imagecodecs.webp_encode(t, level=90, lossless=False))
write("jpeg_12bit_gray", ramp(1, 12, u16), lambda t: imagecodecs.jpeg8_encode(t, level=95, bitspersample=12))
write("ljpeg_u16_gray", ramp(1, 14, u16), lambda t: imagecodecs.ljpeg_encode(t, bitspersample=16))
write("jxl_f32_gray", ramp(1, 8, np.float32) / np.float32(256), lambda t: imagecodecs.jpegxl_encode(t, lossless=True))
write("jxl_lossy_rgb", ramp(3, 8, u8), lambda t: imagecodecs.jpegxl_encode(t, distance=0.5))
