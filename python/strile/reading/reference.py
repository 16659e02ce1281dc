"""The reference system of a source as attributes: `crs` (an EPSG code) and `crs_wkt`.

The core decides what the system is, for every way to open a file. This only names it as the contract does: `crs` is the
code of the whole system, never of its base or of a part, and absent where the whole has none. Contradicting keys, and
text that is meant as a definition and cannot be understood, are errors.
"""

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


def attributes(facts: Facts, allow_unparseable: bool, name: str) -> dict[str, Any]:
    """`crs` and `crs_wkt`, whichever are known."""
    _consistent(facts.geokeys, name)
    crs = facts.crs
    if crs is None or crs.kind == "local":
        stated = _code(facts.geokeys.get(_PROJECTED)) or _code(facts.geokeys.get(_GEOGRAPHIC))
        cited = None if stated is not None else _citation(facts.geokeys)
        if cited is not None:
            return {"crs_wkt": _parsed(cited, allow_unparseable, name)}
    if crs is None:
        return {}
    attrs: dict[str, Any] = {}
    if crs.epsg is not None:
        attrs["crs"] = crs.epsg
    if crs.wkt:
        attrs["crs_wkt"] = crs.wkt
    elif crs.epsg is not None:
        warnings.warn(
            f"{name}: EPSG:{crs.epsg} is not in the table of reference systems, so there is no crs_wkt",
            GeoTIFFFallbackWarning,
            stacklevel=2,
        )
    return attrs


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
