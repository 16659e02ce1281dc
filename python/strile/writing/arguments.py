"""The keywords of `to_geotiff`, checked one by one and put together.

Nothing here looks at the data, at the target or at a device, so a bad call fails before any of them is
touched. What depends on the data (predictor 3 on integers, bands of a photometric) is checked by `raster`.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from ..checks import choice_of, is_bool, storage_options_of, truth_of, whole
from ..errors import StrileError

CODECS = ("none", "deflate", "lzw", "packbits", "zstd", "lz4", "lzma", "lerc", "jpeg", "jpeg2000", "j2k", "webp")

LEVELS = {"deflate": (1, 9), "zstd": (1, 22), "lzma": (0, 9)}
"""Lowest and highest level; a codec that is not here has none."""

QUALITIES = ("jpeg", "webp", "jpeg2000")
"""Codecs that take a quality."""

PREDICTED = ("deflate", "lzw", "zstd", "lz4", "lzma", "packbits")
"""Codecs that take bytes as they are, so that a predictor can stand before them."""

RESAMPLINGS = ("mean", "average", "nearest", "min", "max", "median", "mode", "cubic", "bilinear", "gauss", "lanczos", "rms")
"""Ways to make an overview."""

PHOTOMETRICS = {"auto": None, "minisblack": 1, "miniswhite": 0, "rgb": 2, "rgba": 2}

STRIP_ROWS = 256
TILE_SIZE = 256


@dataclass(frozen=True, slots=True)
class WriteArguments:
    """The checked arguments of a write; every field is valid by itself."""

    compression: str
    level: int | None
    quality: int | None
    tiled: bool
    tile_size: int
    predictor: int | str
    cog: bool
    overview_levels: tuple[int, ...] | None
    resampling: str
    bigtiff: bool | None
    gpu: bool | None
    buffer: int
    max_error: float
    photometric: int | None
    alpha: bool
    allow_unparseable_crs: bool
    drop_rotation: bool
    pack: bool
    ramp: str | None
    ramp_range: tuple[float, float] | None
    reproducible: bool
    spill: bool
    cluster: bool | None
    dims: tuple[str, ...] | None
    transform: tuple[float, float, float, float, float, float] | None
    # Not shown: it may have secrets.
    storage_options: dict[str, Any] | None = field(default=None, repr=False)


def check(given: dict[str, Any]) -> WriteArguments:
    """Checks the keywords of `to_geotiff`."""
    from .georef import checked_transform

    gpu = choice_of(given["gpu"], "gpu")
    compression = _compression(given["compression"])
    predictor = _predictor(given["predictor"], compression)
    tiled = truth_of(given["tiled"], "tiled")
    tile_size = _tile_size(given["tile_size"], tiled)
    cog = truth_of(given["cog"], "cog")
    if cog and not tiled:
        raise StrileError("cog=True with tiled=False: a cloud-optimized file has tiles; leave tiled at True")
    levels = _overview_levels(given["overview_levels"])
    photometric, alpha = _photometric(given["photometric"])
    bigtiff = given["bigtiff"]
    return WriteArguments(
        compression=compression,
        level=_level(given["compression_level"], compression),
        quality=_quality(given["quality"], compression),
        tiled=tiled,
        tile_size=tile_size,
        predictor=predictor,
        cog=cog,
        overview_levels=levels,
        resampling=_resampling(given["overview_resampling"]),
        bigtiff=None if bigtiff is None else truth_of(bigtiff, "bigtiff"),
        gpu=gpu,
        buffer=_buffer(given["streaming_buffer_bytes"]),
        max_error=_max_error(given["max_z_error"], compression),
        photometric=photometric,
        alpha=alpha,
        allow_unparseable_crs=truth_of(given["allow_unparseable_crs"], "allow_unparseable_crs"),
        drop_rotation=truth_of(given["drop_rotation"], "drop_rotation"),
        pack=truth_of(given["pack"], "pack"),
        ramp=_ramp_name(given["color_ramp"]),
        ramp_range=_ramp_range(given["color_ramp_range"]),
        reproducible=truth_of(given["reproducible"], "reproducible"),
        spill=truth_of(given["spill"], "spill"),
        cluster=choice_of(given["cluster"], "cluster"),
        dims=_dims(given["dims"]),
        transform=checked_transform(given["transform"]),
        storage_options=storage_options_of(given["storage_options"]),
    )


def _dims(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    names = () if isinstance(value, str) or not hasattr(value, "__iter__") else tuple(value)
    if len(names) not in (2, 3) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"dims is {value!r}: expected names of the axes, as ('band', 'y', 'x') or ('y', 'x')")
    return names


def _compression(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"compression is {name!r}: expected a string, 'none' for none")
    if name.lower() == "jxl":
        raise StrileError("compression 'jxl' is read but not written: there is no free encoder; use webp or jpeg2000")
    if name.lower() not in CODECS:
        raise StrileError(f"compression {name!r} is not known: expected one of {', '.join(CODECS)}")
    return "jpeg2000" if name.lower() == "j2k" else name.lower()


def _level(level: Any, compression: str) -> int | None:
    if level is None:
        return None
    number = whole(level)
    if number is None:
        raise TypeError(f"compression_level is {level!r}: expected an integer or None")
    bounds = LEVELS.get(compression)
    if bounds is None:
        instead = "use quality=" if compression in QUALITIES else f"only {', '.join(LEVELS)} have levels"
        raise StrileError(f"compression_level={number} has no meaning for compression {compression!r}: {instead}")
    if not bounds[0] <= number <= bounds[1]:
        raise StrileError(f"compression_level={number} is out of range: expected {bounds[0]} to {bounds[1]} for {compression}")
    return number


def _quality(quality: Any, compression: str) -> int | None:
    if quality is None:
        return None
    number = whole(quality)
    if number is None:
        raise TypeError(f"quality is {quality!r}: expected an integer or None")
    if compression not in QUALITIES:
        raise StrileError(f"quality={number} has no meaning for compression {compression!r}: only {', '.join(QUALITIES)} have it")
    if not 1 <= number <= 100:
        raise StrileError(f"quality={number} is out of range: expected 1 to 100")
    return number


def _predictor(value: Any, compression: str) -> int | str:
    if isinstance(value, str) and value.lower() == "auto":
        # The core knows which suits the type, and which codecs have one.
        return "auto"
    number = int(value) if is_bool(value) else whole(value)
    if number is None or number not in (0, 1, 2, 3):
        raise StrileError(f"predictor={value!r}: expected 'auto', False, True, 1, 2 or 3")
    if is_bool(value):
        number = 2 if value else 1
    number = max(number, 1)
    if number > 1 and compression not in (*PREDICTED, "none"):
        raise StrileError(
            f"predictor={number} cannot be combined with compression {compression!r}, which models pixels itself: use "
            "'auto' or False"
        )
    return 1 if compression == "none" else number


def _tile_size(value: Any, tiled: bool) -> int:
    if not tiled:
        if whole(value) != TILE_SIZE:
            warnings.warn(
                f"tile_size={value!r} is not used: tiled=False writes strips of {STRIP_ROWS} rows",
                stacklevel=4,
            )
        return TILE_SIZE
    number = whole(value)
    if number is None or number <= 0:
        raise StrileError(f"tile_size={value!r}: expected a positive integer")
    if number % 16:
        near = sorted({max(number // 16 * 16, 16), (number // 16 + 1) * 16})
        raise StrileError(
            f"tile_size={number} is not a multiple of 16, which TIFF requires: use {' or '.join(map(str, near))}"
        )
    return number


def _overview_levels(levels: Any) -> tuple[int, ...] | None:
    if levels is None:
        return None
    if isinstance(levels, (str, bytes)) or not hasattr(levels, "__iter__"):
        raise StrileError(f"overview_levels={levels!r}: expected a list of powers of two, as [2, 4, 8]")
    found: list[int] = []
    for value in levels:
        number = whole(value)
        if number is None or number < 2 or number & (number - 1):
            raise StrileError(f"overview_levels has {value!r}: expected powers of two from 2 on")
        if found and number <= found[-1]:
            raise StrileError(
                f"overview_levels has {number} after {found[-1]}: expected each larger than the one before"
            )
        found.append(number)
    return tuple(found)


def _resampling(name: Any) -> str:
    if not isinstance(name, str) or name.lower() not in RESAMPLINGS:
        raise StrileError(
            f"overview_resampling={name!r} is not known: expected one of {', '.join(RESAMPLINGS)}"
        )
    return name.lower()


def _buffer(value: Any) -> int:
    """Returns the buffer size. Any number is accepted: at least one piece is computed at a time."""
    try:
        return max(int(value), 1)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"streaming_buffer_bytes is {value!r}: expected a number of bytes") from None


def _max_error(value: Any, compression: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"max_z_error is {value!r}: expected a number") from None
    if not math.isfinite(number) or number < 0:
        raise StrileError(f"max_z_error={value!r}: expected a finite number that is not negative")
    if number > 0 and compression != "lerc":
        raise StrileError(
            f"max_z_error={number} with compression {compression!r}: only 'lerc' has an error bound"
        )
    return number


def _photometric(value: Any) -> tuple[int | None, bool]:
    """Returns the number (None: chosen by the data) and whether the fourth band is alpha."""
    if isinstance(value, str):
        name = value.lower()
        if name not in PHOTOMETRICS:
            raise StrileError(
                f"photometric={value!r} is not known: expected one of {', '.join(PHOTOMETRICS)} or a number"
            )
        return PHOTOMETRICS[name], name == "rgba"
    number = whole(value)
    if number is None:
        raise TypeError(f"photometric is {value!r}: expected a name or a number")
    if not 0 <= number <= 65535:
        raise StrileError(f"photometric={number} is out of range: expected 0 to 65535")
    return number, False


def _ramp_name(value: Any) -> str | None:
    """Returns the name of a ramp. None and False: no ramp; True: the default; else the name in any case."""
    if value is None or (is_bool(value) and not value):
        return None
    ramps = _core.color_ramps()
    if is_bool(value):
        return ramps[0]
    if not isinstance(value, str) or value.lower() not in ramps:
        raise StrileError(f"color_ramp={value!r} is not known: expected one of {', '.join(ramps)}")
    return value.lower()


def _ramp_range(value: Any) -> tuple[float, float] | None:
    if value is None:
        return None
    try:
        low, high = (float(number) for number in value)
    except (TypeError, ValueError):
        raise StrileError(f"color_ramp_range={value!r}: expected two numbers (low, high)") from None
    return low, high
