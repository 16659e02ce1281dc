//! Reads byte ranges of remote objects: HTTP(S), S3, Google Cloud Storage, Azure. Writes objects in buckets.
//!
//! [`Object::open`] costs one `GET` of the first 32 KiB; the size and the version of the object come from its answer.
//! Every later request names that version, so an object that is replaced during reading is an error, never a mixture.
//! An answer is used only if it is the requested range.
//!
//! ```no_run
//! use strile_remote::{Cancel, Object, RemoteOptions};
//!
//! let object = Object::open("https://example.org/dem.tif", &RemoteOptions::new(), &Cancel::default())?;
//! println!("{} has {} bytes", object.name(), object.len());
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! `object_store` signs requests to buckets and finds their credentials. Connections, retries, checks and scheduling
//! are here:
//!
//! ```text
//! Object      one object: prefix, version; splits large reads into pieces, one task per piece
//!   fetch     one piece: window -> request -> check -> slot; retries resume at the byte where a body broke; slow ones are hedged
//!   host      per host: how many requests are in flight; latency and rate; slow requests
//!   tries     retries of reads and writes
//!   store     place -> signed request -> answer; redirects
//!   listing   the keys of a bucket under a prefix
//!   upload    writes one object: parts in flight, conditions, remains of killed uploads
//!   client    connections; `guard` refuses private addresses, for all of them
//! stats       counts of requests of the process
//! ```

mod address;
mod answer;
mod client;
mod counted;
mod failure;
mod fetch;
mod guard;
mod host;
mod listing;
mod object;
mod options;
mod place;
mod profile;
mod runtime;
mod sign_in;
mod stats;
mod store;
mod tries;
mod upload;

pub use address::Address;
pub use guard::{PrivateHost, check_host, is_public};
pub use listing::{Listing, list};
pub use object::{Object, Opening};
pub use options::RemoteOptions;
pub use place::{is_remote, name_of};
pub use stats::{RemoteStats, stats};
pub use strile_engine::{Cancel, ReadDone, ReadOp};
pub use upload::{
    Found, SharedUpload, Unfinished, Upload, UploadOptions, find, remove, remove_unfinished, unfinished,
};
