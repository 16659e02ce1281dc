"""Options of remote files cross to the core as a typed object, which workers of a cluster get by pickle."""

from __future__ import annotations

import pickle

import pytest
from strile import StrileError, _core
from strile.reading.storage import storage_of


def test_options_survive_pickling() -> None:
    given = {"region": "eu-west-1", "retries": 7, "connect_timeout": 2.5, "headers": {"x-a": "1"}, "anonymous": True}
    options = storage_of("s3://bucket/key.tif", given).for_core("s3://bucket/key.tif")
    assert isinstance(options, _core.RemoteOptions)
    copy = pickle.loads(pickle.dumps(options))  # noqa: S301
    _, kept = copy.__getnewargs_ex__()
    assert kept == options.__getnewargs_ex__()[1]
    assert (kept["region"], kept["retries"], kept["connect_timeout"], kept["anonymous"]) == ("eu-west-1", 7, 2.5, True)
    assert kept["headers"] == [("x-a", "1")]
    assert kept["deny_private_hosts"] in (True, False)


def test_names_and_values_are_checked() -> None:
    with pytest.raises(TypeError, match="regions"):
        _core.RemoteOptions(regions="x")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="headers"):
        _core.RemoteOptions(headers=[("secret", 1)])  # type: ignore[list-item]
    with pytest.raises(StrileError, match="retries"):
        _core.RemoteOptions(retries=-1)
    with pytest.raises(StrileError, match="total_timeout is -1"):
        _core.RemoteOptions(total_timeout=-1)
