//! The CUDA engine: blocks from file to pixels on the device and back, by strile's own kernels.
//!
//! `driver` and `device` find the driver and a device, or say why not; `stream`, `memory`, `module` and `launch` wrap
//! driver objects; `cufile` and `vendor` are optional libraries; `abi` holds the arguments of kernels. `decode` turns
//! blocks of files into pixels, `steps` processes pixels on the device, `encode` turns pixels into blocks; `lane` holds
//! resources that jobs reuse, `engine` ties everything together.

mod abi;
mod clock;
#[cfg(unix)]
pub mod cufile;
pub mod decode;
pub mod device;
pub mod driver;
pub mod encode;
mod engine;
mod lane;
pub mod launch;
pub mod memory;
pub mod module;
pub mod rates;
mod refused;
pub mod steps;
pub mod stream;
pub mod vendor;

pub use cufile::DirectIo;
pub use decode::codec::Split;
pub use device::{DeviceFacts, devices};
pub use driver::Unavailable;
pub use engine::{CudaEngine, CudaOptions};
pub use refused::Refused;
pub use vendor::Nvcomp;
