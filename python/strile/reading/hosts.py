"""Keeps URLs away from this machine and from private networks.

A URL often comes from somebody else, and a reader that follows it must not become their way to what only this
machine can reach. Every host is resolved and checked before a connection is made, at each redirect too, and
the connection goes to an address that was checked. `STRILE_GEOTIFF_ALLOW_PRIVATE_HOSTS` permits it all. """

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


def options(location: str) -> dict[str, Any]:
    """What fsspec's HTTP file system is made with, so that redirects and later resolutions are checked
    too."""
    if urlsplit(location).scheme.lower() not in {"http", "https"}:
        return {}
    connect, read = environment.http_timeouts()
    guarded = not environment.allow_private_hosts()
    # fsspec keeps file systems by these values: one that was made while all hosts were permitted is not used
    # later.
    return {"get_client": _client, "client_kwargs": {"connect": connect, "read": read, "guarded": guarded}}


async def _client(
    loop: Any = None, connect: float = 10.0, read: float = 30.0, guarded: bool = True, **options: Any
) -> Any:
    import aiohttp
    from aiohttp.resolver import DefaultResolver

    class Checked(DefaultResolver):  # type: ignore[valid-type, misc]
        async def resolve(self, host: str, *arguments: Any, **keywords: Any) -> Any:
            found = await super().resolve(host, *arguments, **keywords)
            for entry in found:
                check_address(entry["host"], host, host)
            return found

    async def redirected(session: Any, context: Any, event: Any) -> None:
        response = event.response
        target = response.headers.get("Location") or response.headers.get("URI") or ""
        check(str(response.url.join(type(response.url)(target))))

    trace = aiohttp.TraceConfig()
    if guarded:
        trace.on_request_redirect.append(redirected)
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(resolver=Checked() if guarded else DefaultResolver()),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=connect, sock_read=read),
        trace_configs=[trace],
        **options,
    )
