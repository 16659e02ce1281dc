"""The environment variables of the package: all of them, what they mean, and how each is read.

Options of a call come first; these stand for what no option reaches. Each is read when it is needed, never
kept, so that a test or a worker may set it. A value that cannot be read is an error, not the default.

==========================================  ==================================================================
`STRILE_GEOTIFF_STRICT`                     1: nothing is done another way than asked for: missing sources
                                            of a VRT raise, and `gpu=True` never falls back
`STRILE_GEOTIFF_MAX_CLOUD_BYTES`            most bytes an eager read fetches from a remote store (256 MiB); `none`:
                                            any number
`STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS`        1: URLs may lead to this machine and to private networks
`STRILE_GEOTIFF_ALLOW_CHAINED_URLS`         1: fsspec's chained URLs (`simplecache::https://…`) are followed
`STRILE_GEOTIFF_HTTP_CONNECT_TIMEOUT`       seconds to wait for a connection (10)
`STRILE_GEOTIFF_HTTP_READ_TIMEOUT`          seconds to wait for the next bytes (30)
`STRILE_GEOTIFF_OPEN_FILES`                 how many sources this process keeps open (32)
`STRILE_COG_MAX_TILE_BYTES`                 largest compressed tile or strip, decoded; unset: 256 MiB,
                                            more where it is plausible for the file
`STRILE_VRT_ALLOWED_ROOTS`                  folders, separated as in PATH, that sources of a VRT may lie in
                                            beside the VRT's own
`STRILE_VRT_MAX_XML_BYTES`                  largest VRT file (64 MiB)
`STRILE_VRT_MAX_WORK`                       samples of sources that a read of a VRT may lay beyond 64 for each of
                                            its result (268,435,456)
`STRILE_GPU_SHARE`                          how many processes share a card (1): each takes its part of the card's
                                            memory; read when the process opens the device
==========================================  ==================================================================
"""

from __future__ import annotations

import os
from pathlib import Path

from .errors import StrileError

_MIB = 1 << 20


def strict() -> bool:
    return _flag("STRILE_GEOTIFF_STRICT")


def allow_private_hosts() -> bool:
    return _flag("STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS")


def allow_chained_urls() -> bool:
    return _flag("STRILE_GEOTIFF_ALLOW_CHAINED_URLS")


def max_cloud_bytes() -> int | None:
    text = os.environ.get("STRILE_GEOTIFF_MAX_CLOUD_BYTES", "").strip()
    return None if text.lower() == "none" else _count("STRILE_GEOTIFF_MAX_CLOUD_BYTES", 256 * _MIB)


def http_timeouts() -> tuple[float, float]:
    """Seconds for connecting and for reading."""
    return (
        _seconds("STRILE_GEOTIFF_HTTP_CONNECT_TIMEOUT", 10.0),
        _seconds("STRILE_GEOTIFF_HTTP_READ_TIMEOUT", 30.0),
    )


def open_files() -> int:
    return _count("STRILE_GEOTIFF_OPEN_FILES", 32)


def vrt_roots() -> list[str]:
    text = os.environ.get("STRILE_VRT_ALLOWED_ROOTS", "")
    return [str(Path(root).resolve()) for root in text.split(os.pathsep) if root.strip()]


def vrt_max_work() -> int:
    return _count("STRILE_VRT_MAX_WORK", 1 << 28)


def vrt_max_xml_bytes() -> int:
    return _count("STRILE_VRT_MAX_XML_BYTES", 64 * _MIB)


def _flag(name: str) -> bool:
    return os.environ.get(name, "").strip().lower() in {"1", "true", "yes", "on"}


def _count(name: str, default: int) -> int:
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value <= 0:
        raise StrileError(f"{name} is {text!r}: a whole number above 0 is needed")
    return value


def _seconds(name: str, default: float) -> float:
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not value > 0:
        raise StrileError(f"{name} is {text!r}: a number of seconds above 0 is needed")
    return value
