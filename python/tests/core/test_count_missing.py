"""`count_missing`: against numpy for every type, value and strides, and where floats would be wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as made
from strile import _core
from strile.errors import StrileError

TYPES = (
    "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 float32 float64 complex64 complex128".split()
)


def contains(array: Any, value: Any) -> bool:
    return bool(_core.count_missing(array, value)[1])


def expected(array: np.ndarray, value: int | float) -> tuple[int, int]:
    """In Python's own numbers, which compare whole numbers and floats exactly."""
    nans = int(np.isnan(array).sum()) if array.dtype.kind in "fc" else 0
    if isinstance(value, float) and math.isnan(value):
        return nans, nans
    return nans, sum(sample == value for sample in array.ravel().tolist())


VALUES = st.one_of(
    st.integers(-(2**65), 2**65),
    st.integers(-3, 3),
    st.floats(),
    st.floats(width=16),
    st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 2**53 + 1, 2**64 - 1, -(2**63), 0.1, float(np.float32(0.1))]),
)


@settings(max_examples=400, deadline=None)
@given(st.data(), st.sampled_from(TYPES), VALUES)
def test_as_python_compares(data: st.DataObject, dtype: str, value: int | float) -> None:
    shapes = made.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=6)
    array = data.draw(made.arrays(dtype, shapes))
    if array.size and data.draw(st.booleans()):
        value = array.ravel()[data.draw(st.integers(0, array.size - 1))].real.item()
        value = int(value) if isinstance(value, bool) else value
    views = [array, array.T, array[::-1], array[..., ::-2], np.broadcast_to(array, (2, *array.shape))]
    view = data.draw(st.sampled_from(views))
    assert _core.count_missing(view, value) == expected(view, value)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("at", [0, 1, 1_000_003, -1])
def test_wherever_it_is_in_a_large_array(dtype: str, at: int) -> None:
    array = np.zeros(3_000_000, dtype)
    assert not contains(array, 1)
    array[at] = 1
    assert contains(array, 1)
    assert contains(array.reshape(1000, 3000).T, 1)
    assert contains(array[::-1], 1)
    assert contains(array[at:][:1], 1)


def test_whole_numbers_are_not_compared_by_floats() -> None:
    array = np.array([2**53], "int64")
    assert not contains(array, 2**53 + 1) and contains(array, float(2**53))
    assert not contains(np.array([2.0**53]), 2**53 + 1)
    assert not contains(np.array([2**64 - 1], "uint64"), -1)
    assert not contains(np.array([0.1], "float32"), 0.1)


@pytest.mark.parametrize("wrong", ["1", None, True, [1]])
def test_a_value_that_is_no_number(wrong: Any) -> None:
    with pytest.raises(TypeError):
        contains(np.zeros(3), wrong)


def test_arrays_of_others() -> None:
    with pytest.raises(StrileError):
        contains(np.array(["a"]), 1)
    assert contains(memoryview(b"abc"), 98)
