//! Makes DLPack capsules, unversioned and 1.0, with the structs of `dlpack.h`, and frees them.
//!
//! A capsule owns a managed tensor until a consumer takes it and renames the capsule; after that the consumer calls the
//! tensor's deleter, from any thread and with or without the interpreter's lock. So the tensor keeps memory of ours
//! alive and no Python object. `take` is the other side: tensors of others.

#![expect(unsafe_code, reason = "a C interface: structs and functions by pointer")]

mod take;

pub(crate) use take::taken;

use crate::error::refused;
use crate::raster::{Memory, kind};
use pyo3::exceptions::PyBufferError;
use pyo3::{Bound, PyAny, PyErr, PyResult, Python, ffi};
use std::ffi::{CStr, c_void};
use std::ptr::with_exposed_provenance_mut;
use std::sync::Arc;
use strile::{DataType, Location};

/// `kDLCPU`, device 0.
pub(crate) const HOST: (i32, i32) = (1, 0);
const CUDA: i32 = 2;
/// `kDLCUDAHost`: pinned memory, which is the host's.
const CUDA_HOST: i32 = 3;
/// `kDLCUDAManaged`: memory that the device reaches as its own.
const CUDA_MANAGED: i32 = 13;
/// The version of the structs below.
const VERSION: DlVersion = DlVersion { major: 1, minor: 0 };
const IS_COPIED: u64 = 1 << 1;
const UNVERSIONED_NAME: &CStr = c"dltensor";
const VERSIONED_NAME: &CStr = c"dltensor_versioned";

/// Contiguous samples in row-major order.
pub(crate) struct Tensor {
    /// Of the first sample, valid as long as `keep`.
    pub(crate) address: u64,
    pub(crate) location: Location,
    pub(crate) data_type: DataType,
    pub(crate) shape: Vec<i64>,
    pub(crate) keep: Arc<Memory>,
}

#[repr(C)]
struct DlDevice {
    device_type: i32,
    device_id: i32,
}

#[repr(C)]
struct DlDataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device: DlDevice,
    ndim: i32,
    dtype: DlDataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Unversioned {
    dl_tensor: DlTensor,
    manager_ctx: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Unversioned)>,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct DlVersion {
    major: u32,
    minor: u32,
}

#[repr(C)]
struct Versioned {
    version: DlVersion,
    manager_ctx: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    dl_tensor: DlTensor,
}

/// The data of a managed tensor; its `manager_ctx`.
struct Context {
    shape: Vec<i64>,
    strides: Vec<i64>,
    _keep: Arc<Memory>,
}

/// Returns the device in the numbers of DLPack.
pub(crate) fn device(location: Location) -> PyResult<(i32, i32)> {
    match location {
        Location::Host => Ok(HOST),
        Location::Cuda(index) => i32::try_from(index)
            .map(|index| (CUDA, index))
            .map_err(|_| PyBufferError::new_err(format!("{location} has no number in DLPack"))),
    }
}

/// Returns the memory of a device in the numbers of DLPack.
pub(crate) fn location((kind, index): (i32, i32)) -> PyResult<Location> {
    match (kind, u32::try_from(index)) {
        (1 | CUDA_HOST, _) => Ok(Location::Host),
        (CUDA | CUDA_MANAGED, Ok(index)) => Ok(Location::Cuda(index)),
        _ => Err(refused(format!(
            "the array is on DLPack's device ({kind}, {index}): expected one in host memory or on a CUDA device"
        ))),
    }
}

