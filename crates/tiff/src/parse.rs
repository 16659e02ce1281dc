//! Parses bytes to directories, without I/O.
//!
//! `Parser::next` returns the byte ranges it needs, and `feed` supplies them, until it is done. A file cannot make it
//! loop (every directory offset is visited once), request bytes outside the file, or hold more than the limits allow:
//! values count with their size in memory, once per directory that refers to them, because many directories can share
//! one range. A fault of the first directory is an error; a fault of a later one ends the chain with a warning, because
//! the images before it can still be read.

use crate::directory::{Directory, Entry, Origin, ValueData, place_of};
use crate::header::{Header, Variant};
use crate::segments::Segments;
use crate::{FieldType, Limits, Tag, TiffError, Warning, Warnings};
use std::collections::{HashSet, VecDeque};
use std::ops::Range;

/// The next request of the parser.
#[derive(Debug)]
pub enum Step {
    /// These byte ranges, all inside the file. Feed each one, in any order.
    Need(Vec<Range<u64>>),
    /// Nothing: the result.
    Done(Tiff),
}

/// The structure of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tiff {
    /// The header.
    pub header: Header,
    /// Size of the file in bytes.
    pub file_len: u64,
    /// Every directory: the chain in order, followed by the SubIFDs of its directories.
    pub directories: Vec<Directory>,
    /// Warnings about what was tolerated.
    pub warnings: Warnings,
}

/// Size of the first request: covers all directories of most files, for a COG of any usual size.
const FIRST_READ: u64 = 32 << 10;
/// Bytes requested at a directory's offset before its number of entries is known.
const DIRECTORY_READ: u64 = 4 << 10;

/// Parses a TIFF from byte ranges that the caller fetches on request.
///
/// Does no I/O: it requests ranges, takes their bytes and returns directories.
#[derive(Debug)]
pub struct Parser {
    file_len: u64,
    limits: Limits,
    segments: Segments,
    header: Option<Header>,
    /// Directories to visit. SubIFDs wait until the chain is done.
    chain: VecDeque<(u64, Origin)>,
    subs: VecDeque<(u64, Origin)>,
    visited: HashSet<u64>,
    directories: Vec<Directory>,
    value_bytes: u64,
    entries: u64,
    /// Whether the limit on directories was reached and reported.
    full: bool,
    warnings: Warnings,
}

/// The result of reading a directory with the available bytes.
enum Progress {
    Missing(Vec<Range<u64>>),
    Read { directory: Directory, next: u64 },
}

impl Parser {
    /// Creates a parser of a file of `file_len` bytes.
    pub fn new(file_len: u64, limits: Limits) -> Self {
        Self {
            file_len,
            limits,
            segments: Segments::default(),
            header: None,
            chain: VecDeque::new(),
            subs: VecDeque::new(),
            visited: HashSet::new(),
            directories: Vec::new(),
            value_bytes: 0,
            entries: 0,
            full: false,
            warnings: Warnings::new(),
        }
    }

    /// Supplies bytes of the file, from `offset` on.
    pub fn feed(&mut self, offset: u64, bytes: Vec<u8>) {
        self.segments.insert(offset, bytes);
    }

    /// Proceeds as far as possible with the bytes supplied so far.
    #[expect(clippy::should_implement_trait, reason = "it is a step of a parser, not an iterator")]
    #[expect(clippy::single_range_in_vec_init, reason = "one range of bytes is meant")]
    pub fn next(&mut self) -> Result<Step, TiffError> {
        let header = match self.header {
            Some(header) => header,
            None => {
                let range = 0..Header::LEN.min(self.file_len);
                let Some(bytes) = self.segments.get(&range) else {
                    return Ok(Step::Need(vec![0..FIRST_READ.min(self.file_len)]));
                };
                let header = Header::parse(&bytes)?;
                self.header = Some(header);
                self.enqueue(header.first_directory, Origin::Chain(0));
                header
            }
        };
        while let Some((offset, origin)) = self.chain.front().or(self.subs.front()).copied() {
            match self.read_directory(header, offset, origin) {
                Ok(Progress::Missing(ranges)) => return Ok(Step::Need(ranges)),
                Ok(Progress::Read { directory, next }) => {
                    self.done_with_front();
                    self.follow(directory, next);
                }
                Err(error) if self.directories.is_empty() => return Err(error),
                Err(error) => {
                    self.done_with_front();
                    let message = format!("skipped with what follows it: {error}");
                    self.warnings.push(Warning::new("broken-directory", place_of(offset), message));
                }
            }
        }
        Ok(Step::Done(Tiff {
            header,
            file_len: self.file_len,
            directories: std::mem::take(&mut self.directories),
            warnings: std::mem::take(&mut self.warnings),
        }))
    }

