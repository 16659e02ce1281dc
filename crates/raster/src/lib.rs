//! Reads GeoTIFF and Cloud-Optimized GeoTIFF, fast and safely.
//!
//! ```no_run
//! use strile::{Context, Dataset, ReadOptions, Window};
//!
//! let dataset = Dataset::open("dem.tif")?;
//! let window = Window::new(0, 0, 512, 512);
//! let options = ReadOptions::new().window(window);
//! let raster = dataset.read(&options, &Context::default())?;
//! println!("{} bands of {}", raster.bands, raster.data_type);
//! # Ok::<(), strile::Error>(())
//! ```
//!
//! The map: `source` where bytes come from; `sink` where those of a new file go, `spool` where they wait; `open`,
//! `pages`, `dataset` what a file holds; `window`, `options` what is asked for; `read` how pixels are read; `pieces`
//! reading piece by piece; `batch` many windows of many files at once; `footprint` where pixels lie; `device` the
//! engines; `raster` the pixels.

mod batch;
pub mod bytes;
mod cog;
mod colours;
mod compare;
mod convert;
mod dataset;
mod device;
mod error;
mod fields;
mod footprint;
mod input;
mod link;
mod measure;
mod metadata;
mod number;
mod open;
mod options;
mod overview;
mod pages;
mod picture;
mod pieces;
mod raster;
mod read;
mod redact;
mod resolution;
mod sample;
mod sink;
mod source;
mod spool;
mod vrt;
mod window;
mod write;

pub use batch::{
    BatchOptions, BatchOutput, BatchWindow, Batches, HeaderLimits, Headers, IndexReport, Sampling, Tensor,
    plan_batch, read_batch, read_batch_into, read_batch_on_device, sufficient_levels, write_header_index,
};
pub use cog::{CogChecks, CogReport, Finding, FoundBy, GhostArea, LevelLayout};
pub use compare::{CompareOptions, Difference, SampleDifference};
pub use convert::{
    Conversion, ConvertArea, ConvertOptions, ConvertSize, Expand, GivenScale, LoadedImage, ManyItem,
    ManyOptions, ManyOutcome, ManyProgress, Method, Rescale, Side, SourceLevel, TilingScheme, Written,
    convert, convert_many, data_type_named, plan_many, rescales,
};
pub use dataset::Dataset;
pub use device::{Decode, DeviceInfo, Estimate, GpuInfo, Judged, calibrate, devices};
pub use error::{Error, FaultyFile, Limited, Result};
pub use fields::StoredField;
pub use input::{AsInput, Input, InputRef};
pub use link::{link_rate, wait_for_stream};
pub use measure::{BandFigures, BandStatistics, Histogram, MeasureOptions, ValueRange};
pub use metadata::Metadata;
pub use open::OpenOptions;
pub use options::{DirectIo, FloatType, Interleave, Layer, Nvcomp, Nvjpeg, OnFault, Processor, ReadOptions};
pub use overview::{OverviewOptions, OverviewOutcome, add_overviews, remove_overviews};
pub use pages::{Level, Page};
pub use picture::{Picture, Stretch, shades};
pub use pieces::{PieceLimits, Pieces};
pub use raster::{DeviceRaster, Raster};
pub use read::{Area, Fetch, MaskSource, MemoryNeed, MosaicFigures, PlanFigures, ReadPlan, WindowFault};
pub use redact::redacted;
pub use sample::{SAMPLE_CHUNK, Samples};
pub use sink::{FileSink, MemoryFile, MemoryHandle, MemorySink, Sink, StreamSink};
pub use source::{FileSource, MemorySource, ReadDone, ReadOp, Source, Version};
pub use spool::Spool;
pub use strile_engine::{
    Arena, BlockAddress, BlockFault, Budget, BudgetError, Cancel, Context, Convert, DeviceBytes, EngineError,
    FaultKind, Fill, LocatedFault, Location, Output, OutputError, OutputSpec, ProcessId, Progress, ReadAt,
    Report, Resampling, Slice, Slot, Span, StageTimes, Strides, Trace,
};
pub use strile_tiff as tiff;
pub use strile_tiff::{Compression, DataType, Limits, Photometric, Planar, Predictor, Warning, Warnings};
pub use vrt::{
    IndexOptions, Missing, Vrt, VrtBand, VrtOptions, VrtSource, WrittenIndex, is_vrt, write_index,
};
pub use window::Window;
pub use write::{
    Assembly, Beyond, EncodedPart, PartAddress, PartBytes, PartTarget, PartWindows, PartWriter, Parts, Tier,
};
pub use write::{
    BigTiff, BlockChoice, CreationNotes, Format, OverviewStorage, Overviews, PROFILES, Piece, PieceBytes,
    PredictorChoice, RasterSpec, WriteOptions, WriteReport, Writer,
};
