//! Indexes of headers, as `strile index` writes them: damaged, then used to open and read a whole file.
//!
//! The format is that of `batch/headers`; checksums are made right, so that damage gets past them. A record states the
//! version of its file, so mutants are those of this process: a kept one shows its damage on another machine only where
//! that comes before the versions are compared.

use super::{Outcome, Subject, context, folder, kind, sequence};
use crate::mutate::{EDGES, mutate_tiff, mutate_xml, pick};
use std::path::PathBuf;
use strile::batch::{HeaderLimits, Headers, write_header_index};
use strile::read::OnFault;
use strile::{OpenOptions, ReadOptions};
use strile_tiff::{ByteOrder, SampleFormat, SampleType};
use testkit::{Codec, Grid, ImageSpec, Pattern, Pixels, Random, geo_tags, mutate_bytes};

/// See the module. Files and index are in a folder that goes with it.
pub(crate) struct IndexTarget {
    folder: PathBuf,
    index: Vec<u8>,
}

/// A file that every mutant is asked for.
const FILE: &str = "a.tif";
/// Bytes that headers and index may take.
const BYTES: u64 = 16 << 20;

impl IndexTarget {
    pub(crate) fn new() -> Self {
        let folder = folder("index");
        let uint8 = SampleType { format: SampleFormat::Uint, bits: 8 };
        for (name, side, seed) in [(FILE, 40, 1), ("b.tif", 20, 2), ("a.tif.ovr", 20, 3)] {
            let pixels = Pixels::generate(Pattern::Noise, uint8, [2, side, side], seed);
            let mut spec = ImageSpec::new(uint8).grid(Grid::Tiles(16, 16)).codec(Codec::Deflate);
            for tag in geo_tags(32632, (5e5, 5e6), 10.0, false) {
                spec = spec.tag(tag);
            }
            std::fs::write(folder.join(name), spec.build(&pixels, ByteOrder::Little, false).bytes).unwrap();
        }
        std::fs::write(folder.join("a.tif.aux.xml"), super::text::PAM).unwrap();
        std::fs::write(folder.join("b.tfw"), "10\n0\n0\n-10\n5\n5\n").unwrap();
        let files = [FILE, "b.tif"].map(|name| folder.join(name));
        let target = folder.join("whole.index");
        let report =
            write_header_index(&target, &files, &OpenOptions::default(), &context(64 << 20)).unwrap();
        assert_eq!((report.files, report.skipped.len()), (2, 0));
        let index = std::fs::read(target).unwrap();
        assert_eq!(
            Index::parse(&index).unwrap().to_bytes(),
            index,
            "the format is the one this target knows"
        );
        Self { folder, index }
    }
}

impl Drop for IndexTarget {
    fn drop(&mut self) {
        let _best_effort = std::fs::remove_dir_all(&self.folder);
    }
}

impl Subject for IndexTarget {
    fn name(&self) -> &str {
        "index"
    }

    fn mutant(&self, number: u64) -> (usize, Vec<u8>) {
        let mut random = sequence(number);
        if random.below(4) == 0 {
            return (0, mutate_bytes(&self.index, random.next_u64()));
        }
        let mut index = Index::parse(&self.index).unwrap();
        for _ in 0..1 + random.below(3) {
            index.change(&mut random);
        }
        (0, index.to_bytes())
    }

    fn try_one(&self, _seed: usize, _number: u64, bytes: &[u8]) -> Outcome {
        let path = self.folder.join("mutant.index");
        std::fs::write(&path, bytes).unwrap();
        let limits = HeaderLimits::new().files(16).bytes(BYTES).open(4);
        let headers = match Headers::new(limits, OpenOptions::default()).with_index(&path) {
            Ok(headers) => headers,
            Err(error) => return Outcome::refused(false, kind(&error)),
        };
        let dataset = match headers.open(self.folder.join(FILE)) {
            Ok(dataset) => dataset,
            Err(error) => return Outcome::refused(true, kind(&error)),
        };
        let (_, held, _) = headers.held();
        let options = ReadOptions::new().on_fault(OnFault::Fill);
        let mut outcome = match dataset.read(&options, &context(8 << 20)) {
            Ok(raster) if raster.faults.is_empty() => Outcome::read(),
            Ok(_) => Outcome::refused(true, "faulty blocks"),
            Err(error) => Outcome::refused(true, kind(&error)),
        };
        if held > BYTES {
            outcome.wrong = Some(format!("headers hold {held} bytes, {BYTES} is the limit"));
        }
        outcome
    }

