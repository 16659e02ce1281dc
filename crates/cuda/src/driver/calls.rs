//! The driver's functions as methods of [`Driver`](super::Driver): each refuses after a fork and checks its result.

use super::{Code, Driver, DriverError};
use cudarc::driver::sys::{
    self, CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent, CUfunction, CUfunction_attribute,
    CUmemPool_attribute, CUmemPoolProps, CUmemoryPool, CUmodule, CUstream, CUuuid,
};
use libloading::Library;
use std::ffi::{c_char, c_int, c_uchar, c_uint, c_void};

macro_rules! calls {
    ($($name:ident($($arg:ident: $kind:ty),*);)*) => {
        /// Pointers to the driver's functions, by name.
        #[derive(Debug)]
        #[expect(non_snake_case, reason = "the driver's names")]
        pub(super) struct Calls {
            $($name: unsafe extern "C" fn($($kind),*) -> Code,)*
        }

        impl Calls {
            /// Looks up all functions; the error names a missing one.
            pub(super) fn load(library: &Library) -> Result<Self, &'static str> {
                Ok(Self {
                    // SAFETY: the signatures are those of the generated bindings, checked below, except for the result,
                    // an enum that is returned as its number.
                    $($name: *unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) }
                        .map_err(|_| stringify!($name))?,)*
                })
            }
        }

        #[expect(non_snake_case, reason = "the driver's names")]
        #[expect(clippy::too_many_arguments, reason = "the driver's signatures")]
        impl Driver {
            $(
                /// Calls the driver function of this name, see the driver's documentation.
                ///
                /// # Safety
                /// As in the driver's documentation; the right context must be current if one is needed.
                pub(crate) unsafe fn $name(&self, $($arg: $kind),*) -> Result<(), DriverError> {
                    self.same_process()?;
                    // SAFETY: guaranteed by the caller.
                    let code = unsafe { (self.calls.$name)($($arg),*) };
                    self.check(stringify!($name), code)
                }
            )*
        }

        const _: () = {
            $(let _: unsafe fn($($kind),*) -> sys::CUresult = sys::$name;)*
        };

        /// Names of the required driver functions, in addition to `cuDriverGetVersion` and `cuGetErrorName`.
        pub const CALLS: &[&str] = &[$(stringify!($name)),*];
    };
}

calls! {
    cuInit(flags: c_uint);
    cuDeviceGetCount(count: *mut c_int);
    cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    cuDeviceGetName(name: *mut c_char, len: c_int, device: CUdevice);
    cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice);
    cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
    cuDeviceGetUuid_v2(uuid: *mut CUuuid, device: CUdevice);
    cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    cuDevicePrimaryCtxRelease_v2(device: CUdevice);
    cuCtxGetCurrent(context: *mut CUcontext);
    cuCtxSetCurrent(context: CUcontext);
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    cuStreamCreate(stream: *mut CUstream, flags: c_uint);
    cuStreamDestroy_v2(stream: CUstream);
    cuStreamQuery(stream: CUstream);
    cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
    cuEventCreate(event: *mut CUevent, flags: c_uint);
    cuEventDestroy_v2(event: CUevent);
    cuEventRecord(event: CUevent, stream: CUstream);
    cuEventSynchronize(event: CUevent);
    cuEventQuery(event: CUevent);
    cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent);
    cuMemPoolCreate(pool: *mut CUmemoryPool, properties: *const CUmemPoolProps);
    cuMemPoolDestroy(pool: CUmemoryPool);
    cuMemPoolSetAttribute(pool: CUmemoryPool, attribute: CUmemPool_attribute, value: *mut c_void);
    cuMemPoolTrimTo(pool: CUmemoryPool, keep: usize);
    cuMemAllocFromPoolAsync(address: *mut CUdeviceptr, len: usize, pool: CUmemoryPool, stream: CUstream);
    cuMemFreeAsync(address: CUdeviceptr, stream: CUstream);
    cuMemHostAlloc(start: *mut *mut c_void, len: usize, flags: c_uint);
    cuMemFreeHost(start: *mut c_void);
    cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, len: usize, stream: CUstream);
    cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, len: usize, stream: CUstream);
    cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, len: usize, stream: CUstream);
    cuMemsetD8Async(to: CUdeviceptr, value: c_uchar, count: usize, stream: CUstream);
    cuMemsetD32Async(to: CUdeviceptr, value: c_uint, count: usize, stream: CUstream);
    cuModuleLoadData(module: *mut CUmodule, image: *const c_void);
    cuModuleUnload(module: CUmodule);
    cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    cuFuncGetAttribute(value: *mut c_int, attribute: CUfunction_attribute, function: CUfunction);
    cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: c_int);
    cuLaunchKernel(
        function: CUfunction,
        grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        threads_x: c_uint, threads_y: c_uint, threads_z: c_uint,
        shared: c_uint, stream: CUstream, arguments: *mut *mut c_void, extra: *mut *mut c_void
    );
}
