//! Memory of the device and memory it can copy from: owners that free, a ring that is kept, a budget that can say no.

mod budget;
mod device;
mod lasting;
mod pinned;
mod ring;

pub use budget::{Budget, Kind, Lease};
pub use device::{DeviceBuffer, Pool, copy_in, copy_out, copy_within};
pub use lasting::lasting;
pub use pinned::{InFlight, Pinned};
pub use ring::{Ring, SLAB_LEN, SLAB_TAIL, SLABS, SentSlab, Slab};
