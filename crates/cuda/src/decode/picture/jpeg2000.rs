//! JPEG 2000, decoded by strile's kernels: the code-blocks of all pictures of a batch in one launch, then the wavelets
//! level by level, then the pixels. The host parses headers (`strile_codestream::jpeg2000`).

#![expect(unsafe_code, reason = "kernels are handed the addresses that were laid out here")]

pub mod abi;
mod overflow;
mod steps;
mod stream;
mod template;

pub use steps::Step;
pub use stream::Jpeg2000Stream;

use super::{Decoder, Need, Placed, Room, Stop};
use crate::device::Device;
use crate::launch::{Launch, launch};
use crate::stream::Stream;
use strile_engine::{BlockFault, BlockLayout};
use strile_tiff::DataType;

/// Decodes JPEG 2000 and HTJ2K with strile's kernels.
#[derive(Debug, Clone, Copy, Default)]
pub struct Jpeg2000;

/// The steps of a batch, in order.
#[derive(Debug)]
pub struct Batch {
    steps: Vec<Step>,
}

impl Batch {
    /// Returns the steps of the batch, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
}

impl Decoder for Jpeg2000 {
    type Picture = Jpeg2000Stream;
    type Batch = Batch;

    fn takes(&self, layout: &BlockLayout) -> Result<(), String> {
        if !layout.compression.is_jpeg2000() {
            return Err(format!("blocks of {}", layout.compression.name()));
        }
        match layout.data_type {
            DataType::U8 | DataType::I8 | DataType::U16 | DataType::I16 if !layout.reverse_bits => Ok(()),
            other => Err(format!("samples of {other}")),
        }
    }

    fn estimate(&self, layout: &BlockLayout, rows: u32, stream_len: u64) -> Need {
        // Assumes code-blocks of 64 x 64, some smaller, in one codeword segment each; coefficients are stored twice.
        let samples = u64::from(layout.width) * u64::from(rows) * u64::from(layout.samples);
        let blocks = samples / 3072 + 20 * u64::from(layout.samples);
        // An omitted resolution has more bytes than all lower ones together.
        let coded = stream_len >> layout.extras.reduce.min(63);
        Need { bytes: coded + 8 * blocks, tables: 64 * blocks + 512, scratch: 8 * samples + 8 * samples / 16 }
    }

    fn fixed(&self) -> Need {
        Need::default()
    }

    fn parse(&self, stream: &[u8], layout: &BlockLayout, rows: u32) -> Result<Jpeg2000Stream, BlockFault> {
        Jpeg2000Stream::parse(stream, layout, rows)
    }

    fn parsing(&self, layout: &BlockLayout, rows: u32) -> u64 {
        stream::parsing(layout, rows)
    }

    fn held(&self, picture: &Jpeg2000Stream) -> u64 {
        picture.template.held()
    }

    fn need(&self, picture: &Jpeg2000Stream) -> Need {
        picture.need
    }

    fn write(&self, picture: &Jpeg2000Stream, stream: &[u8], into: &mut [u8]) {
        picture.template.write(stream, into);
    }

    fn lay_out(
        &self,
        pictures: &[Placed<Jpeg2000Stream>],
        room: &Room,
        tables: &mut [u8],
    ) -> Result<Batch, Stop> {
        Ok(Batch { steps: steps::lay_out(pictures, room, tables)? })
    }

    fn launch(&self, batch: &mut Batch, device: &Device, stream: &Stream) -> Result<(), Stop> {
        for step in &batch.steps {
            match step {
                &Step::Clear(address, len) => {
                    let words = usize::try_from(len / 4).unwrap_or(0);
                    let driver = stream.context().driver();
                    // SAFETY: a part of the batch's working memory.
                    unsafe { driver.cuMemsetD32Async(address, 0, words, stream.handle()) }?;
                }
                Step::Blocks(kernel, args) => queue(kernel, args, device, stream)?,
                Step::Levels(kernel, args) => queue(kernel, args, device, stream)?,
                Step::Tiles(kernel, args) => queue(kernel, args, device, stream)?,
            }
        }
        Ok(())
    }
}

fn queue<Args: Copy>(kernel: &Launch, args: &Args, device: &Device, stream: &Stream) -> Result<(), Stop> {
    let function = device.function(kernel.module, kernel.entry)?;
    // SAFETY: the arguments are of that kernel, and `lay_out` made their addresses point into the batch's memory, which
    // is as large as the pictures' needs.
    unsafe { launch(stream, &function, kernel.grid, kernel.threads, args) }?;
    Ok(())
}
