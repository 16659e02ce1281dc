"""Removes credentials from locations for messages, `repr`, attributes and plans."""

from __future__ import annotations

import re

_URI = re.compile(r"^[A-Za-z][A-Za-z0-9+.\-]+(::|://)")


def is_uri(location: str) -> bool:
    # Most locations are paths, without a colon.
    return ":" in location and _URI.match(location) is not None


def shown(location: str) -> str:
    """Returns a location without user info, query and fragment, which may hold credentials and signatures."""
    return redacted(re.split(r"[?#]", location, maxsplit=1)[0]) if is_uri(location) else location


def redacted(text: str) -> str:
    """Cuts every URL in a text to scheme, host and path."""
    from .. import _core

    return _core.redacted(text)
