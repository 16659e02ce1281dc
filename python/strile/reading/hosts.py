"""Keeps URLs away from this machine and from private networks.

A URL often comes from somebody else, and a reader that follows it must not become their way to what only this
machine can reach. Every host is resolved and checked before it is asked. The core does the same for each connection, at
redirects too: it connects to an address that was checked. `STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS` permits it all. """

from __future__ import annotations

import ipaddress
import re
import socket
from typing import Any
from urllib.parse import urlsplit

from .. import environment
from ..errors import UnsafeURLError
from .shown import redacted

_CHAINED = re.compile(r"::(?=[A-Za-z][A-Za-z0-9+.\-]*(?:://|::))")
_NETWORK = frozenset({"http", "https", "ftp", "sftp", "ssh", "smb", "webhdfs", "dav", "davs"})


def check(location: str) -> None:
    """Raises for a URL with a host that must not be asked. No packet leaves but those of name resolution."""
    if environment.allow_private_hosts():
        return
    for part in _CHAINED.split(location):
        split = urlsplit(part)
        if split.scheme.lower() in _NETWORK:
            if not split.hostname:
                raise UnsafeURLError(f"{redacted(location)} has no host name")
            check_host(split.hostname, redacted(location))


def check_host(host: str, location: str) -> None:
    try:
        found = socket.getaddrinfo(host, None, proto=socket.IPPROTO_TCP)
    except OSError as problem:
        raise ConnectionError(
            f"{location}: cannot find the host {host!r} ({problem}); check the address and the network"
        ) from problem
    for *_, address in found:
        check_address(str(address[0]), host, location)


def check_address(address: str, host: str, location: str) -> None:
    where = ipaddress.ip_address(address.partition("%")[0])
    where = getattr(where, "ipv4_mapped", None) or where
    # Carrier-grade NAT and the like are neither private nor global; what is not global is not for a
    # stranger's URL.
    if not where.is_global or where.is_multicast:
        raise UnsafeURLError(
            f"{location}: the host {host!r} is {address}, on this machine or in a private network; set "
            "STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS=1 to permit it"
        )


def remote_options() -> dict[str, Any]:
    """What the core opens URLs with: it checks the address of each connection, at redirects too."""
    connect, read = environment.http_timeouts()
    denied = not environment.allow_private_hosts()
    return {"deny_private_hosts": denied, "connect_timeout": connect, "stall_timeout": read}
