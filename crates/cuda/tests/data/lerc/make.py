"""Makes blobs.bin: LERC blobs by Esri's library, through imagecodecs, and CRC-32s of the pixels it decodes from them.

Run with imagecodecs and numpy: python make.py
A record: eight u32 (type, width, height, samples, version, 1 where kernels take it, CRC-32, bytes of the blob), the
blob. Pixels that the mask leaves out are NaN, or 77.
"""

import struct
import zlib
from pathlib import Path

import numpy
from imagecodecs import lerc_decode, lerc_encode

TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "float64"]
MISSING = 77


def pixels(kind, dtype, shape, rng):
    """Pixels like those of rasters: kind 0 a hillside, 1 few classes, 2 noise, 3 one value, 4 flat but for a corner.

    Kind 5 has values as often as Fibonacci's numbers, whose Huffman codes are the longest that so many pixels can have.
    """
    height, width, samples = shape
    y, x, s = numpy.meshgrid(numpy.arange(height), numpy.arange(width), numpy.arange(samples), indexing="ij")
    if kind == 0:
        values = 40 + 30 * numpy.sin(x / 9.0 + s) + 25 * numpy.cos(y / 7.0) + rng.random(shape)
    elif kind == 1:
        values = (x // 5 * 3 + y // 4 * 7 + s) % 5 * 9 + 3.0 * (rng.random(shape) > 0.9)
    elif kind == 2:
        limit = 1e6 if dtype.kind == "f" else numpy.iinfo(dtype).max
        values = rng.random(shape) * limit
    elif kind == 3:
        values = numpy.full(shape, 17.0)
    elif kind == 5:
        counts = [1, 1]
        while sum(counts) < height * width * samples:
            counts.append(counts[-1] + counts[-2])
        values = numpy.repeat(numpy.arange(len(counts)) * 7 % 100, counts)[: height * width * samples]
        values = rng.permutation(values).reshape(shape)
    else:
        values = numpy.where((x > 20) & (y > 9), 50.0 + x, 0.0)
    return values.astype(dtype)


def mode(blob):
    """How samples are coded: 0 none, 1 a sweep, 2 micro-blocks, 3 Huffman, 4 versions that kernels leave to the host."""
    version = struct.unpack_from("<i", blob, 6)[0]
    if version < 3:
        return 4
    at = 22 if version == 3 else 26
    depth = 1 if version == 3 else struct.unpack_from("<I", blob, 22)[0]
    valid, _, _, kind = struct.unpack_from("<IIii", blob, at)
    at += 16
    if version >= 6:
        if blob[at + 4]:
            return 4
        at += 8
    error, low, high = struct.unpack_from("<ddd", blob, at)
    at += 24 + (16 if version >= 6 else 0)
    at += 4 + struct.unpack_from("<I", blob, at)[0]
    if valid == 0 or low == high:
        return 0
    if version >= 4:
        size = numpy.dtype(TYPES[kind]).itemsize
        if blob[at : at + depth * size] == blob[at + depth * size : at + 2 * depth * size]:
            return 0
        at += 2 * depth * size
    if blob[at]:
        return 1
    flagged = abs(error - 0.5) < 1e-5 if kind < 2 else version >= 6 and kind > 5 and error == 0
    return 3 if flagged and blob[at + 1] else 2


def main():
    rng = numpy.random.default_rng(20)
    records, modes = [], {}
    number = 0
    for name in TYPES:
        dtype = numpy.dtype(name)
        for version in [2, 3, 4, 5, 6]:
            for kind in range(6):
                for masked in [False, True]:
                    number += 1
                    # Several samples a pixel from version 4 on, and micro-blocks cut off at the edges.
                    samples = [1, 1, 3, 2][number % 4] if version >= 4 else 1
                    shape = [(27, 41, samples), (16, 24, samples), (9, 70, samples)][number % 3]
                    if kind != 0 and (version in (2, 3) or (masked and kind == 3)):
                        continue
                    if kind == 5 and (masked or dtype.itemsize > 1 or version > 4):
                        continue
                    data = pixels(kind, dtype, shape, rng)
                    error = [0, 0, 0.05, 2.0][(number // 2) % 4] if dtype.kind == "f" else [0, 0, 1, 3][number % 4]
                    if kind == 5:
                        error = 0
                    mask = None
                    if masked:
                        mask = rng.random(shape[:2]) > 0.3
                        mask[4:12, 8:24] = number % 5 != 0
                        mask[0, 0] = True
                        if number % 7 == 0:
                            mask[:] = False
                    given = data if samples > 1 else data[:, :, 0]
                    try:
                        blob = lerc_encode(given, level=error, masks=mask, version=version, planar=False)
                    except Exception as problem:
                        print(name, version, kind, masked, samples, problem)
                        continue
                    found = lerc_decode(blob)
                    found = numpy.asarray(found).reshape(shape).copy()
                    if masked:
                        found[~mask] = numpy.nan if dtype.kind == "f" else MISSING
                    how = mode(blob)
                    key = (name, how)
                    if modes.get(key, 0) >= (2 if how in (0, 4) else 5) and kind != 5:
                        continue
                    modes[key] = modes.get(key, 0) + 1
                    stored = struct.unpack_from("<i", blob, 6)[0]
                    crc = zlib.crc32(found.tobytes())
                    # Differences between samples, from version 5 on, and Huffman codes of floats or with a mask are left to
                    # the host.
                    takes = how < 3 and (stored < 5 or samples == 1)
                    takes = takes or (how == 3 and dtype.itemsize == 1 and (not masked or mask.all()))
                    head = [TYPES.index(name), shape[1], shape[0], samples, stored, takes, crc, len(blob)]
                    records.append(struct.pack("<8I", *map(int, head)) + bytes(blob))
    Path(__file__).with_name("blobs.bin").write_bytes(b"".join(records))
    print(len(records), "blobs,", sum(map(len, records)), "bytes;", modes)


if __name__ == "__main__":
    main()
