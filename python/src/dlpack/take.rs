//! Takes tensors of other libraries from their capsules.

use super::{DlTensor, UNVERSIONED_NAME, Unversioned, VERSIONED_NAME, Versioned, location};
use crate::array::{Access, View, contiguous, wait};
use crate::error::refused;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{Bound, PyErr, ffi};
use std::ffi::{CStr, c_void};
use std::sync::Arc;
use strile::Location;

const IS_READ_ONLY: u64 = 1;
/// The name of a capsule whose tensor has a new owner.
const USED_UNVERSIONED: &CStr = c"used_dltensor";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";
/// The default stream, by DLPack's number.
const LEGACY_STREAM: u64 = 1;

/// A managed tensor that is ours now.
enum Taken {
    Unversioned(*mut Unversioned),
    Versioned(*mut Versioned),
}

// SAFETY: the tensor is not changed, and DLPack lets any thread delete it.
unsafe impl Send for Taken {}
// SAFETY: as above.
unsafe impl Sync for Taken {}

impl Drop for Taken {
    fn drop(&mut self) {
        let delete = |_: Python<'_>| match *self {
            // SAFETY: the pointers came from capsules that were renamed, so the tensor is ours to delete, once.
            Self::Unversioned(tensor) => unsafe {
                if let Some(deleter) = (*tensor).deleter {
                    deleter(tensor);
                }
            },
            // SAFETY: as above.
            Self::Versioned(tensor) => unsafe {
                if let Some(deleter) = (*tensor).deleter {
                    deleter(tensor);
                }
            },
        };
        // Deleters of Python libraries may let go of objects. An interpreter that is ending frees nothing any more.
        let _at_the_end = Python::try_attach(delete);
    }
}

/// Returns the memory of an object with `__dlpack__`, after waiting for work that was queued on it.
pub(crate) fn taken(object: &Bound<'_, PyAny>, access: Access, stream: Option<u64>) -> PyResult<View> {
    let py = object.py();
    let place = location(object.call_method0("__dlpack_device__")?.extract()?)?;
    let asked = PyDict::new(py);
    asked.set_item("max_version", (1, 0))?;
    if let Location::Cuda(device) = place {
        // The producer makes this stream wait for its own work; then we wait for the stream.
        let stream = stream.filter(|&stream| stream != 0).unwrap_or(LEGACY_STREAM);
        asked.set_item("stream", stream)?;
        let view = view_of(&capsule_of(object, &asked)?, place, access)?;
        wait(py, device, stream)?;
        return Ok(view);
    }
    view_of(&capsule_of(object, &asked)?, place, access)
}

fn capsule_of<'py>(object: &Bound<'py, PyAny>, asked: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    match object.call_method("__dlpack__", (), Some(asked)) {
        // From before there were versions.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            asked.del_item("max_version")?;
            object.call_method("__dlpack__", (), Some(asked))
        }
        given => given,
    }
}

fn view_of(capsule: &Bound<'_, PyAny>, place: Location, access: Access) -> PyResult<View> {
    let py = capsule.py();
    let pointer = |name: &CStr, used: &'static CStr| -> PyResult<Option<*mut c_void>> {
        // SAFETY: any object may be asked; names are static.
        unsafe {
            if ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) == 0 {
                return Ok(None);
            }
            let pointer = ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr());
            if pointer.is_null() || ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) != 0 {
                return Err(PyErr::fetch(py));
            }
            Ok(Some(pointer))
        }
    };
    let (keep, tensor, readonly): (Taken, &DlTensor, bool) =
        if let Some(found) = pointer(VERSIONED_NAME, USED_VERSIONED)? {
            let found = found.cast::<Versioned>();
            let keep = Taken::Versioned(found);
            // SAFETY: a capsule of that name points to this struct, whose first fields are the same in all versions.
            let version = unsafe { (*found).version };
            if version.major != 1 {
                return Err(refused(format!("a DLPack tensor of version {}, expected 1", version.major)));
            }
            // SAFETY: of version 1 the whole struct is this; it lives as long as `keep`.
            unsafe { (keep, &(*found).dl_tensor, (*found).flags & IS_READ_ONLY != 0) }
        } else if let Some(found) = pointer(UNVERSIONED_NAME, USED_UNVERSIONED)? {
            let found = found.cast::<Unversioned>();
            // SAFETY: a capsule of that name points to this struct, which lives as long as the tensor that is taken.
            unsafe { (Taken::Unversioned(found), &(*found).dl_tensor, false) }
        } else {
            return Err(refused("__dlpack__ gave no capsule of a tensor"));
        };
    access.check(readonly)?;
    if location((tensor.device.device_type, tensor.device.device_id))? != place {
        return Err(refused("__dlpack__ gave a tensor on another device than __dlpack_device__ says"));
    }
    let dtype = &tensor.dtype;
    let kind = match dtype.code {
        0 => 'i',
        1 => 'u',
        2 => 'f',
        5 => 'c',
        6 => 'b',
        _ => '?',
    };
    if dtype.lanes != 1 || !dtype.bits.is_multiple_of(8) {
        let problem =
            format!("samples of {} bits and {} lanes are none of strile's types", dtype.bits, dtype.lanes);
        return Err(refused(problem));
    }
    let data_type = access.type_of('=', kind, usize::from(dtype.bits / 8))?;
    let axes = usize::try_from(tensor.ndim).map_err(|_| refused("a tensor of a negative number of axes"))?;
    let list = |values: *const i64| match (axes, values.is_null()) {
        (0, _) | (_, true) => Vec::new(),
        // SAFETY: a tensor has as many sizes and strides as axes, where it has any.
        _ => unsafe { std::slice::from_raw_parts(values, axes) }.to_vec(),
    };
    let sizes = list(tensor.shape).into_iter().map(u64::try_from);
    let shape: Vec<u64> =
        sizes.collect::<Result<_, _>>().map_err(|_| refused("a tensor of a negative size"))?;
    let size = i64::try_from(data_type.size()).unwrap_or(1);
    let strides = match tensor.strides.is_null() {
        true => contiguous(&shape, data_type),
        false => list(tensor.strides).into_iter().map(|stride| stride.saturating_mul(size)).collect(),
    };
    let offset = usize::try_from(tensor.byte_offset).unwrap_or(0);
    let address = tensor.data.expose_provenance().wrapping_add(offset);
    Ok(View { address, location: place, data_type, shape, strides, keep: Arc::new(keep) })
}
