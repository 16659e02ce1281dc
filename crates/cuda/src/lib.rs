//! The CUDA engine: blocks from file to pixels on the device and back, by kernels of our own.
//!
//! `driver` and `device` find the driver and a device, or say why not; `stream`, `memory`, `module` and `launch` are
//! owners around it, `cufile` and `vendor` optional libraries beside it; `abi` what kernels are called with. `decode` blocks from
//! their file to pixels, `steps` over pixels that are there, `encode` the way back; `lane` what jobs keep between them, `engine` the
//! whole.

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