    fn done_with_front(&mut self) {
        if self.chain.pop_front().is_none() {
            self.subs.pop_front();
        }
    }

    /// Keeps a directory and queues the directories it points to.
    fn follow(&mut self, directory: Directory, next: u64) {
        let parent = self.directories.len();
        match directory.each_integer(Tag::SubIFDs) {
            Ok(subs) => {
                for offset in subs {
                    if self.full {
                        break;
                    }
                    self.enqueue(offset, Origin::Sub { parent });
                }
            }
            Err(error) => {
                let message = format!("ignored: {error}");
                self.warnings.push(Warning::new("unusable-tag", place_of(directory.offset), message));
            }
        }
        let origin = directory.origin;
        self.directories.push(directory);
        if let Origin::Chain(position) = origin
            && next != 0
        {
            self.enqueue(next, Origin::Chain(position + 1));
        }
    }

    fn enqueue(&mut self, offset: u64, origin: Origin) {
        if self.full {
            return;
        }
        if self.visited.contains(&offset) {
            let code = "directory-loop";
            let message = "pointed to more than once, followed once";
            self.warnings.push_with(code, || Warning::new(code, place_of(offset), message));
            return;
        }
        if self.visited.len() as u64 >= self.limits.directories {
            let limit = self.limits.directories;
            let message = format!("not read, nor any further one: over the limit of {limit} directories");
            self.warnings.push(Warning::new("too-many-directories", place_of(offset), message));
            self.full = true;
            return;
        }
        self.visited.insert(offset);
        match origin {
            Origin::Chain(_) => self.chain.push_back((offset, origin)),
            Origin::Sub { .. } => self.subs.push_back((offset, origin)),
        }
    }

    fn read_directory(&mut self, header: Header, offset: u64, origin: Origin) -> Result<Progress, TiffError> {
        let (order, variant) = (header.byte_order, header.variant);
        let place = place_of(offset);
        let outside = || {
            let problem = format!("outside the file of {} bytes", self.file_len);
            TiffError::invalid(place.clone(), problem)
        };
        let entries_at = offset.checked_add(variant.count_len()).filter(|&end| end <= self.file_len);
        let entries_at = entries_at.ok_or_else(outside)?;
        let Some(raw) = self.segments.get(&(offset..entries_at)) else {
            return Ok(Progress::Missing(vec![self.clamp(offset..offset.saturating_add(DIRECTORY_READ))]));
        };
        let count = match variant {
            Variant::Classic => order.u16(&raw, 0).map(u64::from),
            Variant::Big => order.u64(&raw, 0),
        };
        let count = count.ok_or_else(outside)?;
        if count == 0 {
            return Err(TiffError::invalid(place, "no entries"));
        }
        if count > self.limits.entries {
            let limit = self.limits.entries;
            return Err(TiffError::Limit { place, what: "number of entries", found: count, limit });
        }
        // Directories that do not overlap cannot have more entries than the file has room for.
        let limit = self.limits.total_entries.min(self.file_len / variant.entry_len());
        let found = self.entries.saturating_add(count);
        if found > limit {
            return Err(TiffError::Limit { place, what: "number of entries so far", found, limit });
        }
        let entries_end =
            entries_at.checked_add(count * variant.entry_len()).filter(|&end| end <= self.file_len);
        let entries_end = entries_end.ok_or_else(|| {
            let problem = format!("{count} entries do not fit into the file of {} bytes", self.file_len);
            TiffError::invalid(place.clone(), problem)
        })?;
        let with_next = entries_at..(entries_end + variant.offset_len()).min(self.file_len);
        let Some(raw) = self.segments.get(&with_next) else {
            return Ok(Progress::Missing(vec![with_next]));
        };
        let entries_len = usize::try_from(entries_end - entries_at).unwrap_or(raw.len());
        let (table, tail) = raw.split_at_checked(entries_len).ok_or_else(outside)?;
        let next = match variant {
            Variant::Classic => order.u32(tail, 0).map(u64::from),
            Variant::Big => order.u64(tail, 0),
        };
        let mut reading = EntryReader::new(self, header, &place);
        let entry_len = usize::try_from(variant.entry_len()).unwrap_or(12);
        let mut entries = Vec::with_capacity(table.len() / entry_len);
        for raw in table.chunks_exact(entry_len) {
            entries.extend(reading.entry(raw));
        }
        let EntryReader { missing, taken, mut warnings, .. } = reading;
        if !missing.is_empty() {
            return Ok(Progress::Missing(missing));
        }
        if next.is_none() {
            let message = "the file ends before the pointer to the next directory";
            warnings.push(Warning::new("no-next-pointer", &place, message));
        }
        let directory = Directory::new(offset, origin, order, entries, &mut warnings)?;
        self.value_bytes += taken;
        self.entries += count;
        self.warnings.append(warnings);
        Ok(Progress::Read { directory, next: next.unwrap_or(0) })
    }

