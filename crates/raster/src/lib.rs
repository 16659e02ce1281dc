//! Reads GeoTIFF and Cloud-Optimized GeoTIFF, fast and safely.
//!
//! ```no_run
//! use strile::{Context, Dataset, ReadOptions, Window};
//!
//! let dataset = Dataset::open("dem.tif")?;
//! let window = Window::new(0, 0, 512, 512);
//! let options = ReadOptions::new().window(window);
//! let pixels = dataset.read(&options, &Context::default())?;
//! println!("{} bands of {}", pixels.bands, pixels.data_type);
//! # Ok::<(), strile::Error>(())
//! ```
//!
//! The crate root has the items that most programs need; modules hold the rest, by task. [`Dataset::open`] opens a
//! file, [`Input::open`] a file or a mosaic ([`Vrt`]); both are read with [`ReadOptions`] into [`Pixels`].
//! [`convert()`] converts a file, [`Writer`] writes pixels, [`read_batch`] reads many windows of many files into one
//! array.

#[cfg(feature = "ndarray")]
mod arrays;
pub mod batch;
pub mod bytes;
pub mod cache;
pub mod categories;
pub mod cog;
mod colours;
pub mod compare;
pub mod convert;
pub mod device;
pub mod engine;
pub mod error;
pub mod file;
pub mod grid;
pub mod io;
mod link;
pub mod measure;
pub mod npy;
pub mod number;
mod options;
pub mod overview;
pub mod picture;
mod pieces;
mod pixels;
mod raster;
pub mod read;
pub mod sample;
mod side_by_side;
mod sink;
mod source;
mod spool;
pub mod style;
pub mod vrt;
mod window;
pub mod write;

pub use batch::{BatchOptions, read_batch};
pub use convert::{ConvertOptions, convert};
pub use error::{Error, ErrorKind, Result};
pub use file::dataset::Dataset;
pub use file::input::Input;
pub use file::open::OpenOptions;
pub use options::{Layer, Processor, ReadOptions};
pub use pixels::Pixels;
pub use strile_crs as crs;
pub use strile_engine::{Cancel, Context, Location, Resampling};
pub use strile_tiff as tiff;
pub use strile_tiff::{Compression, DataType};
pub use vrt::Vrt;
pub use window::Window;
pub use write::{RasterSpec, WriteOptions, Writer};
