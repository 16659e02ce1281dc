//! Blocks decoded by the kernels and by the CPU: the same faults, the same pixels.
//!
//! Kernels run on the stand-in driver, under the emulator, or on a GPU where `STRILE_REQUIRE_GPU=1`. A kernel leaves every
//! stream it does not like to the host (decision 009), so what the engine reports must be what the CPU engine reports. One
//! mutant is a batch of damaged streams of one layout, decoded by one job.

use super::codec::{CodecTarget, Seed};
use super::{Outcome, Subject, context, sequence};
use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;
use strile_cpu::CpuEngine;
use strile_cuda::{CudaEngine, CudaOptions, Split};
use strile_emulate::StandIn;
use strile_engine::{
    Arena, BlockAddress, BlockTask, DecodeJob, Encoded, Engine, Output, OutputSpec, Placement, Report, Span,
};

/// See the module.
pub(crate) struct DeviceTarget {
    name: String,
    seeds: Vec<Seed>,
    engines: OnceCell<Engines>,
}

struct Engines {
    cpu: Arc<CpuEngine>,
    cuda: CudaEngine,
    /// The same, for streams cut into segments.
    split: CudaEngine,
    standin: Option<&'static StandIn>,
}

/// Codecs with kernels.
const CODECS: [&str; 10] =
    ["lzw", "deflate", "packbits", "zstd", "lz4", "jpeg", "jpeg2000", "lerc", "lerc-deflate", "lerc-zstd"];
/// Streams of a batch: an emulated kernel takes about a millisecond for each, and a GPU decodes hundreds at a time.
const EMULATED_BATCH: usize = 16;
const GPU_BATCH: usize = 256;
/// Decoded bytes of a seed; where all are larger, the smallest few are taken.
const LARGEST: usize = 2048;
const FEW: usize = 6;

fn is_on_a_gpu() -> bool {
    std::env::var_os("STRILE_REQUIRE_GPU").is_some_and(|value| value == "1")
}

/// Streams of a batch; `STRILE_FUZZ_BATCH` repeats a mutant of a GPU under the emulator.
fn batch() -> usize {
    let given = std::env::var("STRILE_FUZZ_BATCH").ok().and_then(|text| text.parse().ok());
    given.unwrap_or(if is_on_a_gpu() { GPU_BATCH } else { EMULATED_BATCH })
}

impl DeviceTarget {
    pub(crate) fn all(codecs: &[CodecTarget]) -> Vec<Self> {
        let codecs = codecs.iter().filter(|codec| CODECS.contains(&codec.name()));
        codecs.map(Self::of).filter(|target| !target.seeds.is_empty()).collect()
    }

    fn of(codec: &CodecTarget) -> Self {
        let on_device = |seed: &&Seed| CudaEngine::on_device(&seed.layout).is_ok();
        let mut seeds: Vec<Seed> = codec.seeds.iter().filter(on_device).cloned().collect();
        seeds.sort_by_key(Seed::decoded_len);
        let small = seeds.iter().take_while(|seed| seed.decoded_len() <= LARGEST).count();
        seeds.truncate(small.max(FEW));
        Self { name: format!("device-{}", codec.name()), seeds, engines: OnceCell::new() }
    }

    fn engines(&self) -> &Engines {
        self.engines.get_or_init(|| {
            let standin = (!is_on_a_gpu()).then(|| StandIn::load().unwrap());
            let cpu = Arc::new(CpuEngine::new());
            let open = |split| {
                let options = CudaOptions { split, ..CudaOptions::default() };
                CudaEngine::open(0, Arc::clone(&cpu) as Arc<dyn Engine>, options).unwrap()
            };
            let (cuda, split) = (open(Split::Never), open(Split::Always));
            Engines { cpu, cuda, split, standin }
        })
    }
}

impl Subject for DeviceTarget {
    fn name(&self) -> &str {
        &self.name
    }

