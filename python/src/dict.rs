//! Makes dicts for Python.

use pyo3::Bound;
use pyo3::types::PyDict;

pub(crate) type Dicts<'py> = Vec<Bound<'py, PyDict>>;

/// Makes a dict of fields of a value, under their names, and of `key => value`.
macro_rules! dict {
    ($py:expr; $from:ident { $($field:ident),* } $(, $key:literal => $value:expr)* $(,)?) => {{
        let dict = pyo3::types::PyDict::new($py);
        $(dict.set_item(stringify!($field), &$from.$field)?;)*
        $(dict.set_item($key, $value)?;)*
        dict
    }};
    ($py:expr; $($key:literal => $value:expr),* $(,)?) => {{
        let dict = pyo3::types::PyDict::new($py);
        $(dict.set_item($key, $value)?;)*
        dict
    }};
}

pub(crate) use dict;
