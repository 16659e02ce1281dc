//! Device memory and pinned host memory: owners that free it, a persistent ring, and a budget.

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
