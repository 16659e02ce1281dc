//! Reads byte ranges of remote objects: HTTP(S), S3, Google Cloud Storage, Azure. Writes objects in buckets.
//!
//! [`Object::open`] costs one `GET` of the first 32 KiB; the size and the version of the object come from its answer. Every
//! later range names that version, so an object that is replaced under a reader is an error, never a mixture. An answer is
//! used only if it is the range that was asked for.
//!
//! ```no_run
//! use strile_remote::{Cancel, Object, RemoteOptions};
//!
//! let object = Object::open("https://example.org/dem.tif", &RemoteOptions::new(), &Cancel::default())?;
//! println!("{} has {} bytes", object.name(), object.len());
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! `object_store` signs requests to buckets and finds their credentials. Connections, retries, checks and scheduling are here:
//!
//! ```text
//! Object      one object: prefix, version; splits large reads into pieces, one task per piece
//!   fetch     one piece: window -> request -> check -> slot; retries resume at the byte where a body broke; slow ones are hedged
//!   host      per host: how many requests are in flight; latency and rate; what is slow
//!   tries     how often a request is sent, of reads and of writes
//!   store     place -> signed request -> answer; redirects
//!   listing   the keys of a bucket under a prefix
//!   upload    one object that is written: parts in flight, conditions, what is left of uploads that were killed
//!   client    connections; `guard` refuses private addresses, for all of them
//! stats       what the process has asked for
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
