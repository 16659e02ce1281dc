//! Lossless JPEG (ITU-T T.81, annex H): Huffman-coded differences from a prediction, 2 to 16 bits.
//!
//! Supports all predictors, point transforms, restart intervals, and one scan of all components or one per component.
//! Samples are returned as stored. Components must not be subsampled. Camera files (DNG) put the pixels of a row into
//! two or four components, or two rows into one: any shape with the block's number of samples is accepted if whole rows
//! agree.

use crate::codec::StoredBlock;
use crate::codec::image_shape::StatedShape;
use crate::stop::Stop;
use strile_codestream::jpeg::{self as jpeg_stream, DHT, DRI, EOI, Frame, HuffmanTables, SOS, Segment};
use strile_engine::BlockFault;
use strile_tiff::DataType;

mod huffman;

use huffman::{Bits, Huffman};

pub(super) fn decode(
    (src, tables): (&[u8], Option<&[u8]>),
    dst: &mut [u8],
    block: StoredBlock<'_>,
    frame: &Frame,
    stop: &Stop,
) -> Result<(), BlockFault> {
    check_shape(frame, block)?;
    let mut decoder = Decoder {
        frame,
        stop,
        tables: Default::default(),
        restart_interval: 0,
        out: Out { dst, data_type: block.layout.data_type, components: frame.components.len() },
        seen: vec![false; frame.components.len()],
    };
    for segment in tables.into_iter().flat_map(jpeg_stream::segments) {
        decoder.take_tables(segment?)?;
    }
    let mut at = 2;
    while let Some(segment) = jpeg_stream::segment_at(src, at) {
        let segment = segment?;
        at = segment.end;
        match segment.marker {
            EOI => break,
            SOS => at += decoder.scan(segment.body, src.get(at..).unwrap_or_default())?,
            _ => decoder.take_tables(segment)?,
        }
        if decoder.seen.iter().all(|&seen| seen) {
            return Ok(());
        }
    }
    Err(BlockFault::truncated(0, decoder.out.dst.len()))
}

fn check_shape(frame: &Frame, block: StoredBlock<'_>) -> Result<(), BlockFault> {
    let layout = block.layout;
    let count = u32::try_from(frame.components.len()).unwrap_or(u32::MAX);
    let (width, height) = (u32::from(frame.width), u32::from(frame.height));
    let shape = StatedShape { width, height, samples: count, bits: u32::from(frame.precision) };
    if !matches!(frame.precision, 2..=16) || !matches!(layout.data_type, DataType::U8 | DataType::U16) {
        return Err(BlockFault::unsupported(format!(
            "lossless JPEG of {} bits as {}",
            frame.precision, layout.data_type
        )));
    }
    if u32::from(layout.sample.bits) != shape.bits {
        return Err(shape.fault(block));
    }
    if frame.components.iter().any(|component| component.sampling != (1, 1)) {
        return Err(BlockFault::unsupported("lossless JPEG with subsampled components"));
    }
    if shape.check(block).is_ok() {
        return Ok(());
    }
    let row = u64::from(layout.width) * u64::from(layout.samples);
    let stated_row = u64::from(width) * u64::from(count);
    let same_count = stated_row * u64::from(height) == row * u64::from(block.rows);
    let whole_rows =
        row != 0 && stated_row != 0 && (stated_row.is_multiple_of(row) || row.is_multiple_of(stated_row));
    if same_count && whole_rows { Ok(()) } else { Err(shape.fault(block)) }
}

struct Decoder<'a> {
    frame: &'a Frame,
    stop: &'a Stop,
    tables: [Option<Huffman>; 4],
    restart_interval: u32,
    out: Out<'a>,
    seen: Vec<bool>,
}

/// One component of a scan.
struct Lane<'t> {
    component: usize,
    table: &'t Huffman,
}

