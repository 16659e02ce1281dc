"""Reads the environment variables of the package, which `docs/environment.md` lists.

Options of a call override them. Each is read when it is needed, never
kept, so that a test or a worker may set it. A value that cannot be read is an error, not the default."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .errors import StrileError

_MIB = 1 << 20


def strict() -> bool:
    return _flag("STRILE_GEOTIFF_STRICT")


def allow_private_hosts() -> bool:
    return _flag("STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS")


def allow_chained_urls() -> bool:
    return _flag("STRILE_GEOTIFF_ALLOW_CHAINED_URLS")


def allowed_schemes() -> set[str]:
    text = os.environ.get("STRILE_GEOTIFF_ALLOW_SCHEMES", "")
    return {scheme.strip().lower() for scheme in text.split(",") if scheme.strip()}


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


def vrt_hosts() -> list[str]:
    return [host.strip() for host in os.environ.get("STRILE_VRT_ALLOWED_HOSTS", "").split(",") if host.strip()]


def vrt_max_work() -> int:
    return _count("STRILE_VRT_MAX_WORK", 1 << 28)


def vrt_max_xml_bytes() -> int:
    return _count("STRILE_VRT_MAX_XML_BYTES", 64 * _MIB)


def _flag(name: str) -> bool:
    return os.environ.get(name, "").strip().lower() in {"1", "true", "yes", "on"}


def _count(name: str, default: int) -> int:
    return _above_zero(name, default, int, "a whole number above 0")


def _seconds(name: str, default: float) -> float:
    return _above_zero(name, default, float, "a number of seconds above 0")


def _above_zero(name: str, default: Any, kind: type, expected: str) -> Any:
    text = os.environ.get(name, "").strip()
    try:
        value = kind(text) if text else default
    except ValueError:
        value = 0
    if not value > 0:
        raise StrileError(f"{name} is {text!r}: expected {expected}")
    return value
