"""Locations as they may be shown: in messages, `repr`, attributes and plans, without credentials."""

from __future__ import annotations

import re

_URI = re.compile(r"^[A-Za-z][A-Za-z0-9+.\-]+(::|://)")


def is_uri(location: str) -> bool:
    # Most locations are paths, without a colon.
    return ":" in location and _URI.match(location) is not None


def shown(location: str) -> str:
    """Returns a location; of a URL no user info, query or fragment, where credentials and signatures are."""
    return redacted(re.split(r"[?#]", location, maxsplit=1)[0]) if is_uri(location) else location


def redacted(text: str) -> str:
    """Text with every URL in it cut to scheme, host and path."""
    from .. import _core

    return _core.redacted(text)