    /// The streams, each after its length.
    fn mutant(&self, number: u64) -> (usize, Vec<u8>) {
        let mut random = sequence(number);
        let seed = random.below(self.seeds.len());
        let mut bytes = Vec::new();
        for _ in 0..batch() {
            let mut stream = self.seeds[seed].mutant(&mut random);
            if stream.is_empty() {
                // A block of no bytes is not there, and no engine is asked for it.
                stream.push(0);
            }
            if self.seeds[seed].is_reversed() {
                stream.iter_mut().for_each(|byte| *byte = byte.reverse_bits());
            }
            bytes.extend((stream.len() as u32).to_le_bytes());
            bytes.extend(stream);
        }
        (seed, bytes)
    }

    /// Mutants of odd numbers are split, where their codec can be.
    fn try_one(&self, seed: usize, number: u64, bytes: &[u8]) -> Outcome {
        let engines = self.engines();
        let engine = if number.is_multiple_of(2) { &engines.cuda } else { &engines.split };
        let seed = &self.seeds[seed];
        let (on_cpu, expected) = run(engines.cpu.as_ref(), seed, bytes);
        let (on_device, found) = run(engine, seed, bytes);
        let mut wrong = None;
        if on_cpu.faults != on_device.faults {
            let first =
                |a: &Report, b: &Report| a.faults.iter().find(|fault| !b.faults.contains(fault)).cloned();
            wrong = Some(format!(
                "other faults: on the CPU {:?}, on the device {:?}",
                first(&on_cpu, &on_device),
                first(&on_device, &on_cpu)
            ));
        } else if let Some(at) = expected.iter().zip(&found).position(|(a, b)| a != b) {
            wrong = Some(format!("other pixels: at byte {at} of the output"));
        }
        // The log grows until it is taken; `!` is a misuse of the driver.
        if let Some(misuse) =
            engines.standin.and_then(|standin| standin.calls().into_iter().find(|call| call.name == "!"))
        {
            wrong = Some(format!("misuse of the driver: {}", misuse.facts));
        }
        let refused = (on_cpu.faults.len() as u64 == on_device.blocks).then_some("all faulty");
        Outcome { reached: on_device.host_blocks < on_device.blocks, refused, wrong, held: 0 }
    }

    fn memory_limit(&self, _seed: usize) -> usize {
        256 << 20
    }

    fn seed_name(&self, seed: usize) -> String {
        self.seeds[seed].name.clone()
    }

    fn seeds(&self) -> usize {
        self.seeds.len()
    }

    fn executions(&self) -> u64 {
        batch() as u64
    }

    /// Builds the kernels, where no other process has.
    fn prepare(&self) {
        self.engines();
    }

    fn slow(&self) -> Duration {
        Duration::from_secs(20)
    }
}

/// Decodes all streams, one below the other; the report and the pixels.
fn run(engine: &dyn Engine, seed: &Seed, mut bytes: &[u8]) -> (Report, Vec<u8>) {
    let (width, rows) = (seed.layout.width, seed.rows);
    let (mut tasks, mut streams) = (Vec::new(), Vec::new());
    while let Some((len, rest)) = bytes.split_first_chunk() {
        let (stream, rest) = rest.split_at(rest.len().min(u32::from_le_bytes(*len) as usize));
        bytes = rest;
        let row = tasks.len() as u32;
        tasks.push(BlockTask {
            source: 0,
            layout: 0,
            selection: 0,
            output: 0,
            span: Some(Span { offset: streams.len() as u64, len: stream.len() as u64 }),
            address: BlockAddress { row, ..BlockAddress::default() },
            placement: Placement {
                rows,
                image_rows: rows,
                block_x: 0,
                block_y: 0,
                width,
                height: rows,
                out_x: 0,
                out_y: row * rows,
                first_band: 0,
            },
        });
        streams.extend(stream);
    }
    let layout = &seed.layout;
    let all_rows = rows * tasks.len() as u32;
    let spec = OutputSpec::band_first(layout.data_type, layout.samples.into(), all_rows, width).unwrap();
    let output = Output::from_vec(spec.clone(), vec![0xA5; spec.len().unwrap()]).unwrap();
    let job = DecodeJob::new(vec![Arc::clone(layout)], vec![(0..layout.samples).collect()], tasks).unwrap();
    let encoded = Encoded::Staged(Arc::new(Arena::from_vec(streams)));
    let ticket = engine.submit(job, encoded, std::slice::from_ref(&output), &context(256 << 20));
    let report = ticket.unwrap().wait().unwrap();
    (report, output.into_vec().unwrap())
}
