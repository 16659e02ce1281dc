"""Keeps fsspec away from this machine and from private networks, and to schemes that are known to lead to one place.

A URL often comes from somebody else, and a reader that follows it must not become their way to what only this machine can reach. The
rule is the core's. URLs that the core reads do not pass here: it checks each connection, at redirects too, and connects to the address
that it checked. `STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS` permits all hosts, `STRILE_GEOTIFF_ALLOW_SCHEMES` more schemes. """

from __future__ import annotations

import re
from urllib.parse import urlsplit

from .. import environment
from ..errors import UnsafeURLError
from .shown import redacted
from .storage import service_of

_CHAINED = re.compile(r"::(?=[A-Za-z][A-Za-z0-9+.\-]*(?:://|::))")
_NETWORK = frozenset({"http", "https", "ftp", "sftp", "ssh", "smb", "webhdfs", "webHDFS", "dav", "davs"})
_SCHEMES = frozenset({"memory", "ftp", "sftp", "ssh", "smb", "webhdfs", "hdfs", "hf", "oss", "oci", "github"})
"""Schemes that are opened by fsspec. Others read local files, archives, caches or what a description names."""


def check(location: str) -> None:
    """Raises for a URL that must not be followed. No packet leaves but those of name resolution."""
    shown = redacted(location)
    parts = _CHAINED.split(location)
    if len(parts) > 1 or "::" in location.partition("://")[0]:
        if not environment.allow_chained_urls():
            raise UnsafeURLError(
                f"{shown}: chained URLs are not followed, because they can lead to any file and host; set "
                "STRILE_GEOTIFF_ALLOW_CHAINED_URLS=1 to permit them"
            )
    else:
        _check_scheme(urlsplit(location).scheme.lower(), shown)
    if not environment.allow_private_hosts():
        for part in parts:
            _check_host(part, shown)


def check_any(location: str) -> None:
    """Checks URLs that the core reads, too, before any request."""
    if service_of(location) is None:
        check(location)
    elif not environment.allow_private_hosts():
        _check_host(location, redacted(location))


def _check_scheme(scheme: str, shown: str) -> None:
    if scheme not in _SCHEMES and scheme not in environment.allowed_schemes():
        known = ", ".join(sorted(_SCHEMES))
        raise UnsafeURLError(
            f"{shown}: URLs of scheme {scheme!r} are not opened; expected http, https, s3, gs, az, abfs, or by fsspec {known}; set "
            f"STRILE_GEOTIFF_ALLOW_SCHEMES={scheme} to permit it, or pass a filesystem as store"
        )


def _check_host(part: str, shown: str) -> None:
    from .. import _core

    split = urlsplit(part)
    if split.scheme.lower() not in _NETWORK:
        return
    if not split.hostname:
        raise UnsafeURLError(f"{shown} has no host name")
    _core.check_host(split.hostname, shown)
