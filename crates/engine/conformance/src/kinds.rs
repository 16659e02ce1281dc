//! Outputs of every kind that an engine writes, and their bytes.

use super::jobs::{Float, Uint, job, layout, task};
use strile_engine::{BlockLayout, Context, Encoded, Engine, Location, Output, OutputSpec, Strides};
use strile_tiff::{DataType, SampleFormat::ComplexFloat};

/// What a gap between samples holds.
pub(super) const GAP: u8 = 0xEE;

/// An output of the wanted kind and, of each sample that is written, where it lies in its bytes.
pub(super) struct Kind {
    pub(super) spec: OutputSpec,
    len: usize,
    pub(super) on_device: bool,
}

/// Band by band, pixel by pixel, and with gaps; the first two also in the memory of a device.
pub(super) fn kinds(
    engine: &dyn Engine,
    target: DataType,
    bands: u32,
    (rows, columns): (u32, u32),
) -> Vec<Kind> {
    let size = target.size();
    let first = OutputSpec::band_first(target, bands, rows, columns).unwrap();
    let last = OutputSpec::band_last(target, bands, rows, columns).unwrap();
    let column = size * bands as usize + 3;
    let strides = Strides { band: size, row: columns as usize * column + 5, column };
    let gaps = OutputSpec { strides, ..first.clone() };
    let mut kinds = Vec::new();
    for (contiguous, spec) in [(true, first), (true, last), (false, gaps)] {
        let len = spec.strides.row.max(spec.len().unwrap()) + if contiguous { 0 } else { 7 };
        if contiguous && engine.location() != Location::Host {
            kinds.push(Kind { spec: spec.clone(), len: spec.len().unwrap(), on_device: true });
        }
        kinds.push(Kind { len: if contiguous { spec.len().unwrap() } else { len }, spec, on_device: false });
    }
    kinds
}

impl Kind {
    pub(super) fn output(&self, engine: &dyn Engine) -> Output {
        match self.on_device {
            true => engine.output(self.spec.clone(), &Context::default()).unwrap(),
            false => Output::from_vec(self.spec.clone(), vec![GAP; self.len]).unwrap(),
        }
    }

    /// All bytes of the output, those of a device copied by a job of one stored block.
    pub(super) fn bytes(&self, engine: &dyn Engine, output: Output) -> Vec<u8> {
        let Some(memory) = output.device_bytes() else { return output.into_vec().unwrap() };
        let OutputSpec { data_type, bands, rows, columns, strides } = *output.spec();
        let bits = (data_type.size() * 8) as u16;
        let by_band = strides.column == data_type.size();
        let (samples, height) = if by_band { (1, bands * rows) } else { (bands, rows) };
        let format = if matches!(data_type, DataType::C64 | DataType::C128) { ComplexFloat } else { Float };
        let format = if bits == 8 { Uint } else { format };
        let block = BlockLayout { data_type, ..layout(columns, height, samples as u16, format, bits) };
        let copy = Output::new(OutputSpec::band_last(data_type, samples, height, columns).unwrap()).unwrap();
        let encoded = Encoded::Device(memory.clone());
        let job = job(&block, vec![task(&block, 0)]);
        let ticket = engine.submit(job, encoded, std::slice::from_ref(&copy), &Context::default());
        assert_eq!(ticket.unwrap().wait().unwrap().faults, []);
        copy.into_vec().unwrap()
    }
}