impl Decoder<'_> {
    fn take_tables(&mut self, segment: Segment<'_>) -> Result<(), BlockFault> {
        match (segment.marker, segment.body) {
            (DHT, body) => {
                let mut tables = HuffmanTables::default();
                jpeg_stream::huffman_tables(body, &mut tables)?;
                // Lossless scans use the DC tables; other tables are ignored.
                for (number, slot) in (0..).zip(&mut self.tables) {
                    if let Some(table) = tables.get(0, number) {
                        *slot = Some(Huffman::new(table));
                    }
                }
            }
            (DRI, &[high, low]) => self.restart_interval = u32::from(u16::from_be_bytes([high, low])),
            _ => {}
        }
        Ok(())
    }

    /// Decodes a scan and returns the length of its data in bytes.
    fn scan(&mut self, header: &[u8], data: &[u8]) -> Result<usize, BlockFault> {
        let bad = || corrupt("scan header is not valid");
        let (&count, rest) = header.split_first().ok_or_else(bad)?;
        let (specs, rest) = rest.split_at_checked(2 * usize::from(count)).ok_or_else(bad)?;
        let &[predictor @ 1..=7, _, approximation] = rest else { return Err(bad()) };
        let point_transform = u32::from(approximation & 15);
        let mut lanes = Vec::new();
        for &[id, place] in specs.as_chunks().0 {
            let component = self.frame.components.iter().position(|c| c.id == id).ok_or_else(bad)?;
            let table = self.tables.get(usize::from(place >> 4)).and_then(Option::as_ref);
            let table = table.ok_or_else(|| corrupt("a scan names a Huffman table that is not there"))?;
            if std::mem::replace(self.seen.get_mut(component).ok_or_else(bad)?, true) {
                return Err(corrupt("a component has two scans"));
            }
            lanes.push(Lane { component, table });
        }
        let width = usize::from(self.frame.width);
        // T.81 H.1.1: a restart interval is a whole number of rows.
        if lanes.is_empty() || width == 0 || point_transform >= u32::from(self.frame.precision) {
            return Err(bad());
        }
        let rows_a_restart = match self.restart_interval as usize {
            0 => usize::MAX,
            interval if interval.is_multiple_of(width) => interval / width,
            _ => return Err(corrupt("a restart interval is not a whole number of rows")),
        };
        let first = 1_u16 << (u32::from(self.frame.precision) - point_transform - 1);
        let mut bits = Bits::new(data);
        let mut above = vec![0_u16; width * lanes.len()];
        let mut row = above.clone();
        for y in 0..usize::from(self.frame.height) {
            self.stop.check()?;
            let restarts = y.is_multiple_of(rows_a_restart);
            if restarts && y > 0 {
                bits.restart().ok_or_else(|| corrupt("no restart marker where one must be"))?;
            }
            let prediction = if restarts { Prediction::FirstRow(first) } else { Prediction::From(predictor) };
            decode_row(&mut bits, &lanes, prediction, &above, &mut row).map_err(|fault| match fault {
                RowFault::Truncated => self.out.truncated(y * width * lanes.len()),
                RowFault::Code => corrupt("not a Huffman code"),
            })?;
            let mut out_of_room = true;
            for (lane, values) in lanes.iter().enumerate() {
                for (x, value) in row.iter().skip(lane).step_by(lanes.len()).enumerate() {
                    out_of_room = !self.out.put(
                        (y * width + x) * self.out.components + values.component,
                        value << point_transform,
                    );
                }
            }
            if out_of_room {
                break;
            }
            std::mem::swap(&mut above, &mut row);
        }
        Ok(bits.position())
    }
}

/// Source of the predictions of a row.
#[derive(Clone, Copy)]
enum Prediction {
    /// From the left; the first sample from this value.
    FirstRow(u16),
    /// By the predictor with this number; the first sample from above.
    From(u8),
}

enum RowFault {
    Truncated,
    Code,
}

