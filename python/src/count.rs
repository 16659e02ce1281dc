//! Counts the samples of an array that are NaN, and those that are nodata.
//!
//! Values are compared exactly: a value that the type of the array cannot hold does not occur.

#![expect(unsafe_code, reason = "memory of arrays is taken by address")]

use crate::arguments::Value;
use crate::array::View;
use crate::error::refused;
use crate::{call, device};
use pyo3::prelude::*;
use strile::engine::{Fill, Sought, Strided, count};
use strile::tiff::gdal::NoData;
use strile::{DataType, Location};

/// Counts the samples of an array in host memory that are NaN, and those that equal a value.
#[pyfunction]
pub(crate) fn count_missing(py: Python<'_>, array: &Bound<'_, PyAny>, value: Value) -> PyResult<(u64, u64)> {
    let view = View::new(array, None)?;
    if view.location != Location::Host {
        let place = device::name(view.location);
        return Err(refused(format!("expected an array in host memory, got one on {place}")));
    }
    let both = [NoData::Float(f64::NAN), value.0].map(|value| sought(value, view.data_type));
    let (address, size) = (view.address, view.data_type.size());
    let array = Strided { address, size, shape: &view.shape, strides: &view.strides };
    // SAFETY: the view says that these samples are there, and keeps the array.
    let found = call::detached(py, || unsafe { count(&array, both) })?;
    let [nans, equal] = found.ok_or_else(|| refused("the array is larger than memory can address"))?;
    Ok((nans, equal))
}

/// Returns the pattern of a value in samples of a type; `None` if no sample can equal it.
fn sought(value: NoData, data_type: DataType) -> Option<Sought> {
    let rounded = value.for_type(data_type)?;
    let is_exact = match value {
        NoData::Integer(whole) => rounded.as_integer() == Some(whole),
        NoData::Float(number) => rounded.as_f64() == number || number.is_nan(),
    };
    let sample = value.to_sample(data_type).filter(|_| is_exact)?;
    Some(Sought::new(data_type, &Fill(sample)))
}
