//! A dict of named values, read key by key: what is missing, of another type, out of range or not known is an error
//! that names the key.

use crate::error::strile_error;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyString};

/// Keyword arguments as a dict, taken by name and type.
pub(crate) struct Keys<'a, 'py> {
    /// What the dict is called in messages.
    name: &'static str,
    dict: &'a Bound<'py, PyDict>,
    known: Vec<&'static str>,
}

impl<'a, 'py> Keys<'a, 'py> {
    pub(crate) fn new(name: &'static str, dict: &'a Bound<'py, PyDict>) -> Self {
        Self { name, dict, known: Vec::new() }
    }

    pub(crate) fn py(&self) -> Python<'py> {
        self.dict.py()
    }

    /// The value of a key; `None` where there is none or it is None.
    pub(crate) fn get(&mut self, key: &'static str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.known.push(key);
        Ok(self.dict.get_item(key)?.filter(|value| !value.is_none()))
    }

    /// The value of a key as `read` takes it; what it does not take is of the wrong type.
    pub(crate) fn typed<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl FnOnce(&Bound<'py, PyAny>) -> Option<T>,
    ) -> PyResult<Option<T>> {
        let Some(value) = self.get(key)? else { return Ok(None) };
        read(&value).map(Some).ok_or_else(|| self.wrong_type(key, &value, expected))
    }

    pub(crate) fn text(&mut self, key: &'static str) -> PyResult<Option<String>> {
        self.typed(key, "text", text)
    }

    pub(crate) fn flag(&mut self, key: &'static str) -> PyResult<Option<bool>> {
        self.typed(key, "True or False", |value| value.extract().ok())
    }

    pub(crate) fn float(&mut self, key: &'static str) -> PyResult<Option<f64>> {
        self.typed(key, "a number", float)
    }

    /// A whole number that fits `T`.
    pub(crate) fn integer<T: TryFrom<i128>>(
        &mut self,
        key: &'static str,
        expected: &str,
    ) -> PyResult<Option<T>> {
        let Some(value) = self.get(key)? else { return Ok(None) };
        let number = integer(&value).ok_or_else(|| self.wrong_type(key, &value, expected))?;
        T::try_from(number).map(Some).map_err(|_| self.out_of_range(key, &value, expected))
    }

    /// The elements of a list, each as `read` takes it.
    pub(crate) fn list<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl Fn(&Bound<'py, PyAny>) -> Option<T>,
    ) -> PyResult<Option<Vec<T>>> {
        self.typed(key, expected, |value| elements(value)?.iter().map(read).collect())
    }

    /// One of some words.
    pub(crate) fn word<T>(
        &mut self,
        key: &'static str,
        words: &[&str],
        read: impl FnOnce(&str) -> Option<T>,
    ) -> PyResult<Option<T>> {
        let expected = format!("one of {}", words.join(", "));
        let Some(value) = self.get(key)? else { return Ok(None) };
        let word = text(&value).ok_or_else(|| self.wrong_type(key, &value, &expected))?;
        read(&word).map(Some).ok_or_else(|| self.out_of_range(key, &value, &expected))
    }

    /// A value that must be there.
    pub(crate) fn needed<T>(&self, key: &str, value: Option<T>) -> PyResult<T> {
        value.ok_or_else(|| PyTypeError::new_err(format!("{} has no `{key}`, which is required", self.name)))
    }

    pub(crate) fn wrong_type(&self, key: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
        let kind = value.get_type().name().map(|name| name.to_string()).unwrap_or_default();
        let problem = format!("{} `{key}`: expected {expected}, got {} ({kind})", self.name, shown(value));
        PyTypeError::new_err(problem)
    }

    pub(crate) fn out_of_range(&self, key: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
        self.refused(value.py(), key, &format!("expected {expected}, got {}", shown(value)))
    }

    pub(crate) fn refused(&self, py: Python<'_>, key: &str, problem: &str) -> PyErr {
        strile_error(py, "StrileError", format!("{} `{key}`: {problem}", self.name))
    }

    /// After every key was asked for: there may be no other.
    pub(crate) fn finish(self) -> PyResult<()> {
        for key in self.dict.keys() {
            let name = text(&key);
            if !name.as_deref().is_some_and(|name| self.known.contains(&name)) {
                let known = self.known.join(", ");
                let problem = format!("{} has a key {}, known are {known}", self.name, shown(&key));
                return Err(PyTypeError::new_err(problem));
            }
        }
        Ok(())
    }
}

/// The keywords that an object was made of: for copies of it, some with other values.
pub(crate) struct Keywords(Py<PyDict>);

impl Keywords {
    pub(crate) fn of(py: Python<'_>, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let keywords = keywords.map_or_else(|| Ok(PyDict::new(py)), |keywords| keywords.copy())?;
        Ok(Self(keywords.unbind()))
    }

    pub(crate) fn dict<'py>(&self, py: Python<'py>) -> &Bound<'py, PyDict> {
        self.0.bind(py)
    }

    /// These with some of them changed.
    pub(crate) fn with<'py>(
        &self,
        py: Python<'py>,
        changes: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let keywords = self.dict(py).copy()?;
        if let Some(changes) = changes {
            keywords.update(changes.as_mapping())?;
        }
        Ok(keywords)
    }
}

/// A value for messages, cut where it is long.
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

/// A whole number: neither True nor a float.
pub(crate) fn integer(value: &Bound<'_, PyAny>) -> Option<i128> {
    if value.is_instance_of::<PyBool>() {
        return None;
    }
    value.extract().ok()
}

/// A number: neither True nor text.
pub(crate) fn float(value: &Bound<'_, PyAny>) -> Option<f64> {
    if value.is_instance_of::<PyBool>() || value.is_instance_of::<PyString>() {
        return None;
    }
    value.extract().ok()
}

/// The elements of a list, a tuple or another iterable other than text.
pub(crate) fn elements<'py>(value: &Bound<'py, PyAny>) -> Option<Vec<Bound<'py, PyAny>>> {
    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
        return None;
    }
    value.try_iter().ok()?.collect::<PyResult<_>>().ok()
}

/// Text, or None.
pub(crate) fn optional<T>(
    value: &Bound<'_, PyAny>,
    read: impl FnOnce(&Bound<'_, PyAny>) -> Option<T>,
) -> Option<Option<T>> {
    if value.is_none() { Some(None) } else { read(value).map(Some) }
}
