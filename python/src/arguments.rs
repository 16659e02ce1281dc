//! Converts arguments of Python: True is not a number, text is not a list, and errors show the argument.
//!
//! PyO3 adds the name of the argument to an error as a note.

use crate::error::refused;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyString};
use strile::tiff::gdal::NoData;

/// A whole number that fits `T`: neither True nor a float.
pub(crate) struct Int<T>(pub(crate) T);

impl<'a, 'py, T: TryFrom<i128>> FromPyObject<'a, 'py> for Int<T> {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let number = integer(&value).ok_or_else(|| wrong_type(&value, "a whole number"))?;
        let unfit =
            |_| refused(format!("expected a number that fits {}, got {number}", std::any::type_name::<T>()));
        T::try_from(number).map(Self).map_err(unfit)
    }
}

/// A number: neither True nor text.
pub(crate) struct Float(pub(crate) f64);

impl<'a, 'py> FromPyObject<'a, 'py> for Float {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        float(&value).map(Self).ok_or_else(|| wrong_type(&value, "a number"))
    }
}

/// A value of samples: whole numbers stay whole.
pub(crate) struct Value(pub(crate) NoData);

impl<'a, 'py> FromPyObject<'a, 'py> for Value {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let number = integer(&value).map(NoData::Integer).or_else(|| float(&value).map(NoData::Float));
        number.map(Self).ok_or_else(|| wrong_type(&value, "a number"))
    }
}

/// `N` values of any iterable other than text.
pub(crate) struct Row<T, const N: usize>(pub(crate) [T; N]);

impl<'a, 'py, T: FromPyObjectOwned<'py>, const N: usize> FromPyObject<'a, 'py> for Row<T, N> {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let found: Option<Vec<T>> =
            elements(&value).and_then(|all| all.iter().map(|one| one.extract().ok()).collect());
        let row = found.and_then(|found| <[T; N]>::try_from(found).ok());
        row.map(Self).ok_or_else(|| wrong_type(&value, &format!("{N} numbers")))
    }
}

impl<const N: usize> Row<Float, N> {
    pub(crate) fn numbers(self) -> [f64; N] {
        self.0.map(|Float(number)| number)
    }
}

/// Returns the numbers of a list.
pub(crate) fn ints<T>(list: Vec<Int<T>>) -> Vec<T> {
    list.into_iter().map(|Int(number)| number).collect()
}

fn wrong_type(value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let kind = value.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    PyTypeError::new_err(format!("expected {expected}, got {} ({kind})", shown(value)))
}

/// Returns the value of one of a few words.
pub(crate) fn word<T: Copy>(what: &str, found: &str, words: &[(&str, T)]) -> PyResult<T> {
    words.iter().find(|(word, _)| *word == found).map(|(_, value)| *value).ok_or_else(|| {
        let expected: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        let expected = match expected.as_slice() {
            [_, _, _, ..] => format!("one of {}", expected.join(", ")),
            few => few.join(" or "),
        };
        refused(format!("{what} `{found}`: expected {expected}"))
    })
}

/// Returns a value as text for messages, shortened if it is long.
pub(crate) fn shown(value: &Bound<'_, PyAny>) -> String {
    const MOST: usize = 80;
    let text = value.repr().map(|text| text.to_string()).unwrap_or_else(|_| "a value without a name".into());
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

pub(crate) fn text(value: &Bound<'_, PyAny>) -> Option<String> {
    value.cast::<PyString>().ok()?.extract().ok()
}

/// Returns a whole number: neither True nor a float.
pub(crate) fn integer(value: &Bound<'_, PyAny>) -> Option<i128> {
    if value.is_instance_of::<PyBool>() {
        return None;
    }
    value.extract().ok()
}

/// Returns a number: neither True nor text.
pub(crate) fn float(value: &Bound<'_, PyAny>) -> Option<f64> {
    if value.is_instance_of::<PyBool>() || value.is_instance_of::<PyString>() {
        return None;
    }
    value.extract().ok()
}

/// Returns the elements of a list, a tuple or another iterable other than text.
pub(crate) fn elements<'py>(value: &Bound<'py, PyAny>) -> Option<Vec<Bound<'py, PyAny>>> {
    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
        return None;
    }
    value.try_iter().ok()?.collect::<PyResult<_>>().ok()
}