/// Decodes a row of interleaved samples; `above` and `row` have the same length.
fn decode_row(
    bits: &mut Bits<'_>,
    lanes: &[Lane<'_>],
    prediction: Prediction,
    above: &[u16],
    row: &mut [u16],
) -> Result<(), RowFault> {
    let count = lanes.len();
    for x in 0..row.len() / count {
        for (lane, values) in lanes.iter().enumerate() {
            let at = x * count + lane;
            let difference = bits.difference(values.table).ok_or(RowFault::Code)?;
            let value_of = |values: &[u16], at: usize| values.get(at).copied().unwrap_or(0);
            let predicted = match (prediction, at.checked_sub(count)) {
                (Prediction::FirstRow(first), None) => first,
                (Prediction::FirstRow(_), Some(left)) => value_of(row, left),
                (Prediction::From(_), None) => value_of(above, at),
                (Prediction::From(predictor), Some(left)) => {
                    predict(predictor, value_of(row, left), value_of(above, at), value_of(above, left))
                }
            };
            if let Some(out) = row.get_mut(at) {
                *out = predicted.wrapping_add(difference);
            }
        }
    }
    if bits.overrun() { Err(RowFault::Truncated) } else { Ok(()) }
}

/// Predicts by T.81 table H.1: `a` is left, `b` above, `c` above left.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "samples are modulo 2^16 (H.1.2.1)"
)]
fn predict(predictor: u8, a: u16, b: u16, c: u16) -> u16 {
    let (ra, rb, rc) = (i32::from(a), i32::from(b), i32::from(c));
    let value = match predictor {
        1 => ra,
        2 => rb,
        3 => rc,
        4 => ra + rb - rc,
        5 => ra + ((rb - rc) >> 1),
        6 => rb + ((ra - rc) >> 1),
        _ => (ra + rb) >> 1,
    };
    value as u16
}

struct Out<'a> {
    dst: &'a mut [u8],
    data_type: DataType,
    components: usize,
}

impl Out<'_> {
    /// Stores the sample with this index; returns `false` if the output ends before it.
    fn put(&mut self, index: usize, value: u16) -> bool {
        let [low, _] = value.to_le_bytes();
        if self.data_type == DataType::U8 {
            return self.dst.get_mut(index).map(|out| *out = low).is_some();
        }
        self.dst.as_chunks_mut().0.get_mut(index).map(|out| *out = value.to_ne_bytes()).is_some()
    }

    fn truncated(&self, samples: usize) -> BlockFault {
        BlockFault::truncated((samples * self.data_type.size()).min(self.dst.len()), self.dst.len())
    }
}

fn corrupt(what: &'static str) -> BlockFault {
    BlockFault::corrupt(format!("lossless JPEG: {what}"))
}

#[cfg(test)]
mod tests {
    use crate::codec::testing::{check_picture, decode_block, layout, picture_bytes};
    use strile_tiff::Compression;

    macro_rules! data {
        ($name:literal) => {
            include_bytes!(concat!("../../../tests/data/", $name)).as_slice()
        };
    }

    #[test]
    fn undoes_every_predictor() {
        let files = [
            data!("rgb12_predictor1.ljpg"),
            data!("rgb12_predictor2.ljpg"),
            data!("rgb12_predictor3.ljpg"),
            data!("rgb12_predictor4.ljpg"),
            data!("rgb12_predictor5.ljpg"),
            data!("rgb12_predictor6.ljpg"),
            data!("rgb12_predictor7.ljpg"),
        ];
        for file in files {
            check_picture(file, &layout(Compression::Jpeg, (13, 9), (3, 12)));
        }
    }

    #[test]
    fn reads_the_least_and_the_most_bits() {
        check_picture(data!("gray3.ljpg"), &layout(Compression::Jpeg, (13, 9), (1, 3)));
        check_picture(data!("gray16.ljpg"), &layout(Compression::Jpeg, (13, 9), (1, 16)));
    }

    /// DNG: three components of 13 columns are read as one of 39.
    #[test]
    fn components_may_be_columns() {
        let decoded =
            decode_block(data!("rgb12_predictor1.ljpg"), &layout(Compression::Jpeg, (39, 9), (1, 12)))
                .unwrap();
        assert_eq!(decoded, picture_bytes(3, 12));
    }
}
