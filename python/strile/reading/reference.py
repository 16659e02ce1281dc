"""The reference system of a source as attributes: `crs` (an EPSG code) and `crs_wkt`.

The core reads GeoKeys and knows the definitions; this decides what of it the contract shows: the horizontal
part of a compound system, text of a citation where the file states its system in no other way, an error where
keys contradict each other. """

from __future__ import annotations

import warnings
from typing import Any

from ..errors import GeoTIFFFallbackWarning, InconsistentGeoKeysError, StrileError, UnparseableCRSError
from ..facts import Facts

_MODEL, _GEOGRAPHIC, _PROJECTED = 1024, 2048, 3072
_CITATIONS = (3073, 1026, 2049)
_USER_DEFINED = 32767
_WKT = (
    "PROJCS", "PROJCRS", "GEOGCS", "GEOGCRS", "GEODCRS", "GEODETICCRS", "GEOCCS", "COMPD_CS", "COMPOUNDCRS",
    "LOCAL_CS", "ENGCRS", "BOUNDCRS", "VERT_CS", "VERTCRS",
)  # fmt: skip
_PLACED = ("projected", "geographic", "geocentric", "compound")


def attributes(facts: Facts, allow_unparseable: bool, name: str) -> dict[str, Any]:
    """`crs` and `crs_wkt`, whichever are known."""
    _consistent(facts.geokeys, name)
    stated = _code(facts.geokeys.get(_PROJECTED)) or _code(facts.geokeys.get(_GEOGRAPHIC))
    cited = None if stated is not None else _citation(facts.geokeys)
    if cited is not None:
        return {"crs_wkt": _parsed(cited, allow_unparseable, name)}
    crs = facts.crs
    if crs is None:
        return _by_code(stated, name) if stated is not None else {}
    code = crs.horizontal_epsg if crs.kind == "compound" else crs.epsg
    if code is not None:
        # One text for one code, whatever words the file has for it: the same on every route.
        return _by_code(code, name)
    if stated is not None:
        return _by_code(stated, name)
    # A local system is a name and a unit: nothing that could be placed, or written again.
    return {"crs_wkt": crs.wkt} if crs.wkt and crs.kind in _PLACED else {}


def _by_code(code: int, name: str) -> dict[str, Any]:
    from .. import _core

    try:
        wkt = _core.crs(code)["wkt"]
    except StrileError as problem:
        warnings.warn(
            f"{name}: EPSG:{code} is not known and has no crs_wkt ({problem})",
            GeoTIFFFallbackWarning,
            stacklevel=2,
        )
        return {"crs": code}
    return {"crs": code, "crs_wkt": wkt} if wkt else {"crs": code}


def _parsed(text: str, allow_unparseable: bool, name: str) -> str:
    from .. import _core

    try:
        _core.crs(text)
    except StrileError as problem:
        if not allow_unparseable:
            raise UnparseableCRSError(
                f"{name}: the reference system {text[:60]!r} cannot be understood ({problem}): pass "
                "allow_unparseable_crs=True to keep the text"
            ) from problem
    return text


def _citation(keys: dict[int, Any]) -> str | None:
    """Text of a citation that is a definition rather than a name."""
    for key in _CITATIONS:
        text = keys.get(key)
        if isinstance(text, str):
            text = text.strip().strip("|\0").strip()
            if text.upper().startswith(_WKT) and "[" in text:
                return text
    return None


def _code(value: Any) -> int | None:
    return value if isinstance(value, int) and value not in (0, _USER_DEFINED) else None


def _consistent(keys: dict[int, Any], name: str) -> None:
    model = keys.get(_MODEL)
    projected, geographic = _code(keys.get(_PROJECTED)), _code(keys.get(_GEOGRAPHIC))
    if model == 2 and projected is not None:
        raise InconsistentGeoKeysError(
            f"{name}: the model is geographic and a projected system is stated (EPSG:{projected})"
        )
    if model == 1 and _PROJECTED not in keys and geographic is not None and _citation(keys) is None:
        raise InconsistentGeoKeysError(
            f"{name}: the model is projected and only a geographic system is stated (EPSG:{geographic})"
        )