    fn clamp(&self, range: Range<u64>) -> Range<u64> {
        range.start..range.end.min(self.file_len)
    }
}

/// Reads the entries of one directory, and collects the missing value ranges.
struct EntryReader<'a> {
    parser: &'a Parser,
    header: Header,
    place: &'a str,
    /// Memory left for the values of the file.
    room: u64,
    missing: Vec<Range<u64>>,
    /// Memory of the values of this directory.
    taken: u64,
    warnings: Warnings,
}

impl<'a> EntryReader<'a> {
    fn new(parser: &'a Parser, header: Header, place: &'a str) -> Self {
        let room = parser.limits.memory_for(parser.file_len);
        Self { parser, header, place, room, missing: Vec::new(), taken: 0, warnings: Warnings::new() }
    }

    /// Returns the entry, or `None` if it is unusable (with a warning) or its value is missing.
    fn entry(&mut self, raw: &[u8]) -> Option<Entry> {
        let (order, variant) = (self.header.byte_order, self.header.variant);
        let tag = Tag(order.u16(raw, 0)?);
        let type_code = order.u16(raw, 2)?;
        let (count, inline) = match variant {
            Variant::Classic => (u64::from(order.u32(raw, 4)?), raw.get(8..12)?),
            Variant::Big => (order.u64(raw, 4)?, raw.get(12..20)?),
        };
        let Some(field_type) = FieldType::from_code(type_code) else {
            self.ignore(tag, format!("unknown field type {type_code}"));
            return None;
        };
        let Some(len) = count.checked_mul(field_type.size()) else {
            self.ignore(tag, format!("{count} values of type {}", field_type.name()));
            return None;
        };
        if len <= variant.offset_len() {
            let data = ValueData::Here(inline.get(..usize::try_from(len).ok()?)?.to_vec());
            return Some(Entry { tag, field_type, count, data });
        }
        let at = match variant {
            Variant::Classic => u64::from(order.u32(inline, 0)?),
            Variant::Big => order.u64(inline, 0)?,
        };
        let Some(end) = at.checked_add(len).filter(|&end| end <= self.parser.file_len) else {
            let file_len = self.parser.file_len;
            self.ignore(
                tag,
                format!("value of {len} bytes at byte {at} is outside the file of {file_len} bytes"),
            );
            return None;
        };
        let data = self.value(tag, count, at..end)?;
        Some(Entry { tag, field_type, count, data })
    }

    fn value(&mut self, tag: Tag, count: u64, range: Range<u64>) -> Option<ValueData> {
        let limits = &self.parser.limits;
        let len = range.end - range.start;
        // Number of 64-bit integers made from each element besides its bytes: the table of an image, and sizes of
        // blocks that are estimated from offsets. A control point becomes a record with a name.
        let (is_block_table, integers) = match tag {
            Tag::StripOffsets | Tag::TileOffsets => (true, 2),
            Tag::StripByteCounts | Tag::TileByteCounts => (true, 1),
            Tag::SubIFDs => (false, 1),
            Tag::ModelTiepointTag => (false, 8),
            _ => (false, 0),
        };
        let takes = count.saturating_mul(8 * integers).saturating_add(len);
        let all = self.parser.value_bytes.saturating_add(self.taken).saturating_add(takes);
        // Tables of blocks can stay in the file, and leave room for values that cannot.
        let (eager, room) = match is_block_table {
            true => (limits.block_table_bytes, self.room / 2),
            false => (limits.value_bytes, self.room),
        };
        if len > eager || all > room {
            if len <= eager && !is_block_table {
                let message = format!("left in the file: values take over {room} bytes of memory");
                self.warnings.push(Warning::new(
                    "value-limit",
                    format!("{tag} of the {}", self.place),
                    message,
                ));
            }
            return Some(ValueData::There(range));
        }
        self.taken = self.taken.saturating_add(takes);
        match self.parser.segments.get(&range) {
            Some(bytes) => Some(ValueData::Here(bytes.into_owned())),
            None => {
                self.missing.push(range);
                None
            }
        }
    }

    fn ignore(&mut self, tag: Tag, why: String) {
        self.warnings.push(Warning::new(
            "unusable-tag",
            format!("{tag} of the {}", self.place),
            format!("ignored: {why}"),
        ));
    }
}