/// Makes a capsule that a consumer may take once.
pub(crate) fn capsule(
    py: Python<'_>,
    tensor: Tensor,
    versioned: bool,
    copied: bool,
) -> PyResult<Bound<'_, PyAny>> {
    let (device_type, device_id) = device(tensor.location)?;
    let bits = u8::try_from(tensor.data_type.size() * 8);
    let bits = bits.map_err(|_| PyBufferError::new_err("a sample has too many bits for DLPack"))?;
    let address = usize::try_from(tensor.address);
    let address = address.map_err(|_| PyBufferError::new_err("an address is too large for this machine"))?;
    let ndim = i32::try_from(tensor.shape.len())
        .map_err(|_| PyBufferError::new_err("an array has too many axes for DLPack"))?;
    // In samples, not in bytes.
    let mut strides = vec![1; tensor.shape.len()];
    for at in (1..strides.len()).rev() {
        if let (Some(&size), Some(&next)) = (tensor.shape.get(at), strides.get(at)) {
            strides.get_mut(at - 1).into_iter().for_each(|stride| *stride = size * next);
        }
    }
    let mut context = Box::new(Context { shape: tensor.shape, strides, _keep: tensor.keep });
    // What vectors hold does not move with the box; it is freed by the deleter alone.
    let (shape, strides) = (context.shape.as_mut_ptr(), context.strides.as_mut_ptr());
    let context = Box::into_raw(context);
    let dl_tensor = DlTensor {
        data: with_exposed_provenance_mut(address),
        device: DlDevice { device_type, device_id },
        ndim,
        dtype: DlDataType { code: kind(tensor.data_type).1, bits, lanes: 1 },
        shape,
        strides,
        byte_offset: 0,
    };
    let manager_ctx = context.cast();
    match versioned {
        false => {
            let deleter = Some(delete_unversioned as unsafe extern "C" fn(*mut Unversioned));
            let managed = Box::into_raw(Box::new(Unversioned { dl_tensor, manager_ctx, deleter }));
            // SAFETY: `managed` came from a box and is given to no other owner.
            unsafe { wrap(py, managed, UNVERSIONED_NAME, drop_unversioned, delete_unversioned) }
        }
        true => {
            let flags = if copied { IS_COPIED } else { 0 };
            let deleter = Some(delete_versioned as unsafe extern "C" fn(*mut Versioned));
            let managed = Versioned { version: VERSION, manager_ctx, deleter, flags, dl_tensor };
            let managed = Box::into_raw(Box::new(managed));
            // SAFETY: as above.
            unsafe { wrap(py, managed, VERSIONED_NAME, drop_versioned, delete_versioned) }
        }
    }
}

/// Makes a capsule of a managed tensor, which is deleted if that fails.
///
/// # Safety
/// `managed` must be what `delete` takes, and this the only one who has it.
unsafe fn wrap<'py, T>(
    py: Python<'py>,
    managed: *mut T,
    name: &'static CStr,
    drop: unsafe extern "C" fn(*mut ffi::PyObject),
    delete: unsafe extern "C" fn(*mut T),
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the interpreter is attached (`py`), the name is static, and the pointer is not null.
    let capsule = unsafe { ffi::PyCapsule_New(managed.cast(), name.as_ptr(), Some(drop)) };
    if capsule.is_null() {
        // SAFETY: no capsule has it, so nothing else deletes it.
        unsafe { delete(managed) };
        return Err(PyErr::fetch(py));
    }
    // SAFETY: a new reference to a new object.
    Ok(unsafe { Bound::from_owned_ptr(py, capsule) })
}

/// # Safety
/// `managed` must come from `capsule`, and not be used afterwards.
unsafe extern "C" fn delete_unversioned(managed: *mut Unversioned) {
    // SAFETY: both were boxes, and this is called once.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.manager_ctx.cast::<Context>()));
    }
}

/// # Safety
/// As `delete_unversioned`.
unsafe extern "C" fn delete_versioned(managed: *mut Versioned) {
    // SAFETY: both were boxes, and this is called once.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.manager_ctx.cast::<Context>()));
    }
}

/// # Safety
/// For the interpreter, when it frees a capsule of `capsule`.
unsafe extern "C" fn drop_unversioned(capsule: *mut ffi::PyObject) {
    // SAFETY: a capsule that still has its name has not been taken, so the tensor is still ours.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, UNVERSIONED_NAME.as_ptr()) != 0 {
            delete_unversioned(ffi::PyCapsule_GetPointer(capsule, UNVERSIONED_NAME.as_ptr()).cast());
        }
    }
}

/// # Safety
/// As `drop_unversioned`.
unsafe extern "C" fn drop_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: as `drop_unversioned`.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED_NAME.as_ptr()) != 0 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED_NAME.as_ptr()).cast());
        }
    }
}
