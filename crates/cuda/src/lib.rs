//! The CUDA engine: blocks from file to pixels on the device and back, by kernels of our own.
//!
//! `driver` and `device` find the driver and a device, or say why not; `stream`, `memory`, `module` and `launch` are
//! owners around it, `cufile` and `vendor` optional libraries beside it; `abi` and `codec` what kernels are called with;
//! `place` the pass that turns decompressed rows into pixels in their place, `find` the one that looks for a value among them; `resample` windows made another size, `mask` pixels left out, `blend` layers of mosaics, `warp` windows put onto a grid, `finish` samples changed and images turned; `encode`
//! the way back; `engine` the whole.

mod abi;
mod back;
mod batch;
pub mod blend;
mod clock;
mod codec;
#[cfg(unix)]
pub mod cufile;
pub mod device;
pub mod driver;
pub mod encode;
mod engine;
mod explain;
pub mod find;
pub mod finish;
mod flight;
pub mod gather;
mod host;
mod landing;
mod lane;
pub mod launch;
pub mod mask;
pub mod memory;
pub mod module;
pub mod picture;
pub mod place;
mod plan;
pub mod rates;
pub mod resample;
mod run;
mod slabs;
mod small;
mod step;
pub mod stream;
mod tables;
pub mod vendor;
pub mod warp;

pub use codec::Split;
pub use cufile::DirectIo;
pub use device::{DeviceFacts, devices};
pub use driver::Unavailable;
pub use engine::{CudaEngine, CudaOptions};
pub use vendor::Nvcomp;
