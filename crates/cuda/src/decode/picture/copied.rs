//! A decoder for tests of the code around decoders: the CPU engine decodes when it parses, and the device copies.

#![expect(unsafe_code, reason = "copies within the device")]

use super::{Decoder, Need, Placed, Room, Stop};
use crate::device::Device;
use crate::memory::copy_within;
use crate::stream::Stream;
use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_engine::{
    Arena, BlockAddress, BlockFault, BlockLayout, BlockTask, Context, DecodeJob, Encoded, Engine, Output,
    OutputSpec, Placement, Span,
};

/// First sample of a picture that is refused by its status.
pub(crate) const REFUSED: u16 = 99;
/// First sample of a picture that is refused when it is finished.
pub(crate) const REFUSED_LATE: u16 = 98;

/// A decoder for tests: the CPU engine decodes while it parses, and the device copies.
pub(crate) struct Copied;

/// Copies between addresses, and statuses to set.
pub(crate) struct Copies {
    copies: Vec<(u64, u64, usize)>,
    good: Vec<u64>,
    bad: Vec<u32>,
}

impl Decoder for Copied {
    type Picture = Vec<u8>;
    type Batch = Copies;

    fn takes(&self, layout: &BlockLayout) -> Result<(), String> {
        if layout.samples > 8 { Err("more samples than eight".to_owned()) } else { Ok(()) }
    }

    fn estimate(&self, layout: &BlockLayout, rows: u32, stream_len: u64) -> Need {
        let len = layout.decoded_len(rows).unwrap() as u64;
        Need { bytes: len, tables: 8, scratch: stream_len }
    }

    fn fixed(&self) -> Need {
        Need { bytes: 0, tables: 100, scratch: 1 }
    }

    fn parse(&self, stream: &[u8], layout: &BlockLayout, rows: u32) -> Result<Vec<u8>, BlockFault> {
        let (width, samples) = (layout.width, u32::from(layout.samples));
        let spec = OutputSpec::band_last(layout.data_type, samples, rows, width).unwrap();
        let output = Output::from_vec(spec, vec![0; layout.samples_len(rows).unwrap()]).unwrap();
        let task = BlockTask {
            source: 0,
            layout: 0,
            selection: 0,
            output: 0,
            span: Some(Span { offset: 0, len: stream.len() as u64 }),
            address: BlockAddress::default(),
            placement: Placement {
                rows,
                image_rows: rows,
                block_x: 0,
                block_y: 0,
                width,
                height: rows,
                out_x: 0,
                out_y: 0,
                first_band: 0,
            },
        };
        let selection = (0..layout.samples).collect();
        let job = DecodeJob::new(vec![Arc::new(layout.clone())], vec![selection], vec![task]).unwrap();
        let encoded = Encoded::Staged(Arc::new(Arena::from_vec(stream.to_vec())));
        let outputs = std::slice::from_ref(&output);
        let report = CpuEngine::new().submit(job, encoded, outputs, &Context::default());
        let report = report.unwrap().wait().unwrap();
        report.faults.into_iter().next().map_or(Ok(()), |fault| Err(fault.fault))?;
        Ok(output.into_vec().unwrap())
    }

    fn parsing(&self, layout: &BlockLayout, rows: u32) -> u64 {
        layout.decoded_len(rows).unwrap() as u64
    }

    fn held(&self, picture: &Vec<u8>) -> u64 {
        picture.len() as u64
    }

    fn need(&self, picture: &Vec<u8>) -> Need {
        Need { bytes: picture.len() as u64, tables: 8, scratch: 16 }
    }

    fn write(&self, picture: &Vec<u8>, _: &[u8], into: &mut [u8]) {
        into.copy_from_slice(picture);
    }

    fn lay_out(&self, pictures: &[Placed<Vec<u8>>], room: &Room, tables: &mut [u8]) -> Result<Copies, Stop> {
        assert_eq!(tables.len(), 100 + 8 * pictures.len());
        assert!(
            tables.iter().all(|&byte| byte == 0) && room.scratch_len >= 256 * (1 + pictures.len() as u64)
        );
        tables.fill(0xEE);
        let first =
            |placed: &Placed<Vec<u8>>| placed.picture.first_chunk().map(|&first| u16::from_ne_bytes(first));
        let copy = |placed: &Placed<Vec<u8>>| (placed.bytes, placed.dst, placed.dst_len as usize);
        let good = |placed: &Placed<Vec<u8>>| room.statuses + 4 * u64::from(placed.status);
        Ok(Copies {
            copies: pictures.iter().map(copy).collect(),
            good: pictures.iter().filter(|placed| first(placed) != Some(REFUSED)).map(good).collect(),
            bad: pictures
                .iter()
                .filter(|placed| first(placed) == Some(REFUSED_LATE))
                .map(|placed| placed.status)
                .collect(),
        })
    }

    fn launch(&self, batch: &mut Copies, _: &Device, stream: &Stream) -> Result<(), Stop> {
        for &(from, to, len) in &batch.copies {
            // SAFETY: both are parts of the job's memory.
            unsafe { copy_within(stream, to, from, len) }?;
        }
        for &status in &batch.good {
            // SAFETY: a status in the job's memory.
            unsafe { stream.context().driver().cuMemsetD32Async(status, 0, 1, stream.handle()) }?;
        }
        Ok(())
    }

    fn finish(&self, batch: Copies) -> Vec<u32> {
        batch.bad
    }
}
