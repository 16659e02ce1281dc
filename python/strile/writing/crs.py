"""The reference system to write: from the keyword, else from what the array says about itself.

The core knows the systems (EPSG, WKT, PROJ text); here it is decided which statement counts, and that two
that disagree are an error. No statement is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import _core
from ..checks import is_bool, whole
from ..errors import (
    ConflictingCRSError,
    InvalidCRSCodeError,
    NonRepresentableEPSGCRSError,
    StrileError,
    UnknownCRSModelTypeError,
    UnparseableCRSError,
)

WRITABLE = ("projected", "geographic", "geocentric", "compound", "local")

Crs = int | str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Text that means no system, and is to be written all the same."""

    text: str


def crs_keys(keyword: Any, data: Any, attrs: Mapping[Any, Any], allow_unparseable: bool) -> dict[str, Crs]:
    """Returns the key of the core's `RasterSpec` for the system, if there is one. `data` is a DataArray
    or None."""
    found = _crs_of(keyword, data, attrs, allow_unparseable)
    if found is None:
        return {}
    return {"crs_citation": found.text} if isinstance(found, Unknown) else {"crs": found}


def _crs_of(
    keyword: Any, data: Any, attrs: Mapping[Any, Any], allow_unparseable: bool
) -> Crs | Unknown | None:
    if keyword is not None:
        return _checked(keyword, "crs", allow_unparseable)
    code, wkt = attrs.get("crs"), attrs.get("crs_wkt")
    named = _spatial_ref(data)
    if code is not None and wkt is not None:
        _check_agree(("attrs['crs']", code), ("attrs['crs_wkt']", wkt))
    stated = ("attrs['crs']", code) if code is not None else ("attrs['crs_wkt']", wkt)
    if stated[1] is not None and named is not None:
        # As after rio.reproject and rio.write_crs, which leave attributes of others alone.
        _check_agree(stated, ("the coordinate spatial_ref", named))
    if code is not None and not (isinstance(wkt, str) and wkt and _is_compound(code)):
        return _checked(code, "attrs['crs']", allow_unparseable)
    if wkt is not None and not (isinstance(wkt, str) and wkt == ""):
        return _checked(wkt, "attrs['crs_wkt']", allow_unparseable)
    return None if named is None else _checked(named, "the coordinate spatial_ref", allow_unparseable)


def _checked(value: Any, name: str, allow_unparseable: bool) -> Crs | Unknown:
    if is_bool(value):
        raise StrileError(f"{name} is {value!r}: expected an EPSG code, WKT or PROJ text")
    code = whole(value)
    if code is None and hasattr(value, "to_wkt"):
        value = value.to_wkt()
    if code is None and not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}: expected an EPSG code, WKT or PROJ text")
    if code is None:
        code = _code_of_text(value)
    if code is not None:
        return _checked_code(code, name)
    try:
        found = _core.crs(value)
    except (UnparseableCRSError, InvalidCRSCodeError):
        if allow_unparseable:
            return Unknown(value)
        raise
    epsg = found.get("epsg")
    # A text that means a system of EPSG is written as its code: shorter, and no reader can take it otherwise. A
    # compound one is not, because the code would state what one key cannot hold.
    if epsg is not None and found["kind"] != "compound":
        return _checked_code(epsg, name)
    return str(value)


def _code_of_text(text: str) -> int | None:
    """Returns the code of `EPSG:n` or of a bare number."""
    tail = text.strip()
    if tail[:5].upper() == "EPSG:":
        tail = tail[5:]
    return int(tail) if tail.isascii() and tail.isdigit() else None


def _checked_code(code: int, name: str) -> int:
    try:
        found = _core.crs(code)
    except InvalidCRSCodeError:
        raise InvalidCRSCodeError(f"{name} is {code}, which is not an EPSG code of a reference system") from None
    if found["kind"] == "compound":
        raise NonRepresentableEPSGCRSError(
            f"{name} is {code} ({found['name']}), a compound system, which one code in a GeoTIFF cannot state: pass its "
            "WKT, or the horizontal part"
        )
    if found["kind"] not in WRITABLE:
        raise UnknownCRSModelTypeError(
            f"{name} is {code} ({found['name']}), which is {found['kind']}: expected a projected, geographic or "
            "geocentric system"
        )
    return code


def _check_agree(first: tuple[str, Any], second: tuple[str, Any]) -> None:
    """Raises if two statements, each with its name, mean two systems. Statements that cannot be parsed are reported later."""
    try:
        one, other = _meaning(first[1]), _meaning(second[1])
    except (StrileError, TypeError):
        return
    if one is None or other is None or one == other:
        return
    if isinstance(first[1], str) and first[1] == second[1]:
        return
    raise ConflictingCRSError(
        f"{first[0]} is {_named(one)} and {second[0]} means {_named(other)}: pass crs= to choose, or drop one of them"
    )


def _named(meaning: Any) -> str:
    return f"the {meaning[0]} system {meaning[1]!r}" if isinstance(meaning, tuple) else str(meaning)


def _is_compound(code: Any) -> bool:
    """Returns whether a code means a compound system. Only its text can be written: one key holds one part."""
    try:
        return bool(_core.crs(code)["kind"] == "compound")
    except (StrileError, TypeError):
        return False


def _meaning(value: Any) -> Any:
    """Returns the code of a system, else its name: equal for two ways to state one system."""
    if is_bool(value):
        return None
    code = whole(value)
    if code is None and isinstance(value, str):
        code = _code_of_text(value)
    found = _core.crs(code if code is not None else value)
    return found["epsg"] if found.get("epsg") is not None else (found["kind"], found["name"])


def _spatial_ref(data: Any) -> str | None:
    """Returns the system as rioxarray and CF state it: attributes of a coordinate named by `grid_mapping`, or
    `spatial_ref`."""
    if data is None:
        return None
    mapping = data.encoding.get("grid_mapping", data.attrs.get("grid_mapping", "spatial_ref"))
    if mapping not in data.coords:
        return None
    attrs = data.coords[mapping].attrs
    text = attrs.get("crs_wkt") or attrs.get("spatial_ref")
    return text if isinstance(text, str) and text else None