    fn memory_limit(&self, _seed: usize) -> usize {
        64 << 20
    }

    fn seed_name(&self, _seed: usize) -> String {
        "two-files".to_owned()
    }

    fn seeds(&self) -> usize {
        1
    }
}

struct Index {
    head: Vec<u8>,
    records: Vec<(Vec<u8>, Vec<Part>)>,
}

#[derive(Clone)]
struct Part {
    name: Vec<u8>,
    len: u64,
    mark: Vec<u8>,
    kind: u8,
    /// Pieces of a header, or one piece of text.
    pieces: Vec<(u64, Vec<u8>)>,
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(*self.take(4)?.first_chunk()?))
    }

    fn long(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(*self.take(8)?.first_chunk()?))
    }

    fn bytes(&mut self) -> Option<Vec<u8>> {
        let len = self.number()? as usize;
        self.take(len).map(<[u8]>::to_vec)
    }
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u32).to_le_bytes());
    out.extend(bytes);
}

impl Index {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut input = Input(bytes);
        let mut index = Self { head: input.take(12)?.to_vec(), records: Vec::new() };
        while !input.0.is_empty() {
            let name = input.bytes()?;
            let _checksum = input.long()?;
            let record = input.bytes()?;
            let mut input = Input(&record);
            let count = input.number()?;
            let parts = (0..count).map(|_| Part::parse(&mut input)).collect::<Option<_>>()?;
            index.records.push((name, parts));
        }
        Some(index)
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut out = self.head.clone();
        for (name, parts) in &self.records {
            let mut record = (parts.len() as u32).to_le_bytes().to_vec();
            parts.iter().for_each(|part| part.put(&mut record));
            put(&mut out, name);
            // FNV-1a, as the index has it.
            let checksum = record.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, &byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
            });
            out.extend(checksum.to_le_bytes());
            put(&mut out, &record);
        }
        out
    }

    fn change(&mut self, random: &mut Random) {
        if self.records.is_empty() {
            return;
        }
        let at = random.below(self.records.len());
        if random.below(8) == 0 {
            let copy = self.records[at].clone();
            return self.records.insert(random.below(self.records.len() + 1), copy);
        }
        let (name, parts) = &mut self.records[at];
        if parts.is_empty() {
            return;
        }
        let from = parts[random.below(parts.len())].clone();
        let to = random.below(parts.len());
        match random.below(12) {
            0 => *name = mutate_bytes(name, random.next_u64()),
            1 => parts[to].name = from.name,
            2 => parts[to].len = pick(&EDGES, random),
            3 => parts[to].kind = random.below(3) as u8,
            4 => parts.push(from),
            5 => parts[to].pieces.extend(from.pieces),
            6 => drop(parts.remove(to)),
            _ => parts[to].change_piece(random),
        }
    }
}

impl Part {
    fn parse(input: &mut Input<'_>) -> Option<Self> {
        let (name, len, mark) = (input.bytes()?, input.long()?, input.bytes()?);
        let kind = *input.take(1)?.first()?;
        let pieces = match kind {
            0 => {
                let count = input.number()?;
                (0..count).map(|_| Some((input.long()?, input.bytes()?))).collect::<Option<_>>()?
            }
            _ => vec![(0, input.bytes()?)],
        };
        Some(Self { name, len, mark, kind, pieces })
    }

    fn put(&self, out: &mut Vec<u8>) {
        put(out, &self.name);
        out.extend(self.len.to_le_bytes());
        put(out, &self.mark);
        out.push(self.kind);
        if self.kind == 0 {
            out.extend((self.pieces.len() as u32).to_le_bytes());
            for (offset, piece) in &self.pieces {
                out.extend(offset.to_le_bytes());
                put(out, piece);
            }
        } else {
            put(out, self.pieces.first().map_or(&[], |(_, piece)| piece));
        }
    }

    fn change_piece(&mut self, random: &mut Random) {
        if self.pieces.is_empty() {
            return;
        }
        let at = random.below(self.pieces.len());
        let (offset, piece) = &mut self.pieces[at];
        match (self.kind, random.below(6)) {
            (_, 0) => *offset = pick(&EDGES, random),
            (0, 1..=4) => {
                let changed = mutate_tiff(piece, piece, random);
                // A piece ends inside its file.
                *piece = changed.into_iter().take(piece.len()).collect();
            }
            (1, 1..=4) => *piece = mutate_xml(piece, piece, random),
            _ => *piece = mutate_bytes(piece, random.next_u64()),
        }
    }
}
