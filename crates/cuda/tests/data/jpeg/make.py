"""Makes the pictures beside it: streams by libjpeg-turbo (Pillow 13, imagecodecs 2026.10), pixels by libjpeg-turbo's
accurate transform and default upsampling (imagecodecs.jpeg8_decode). NAME.jpg is the stream, NAME.pixels what it is.

The first part of a name says what the components are: `ycbcr` are given as RGB, others as stored.
"""

import io
import struct
from pathlib import Path

import imagecodecs
import numpy
from PIL import Image

HERE = Path(__file__).parent


def picture(width, height, components, seed):
    """Waves, edges and noise."""
    random = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:height, 0:width].astype(float)
    planes = []
    for k in range(components):
        plane = 128 + 70 * numpy.sin(x / (5 + 3 * k) + k) + 50 * numpy.cos(y / (7 - k))
        plane += random.normal(0, 12, (height, width))
        plane[(x // 9 + y // 7) % 5 == k] += 60
        planes.append(plane)
    return numpy.clip(numpy.stack(planes, -1), 0, 255).astype(numpy.uint8).squeeze()


def segments(stream):
    """Marker, begin and end of each segment up to the first scan header."""
    at, found = 2, []
    while not found or found[-1][0] != 0xDA:
        length = struct.unpack(">H", stream[at + 2 : at + 4])[0]
        found.append((stream[at + 1], at, at + 2 + length))
        at += 2 + length
    return found


def bare(stream):
    """Without words on colours and comments, as TIFF has streams."""
    kept = [stream[a:b] for marker, a, b in segments(stream) if not (0xE0 <= marker <= 0xEF or marker == 0xFE)]
    return stream[:2] + b"".join(kept) + stream[segments(stream)[-1][2] :]


def by_pillow(pixels, **options):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", **options)
    return file.getvalue()


def keep(name, stream):
    stream = bare(stream)
    space = {"ycbcr": ("YCBCR", "RGB"), "rgb": ("RGB", "RGB"), "stored": ("YCBCR", "YCBCR")}
    space |= {"cmyk": ("CMYK", "CMYK"), "grey": (None, None)}
    given, wanted = space[name.split("_")[0]]
    pixels = imagecodecs.jpeg8_decode(stream, colorspace=given, outcolorspace=wanted)
    (HERE / f"{name}.jpg").write_bytes(stream)
    (HERE / f"{name}.pixels").write_bytes(pixels.tobytes())
    print(name, len(stream), pixels.shape)


def apart(planes, factors, quality):
    """One scan for each component, out of grey streams."""
    streams = [bare(by_pillow(plane, quality=quality)) for plane in planes]
    height, width = planes[0].shape
    first = streams[0]
    body = b"".join(first[a:b] for marker, a, b in segments(first) if marker in (0xDB, 0xC4))
    frame = struct.pack(">BHHB", 8, height, width, len(planes))
    frame += b"".join(bytes([i + 1, factor, 0]) for i, factor in enumerate(factors))
    stream = first[:2] + body + b"\xff\xc0" + struct.pack(">H", len(frame) + 2) + frame
    for i, one in enumerate(streams):
        stream += b"\xff\xda" + struct.pack(">H", 8) + bytes([1, i + 1, 0, 0, 63, 0])
        stream += one[segments(one)[-1][2] : -2]
    return stream + b"\xff\xd9"


def main():
    seed = 0
    for subsampling in ("444", "422", "420", "440", "411"):
        for width, height, quality, optimize in ((33, 21, 90, False), (18, 40, 45, True), (3, 3, 80, False)):
            seed += 1
            pixels = picture(width, height, 3, seed)
            stream = imagecodecs.jpeg8_encode(
                pixels, level=quality, subsampling=subsampling, optimize=optimize, outcolorspace="YCBCR"
            )
            keep(f"ycbcr_{subsampling}_{width}x{height}", stream)
    keep("ycbcr_420_130x70", by_pillow(picture(130, 70, 3, 20), quality=97, subsampling=2))
    keep("ycbcr_420_restarts_70x35", by_pillow(picture(70, 35, 3, 21), quality=75, subsampling=2, restart_marker_blocks=2))
    keep("ycbcr_422_restarts_40x30", by_pillow(picture(40, 30, 3, 22), quality=30, subsampling=1, restart_marker_rows=1))
    keep("grey_q100_50x31", by_pillow(picture(50, 31, 1, 23), quality=100))
    keep("grey_restarts_50x31", by_pillow(picture(50, 31, 1, 24), quality=60, restart_marker_blocks=1))
    keep("grey_8x8", by_pillow(picture(8, 8, 1, 25), quality=75))
    keep("grey_flat_64x64", by_pillow(numpy.full((64, 64), 77, numpy.uint8), quality=75))
    keep("rgb_31x17", by_pillow(picture(31, 17, 3, 26), quality=85, keep_rgb=True))
    keep("stored_420_20x20", by_pillow(picture(20, 20, 3, 27), quality=85, subsampling=2))
    keep("cmyk_19x23", imagecodecs.jpeg8_encode(picture(19, 23, 4, 28), level=80, colorspace="CMYK", outcolorspace="CMYK"))
    y, b, r = (picture(37, 27, 1, 29 + i) for i in range(3))
    keep("ycbcr_apart_420_37x27", apart([y, b[:14, :19].copy(), r[:14, :19].copy()], [0x22, 0x11, 0x11], 70))
    keep("ycbcr_apart_444_37x27", apart([y, b, r], [0x11, 0x11, 0x11], 70))


if __name__ == "__main__":
    main()
