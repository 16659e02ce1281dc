//! JPEG pictures, decoded by strile's kernels (`kernels/jpeg/jpeg.cu`): sequential, 8 bits, Huffman codes.
//!
//! The host parses headers, takes markers and stuffing out of the data and cuts them into pieces, and makes look-up
//! tables of Huffman tables, which are stored once per batch for all pictures that share them. The device does the
//! rest, in four launches per batch. Samples are those of libjpeg, bit for bit. Other coding processes, and streams
//! that break a rule, are left to the host.

#![expect(unsafe_code, reason = "kernels are launched with addresses of a batch's memory")]

mod abi;
mod cut;
mod known;
mod lookup;
mod plan;
mod tables;

pub use abi::JpegArgs;

use super::{Decoder, Need, Placed, Room, Stop};
use crate::device::Device;
use crate::launch::{Launch, launch};
use crate::stream::Stream;
use abi::UNIT_LEN;
use cut::{Cut, ScanBytes};
use known::Known;
use plan::{ALIGN, Plan};
use std::sync::{Arc, PoisonError, RwLock};
use strile_codestream::StoredBlock;
use strile_codestream::jpeg::{self, Colours};
use strile_engine::{BlockFault, BlockLayout};
use strile_tiff::{Compression, DataType};

/// Name of the `.cu` file without its extension.
pub const MODULE: &str = "jpeg";

/// Longest stream that is accepted. One CUDA block decodes a scan, at about 70 bytes per microsecond, and data made so
/// that its threads never synchronise can take a hundred times as long: a second, where display drivers abort kernels
/// after two.
const LONGEST: u64 = 2 << 20;

/// The decoder.
#[derive(Debug)]
pub struct Jpeg {
    cut: Cut,
    /// Headers of the last parsed stream.
    known: RwLock<Option<Arc<Known>>>,
}

/// A parsed stream.
#[derive(Debug)]
pub struct JpegStream {
    scans: Vec<ScanBytes>,
    plan: Arc<Plan>,
}

/// The launches of a batch.
#[derive(Debug)]
pub struct Batch {
    args: JpegArgs,
    /// CUDA blocks per picture, for the transform and for pixels.
    parts: (u32, u32),
}

impl Jpeg {
    /// Returns the decoder with measured settings.
    pub const fn new() -> Self {
        Self::by(Cut::Measured)
    }

    /// Returns a decoder that cuts scans into pieces of about `piece` bytes and starts `run_in` bits before each: small
    /// pictures then have many pieces.
    pub const fn cut_into(piece: u32, run_in: u32) -> Self {
        Self::by(Cut::Into { piece, run_in })
    }

    const fn by(cut: Cut) -> Self {
        Self { cut, known: RwLock::new(None) }
    }
}

impl Default for Jpeg {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder for Jpeg {
    type Picture = JpegStream;
    type Batch = Batch;

    fn takes(&self, layout: &BlockLayout) -> Result<(), String> {
        if layout.compression != Compression::Jpeg || layout.reverse_bits {
            return Err(format!("blocks of {}", layout.compression.name()));
        }
        if layout.data_type != DataType::U8 || layout.sample.bits != 8 {
            return Err(format!("samples of {} bits", layout.sample.bits));
        }
        match layout.samples {
            1 | 3 | 4 => Ok(()),
            other => Err(format!("{other} components")),
        }
    }

    fn estimate(&self, layout: &BlockLayout, rows: u32, stream_len: u64) -> Need {
        // As many data units as with MCUs of 16 x 16 pixels, if chroma is subsampled.
        let pixels = u64::from(layout.width.next_multiple_of(16)) * u64::from(rows).next_multiple_of(16);
        let (h, v) = layout.extras.ycbcr.map_or((1, 1), |ycbcr| ycbcr.subsampling);
        let chroma = u64::from(h.max(1)) * u64::from(v.max(1));
        let samples = if layout.extras.ycbcr.is_some() {
            pixels + 2 * pixels / chroma
        } else {
            pixels * u64::from(layout.samples)
        };
        Need {
            bytes: stream_len + stream_len / 16 + 512,
            tables: 7168,
            scratch: samples / 64 * (UNIT_LEN + 2 + 64) + 8 * ALIGN,
        }
    }

    fn longest(&self) -> u64 {
        LONGEST
    }

    fn fixed(&self) -> Need {
        Need { bytes: 0, tables: 0, scratch: ALIGN }
    }

    fn parse(&self, stream: &[u8], layout: &BlockLayout, rows: u32) -> Result<JpegStream, BlockFault> {
        let block = StoredBlock { layout, rows };
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(picture) = known.and_then(|known| known.picture(stream, block, self.cut)) {
            return Ok(picture);
        }
        let colours = if layout.extras.ycbcr.is_some() { Colours::YCbCr } else { Colours::AsStored };
        let headers = jpeg::parse(stream, layout.extras.jpeg_tables.as_deref(), block, colours)?;
        let plan = Arc::new(Plan::new(&headers, rows, self.cut)?);
        let known = Known::new(stream, block, &headers, &plan).map(Arc::new);
        if known.is_some() {
            *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
        }
        let mut scans: Vec<ScanBytes> = Vec::with_capacity(headers.scans.len());
        for scan in headers.scans {
            let begin = scans.last().map_or(0, |scan| scan.end);
            let mcu_units = scan.units();
            scans.push(ScanBytes::new(scan.data, mcu_units, self.cut, begin));
        }
        Ok(JpegStream { scans, plan })
    }

    fn need(&self, picture: &JpegStream) -> Need {
        Need {
            bytes: picture.scans.last().map_or(0, |scan| scan.end),
            tables: picture.plan.tables(),
            // One fault per scan in addition.
            scratch: picture.plan.scratch + 4 * picture.scans.len() as u64,
        }
    }

    fn write(&self, picture: &JpegStream, stream: &[u8], into: &mut [u8]) {
        picture.scans.iter().for_each(|scan| scan.write(stream, into));
    }

    fn lay_out(
        &self,
        pictures: &[Placed<JpegStream>],
        room: &Room,
        tables: &mut [u8],
    ) -> Result<Batch, Stop> {
        tables::lay_out(pictures, room, tables)
    }

    fn launch(&self, batch: &mut Batch, device: &Device, stream: &Stream) -> Result<(), Stop> {
        for Launch { module, entry, grid, threads } in batch.launches() {
            let function = device.function(module, entry)?;
            // SAFETY: the arguments match the declaration of these kernels; the addresses in them and in the tables
            // point into the batch's memory, which the engine keeps until its work is done, and lengths follow from the
            // parsed headers and are within the needs of the pictures.
            unsafe { launch(stream, &function, grid, threads, &batch.args)? };
        }
        Ok(())
    }
}

impl Batch {
    /// Returns the launches in order.
    pub fn launches(&self) -> [Launch; 4] {
        let JpegArgs { scan_count, picture_count, .. } = self.args;
        let launch = |entry, grid, threads| Launch { module: MODULE, entry, grid, threads };
        [
            launch("jpeg_scans", (scan_count, 1), 128),
            launch("jpeg_dc", (scan_count, 1), 256),
            launch("jpeg_transform", (picture_count, self.parts.0), 256),
            launch("jpeg_pixels", (picture_count, self.parts.1), 256),
        ]
    }

    /// Returns the argument of all launches.
    pub fn args(&self) -> &JpegArgs {
        &self.args
    }
}
