//! Writes encoded blocks to the file: directly to the sink, or via the spool.
//!
//! The full image is written directly if the sink can patch earlier bytes at the end: in a plain file immediately, in a
//! cloud-optimized one after its overviews (`place_overviews`), or with them if they come in the order of the file
//! (`expect_in_order`). Everything else is spooled until every size is known. Blocks that are written directly must
//! come in the order of the file; those that come slightly early wait in memory.

use super::cells::refused;
use super::flow::Taker;
use super::held::{Held, Kept};
use super::index::LevelIndex;
use super::options::{Format, WriteOptions};
use super::parts::{PartFile, PartFiles, PartRecord};
use super::plan::{Appended, FullImage, WritePlan};
use super::run::Run;
use crate::error::{Error, Result};
use crate::sink::{BUFFER, Sink};
use crate::spool::Spool;
use std::collections::BTreeMap;
use std::path::Path;
use strile_engine::{BlockAddress, Cancel, EncodedBlocks, Lease, Location};
use strile_tiff::layout::{LEADER, NewGhostArea, TRAILER, place_directories};
use strile_tiff::{BlockSpans, NewDirectory, PastClassic, Planar, Variant};

/// One encoded block.
pub(crate) struct Arrived<'a> {
    pub(crate) address: BlockAddress,
    pub(crate) is_mask: bool,
    /// `None` for a sparse block.
    pub(crate) bytes: Option<&'a [u8]>,
}

/// Sizes after the file was written.
pub(crate) struct Stored {
    pub(crate) file_len: u64,
    pub(crate) spooled: u64,
}

/// Stores encoded blocks and writes the file around them.
pub(crate) struct Store {
    sink: Box<dyn Sink>,
    kept: Option<Kept>,
    spool_dir: Option<std::path::PathBuf>,
    format: Format,
    form: strile_tiff::FileForm,
    planar: Planar,
    /// Per level of the plan; `None` for one that is not in the file.
    levels: Vec<Option<LevelIndex>>,
    /// Per level whose blocks are written directly: the number of such blocks in the file before its own.
    straight: Vec<Option<u64>>,
    /// The directories of a file whose overviews must be placed before the first block of its full image.
    overviews_first: Option<Vec<(NewDirectory, Option<NewDirectory>)>>,
    appended: Option<Appended>,
    /// Bytes that went through a spool that no longer exists.
    spooled: u64,
    /// Bytes of encoded blocks that may wait in memory before a spool is created, and their lease.
    room: Option<(u64, Lease)>,
    /// Bytes passed to the sink, and those that were in the file before.
    written: u64,
    early: Early,
}

/// Blocks that came early, by their place among all that are written directly.
struct Early {
    next: u64,
    waiting: BTreeMap<u64, Waiting>,
    bytes: u64,
    limit: u64,
}

/// An early block: its level, its number there and its bytes; no bytes if it is sparse.
struct Waiting {
    level: usize,
    number: u64,
    bytes: Option<Vec<u8>>,
}

impl Store {
    pub(crate) fn new(sink: Box<dyn Sink>, plan: &WritePlan, options: &WriteOptions) -> Result<Self> {
        let (elsewhere, appended) = match plan.full {
            FullImage::Elsewhere(appended) => (true, appended),
            FullImage::Encoded | FullImage::Adopted(_) => (false, None),
        };
        let straight = plan.format == Format::GeoTiff && !options.spooled && !elsewhere && sink.can_patch();
        let mut store = Self {
            sink,
            kept: None,
            spool_dir: options.spool_dir.clone(),
            format: plan.format,
            form: plan.form,
            planar: plan.planar,
            levels: plan.levels.iter().map(LevelIndex::new).collect(),
            straight: straight.then_some(Some(0)).into_iter().collect(),
            overviews_first: None,
            appended,
            spooled: 0,
            room: None,
            written: appended.map_or(0, |appended| appended.at),
            early: Early { next: 0, waiting: BTreeMap::new(), bytes: 0, limit: options.room(Location::Host) },
        };
        if straight {
            // The position of the first directory is not known yet.
            let header = store.form.header(0).map_err(past_classic)?;
            store.append(&header)?;
        }
        Ok(store)
    }

    /// Creates a store whose blocks are all in parts; see `adopt`.
    pub(crate) fn of_parts(
        sink: Box<dyn Sink>,
        plan: &WritePlan,
        options: &WriteOptions,
        cancel: &Cancel,
    ) -> Result<Self> {
        let options = WriteOptions { spooled: true, ..options.clone() };
        let kept = Some(Kept::Parts(PartFiles::new(cancel.clone())));
        Ok(Self { kept, ..Self::new(sink, plan, &options)? })
    }

    /// Takes the blocks of a part, given by their records in it.
    pub(crate) fn adopt(
        &mut self,
        part: PartFile,
        records: impl Iterator<Item = Result<PartRecord>>,
    ) -> Result<()> {
        let Some(Kept::Parts(parts)) = &mut self.kept else { return Err(wrong()) };
        let start = parts.add(part);
        for record in records {
            let PartRecord { address, is_mask, offset, size } = record?;
            let level = address.level as usize;
            let number = self.index(level)?.number(address, is_mask);
            let position = if size == 0 { 0 } else { start + offset };
            self.set(level, number, position, size)?;
        }
        Ok(())
    }

    pub(crate) fn into_sink(self) -> Box<dyn Sink> {
        self.sink
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.sink.append(bytes).map_err(|error| Error::io(Path::new(self.sink.name()), error))?;
        self.count(bytes.len() as u64)
    }

    /// Counts bytes that were passed to the sink.
    fn count(&mut self, bytes: u64) -> Result<()> {
        self.written += bytes;
        if self.form.variant == Variant::Classic && self.written > u64::from(u32::MAX) {
            return Err(past_classic(PastClassic { offset: self.written }));
        }
        Ok(())
    }

    /// Lets encoded blocks of this many bytes wait in memory before a spool is created.
    pub(crate) fn hold(&mut self, bytes: u64, lease: Lease) {
        self.room = Some((bytes.max(BUFFER as u64), lease));
    }

    /// Returns whether the overviews of a cloud-optimized file can be placed before its full image arrives: the bytes
    /// before them are patched at the end, so their length must be known.
    pub(crate) fn takes_overviews_first(&self, plan: &WritePlan) -> bool {
        let levels = || plan.levels.iter();
        let masked = levels().any(|level| level.mask.is_some());
        let sparse = levels().any(|level| level.image.sparse.is_some());
        let known = match plan.full {
            FullImage::Encoded => !(masked && sparse),
            // Copied blocks come without the mask's between them.
            FullImage::Adopted(_) => !masked,
            FullImage::Elsewhere(_) => false,
        };
        self.format == Format::Cog && known && self.sink.can_patch()
    }

    /// Declares that blocks of the full image of a cloud-optimized file come next, after the last of its overviews.
    pub(crate) fn expect_image(&mut self, directories: Vec<(NewDirectory, Option<NewDirectory>)>) {
        self.overviews_first = Some(directories);
    }

    /// Declares that all blocks of a cloud-optimized file come in its order from now on, the smallest overview first,
    /// so that none of them has to wait.
    pub(crate) fn expect_in_order(
        &mut self,
        directories: &[(NewDirectory, Option<NewDirectory>)],
    ) -> Result<()> {
        self.leave_room(directories)?;
        self.room = None;
        let mut before = 0;
        self.straight = vec![None; self.levels.len()];
        for (straight, level) in self.straight.iter_mut().zip(&self.levels).rev() {
            let Some(level) = level else { continue };
            *straight = Some(before);
            before += level.count();
        }
        Ok(())
    }

    /// Leaves room for the directories of a cloud-optimized file, which are patched at the end.
    fn leave_room(&mut self, directories: &[(NewDirectory, Option<NewDirectory>)]) -> Result<()> {
        let follow = self.levels.iter().flatten().all(LevelIndex::masks_may_follow);
        let mut left = self.head_len(self.ghost(follow), directories);
        let zeros = vec![0; usize::try_from(left).unwrap_or(BUFFER).min(BUFFER)];
        while left > 0 {
            let count = usize::try_from(left).unwrap_or(BUFFER).min(zeros.len());
            self.append(zeros.get(..count).unwrap_or_default())?;
            left -= count as u64;
        }
        Ok(())
    }

    /// Returns the number of directly written blocks before the first of a level; `None` for a level that is spooled.
    fn straight(&self, level: usize) -> Option<u64> {
        self.straight.get(level).copied().flatten()
    }

    /// Places the overviews, all of which have arrived, behind room for the directories of a cloud-optimized file, if
    /// this has not been done yet. From then on the full image is written directly.
    fn place_overviews(&mut self) -> Result<()> {
        let Some(directories) = self.overviews_first.take() else { return Ok(()) };
        let missing: usize = self.levels.iter().skip(1).flatten().map(LevelIndex::missing).sum();
        if missing > 0 {
            return Err(refused(format!("{missing} blocks of overviews were never encoded")));
        }
        self.leave_room(&directories)?;
        for level in (1..self.levels.len()).rev() {
            self.copy_level(level, LEADER + TRAILER)?;
        }
        self.spooled = self.kept.take().map_or(0, |kept| kept.len());
        self.room = None;
        self.straight = vec![Some(0)];
        Ok(())
    }

    /// Takes the blocks of a batch. Consecutive blocks with the same destination are written at once.
    fn put_batch(&mut self, encoded: EncodedBlocks) -> Result<()> {
        if encoded.blocks.iter().any(|block| block.address.level == 0) {
            self.place_overviews()?;
        }
        let (mut straight, mut spooled) = (Run::new(self.format), Run::new(self.format));
        let waits = self.kept.as_ref().map_or(0, Kept::len);
        for block in &encoded.blocks {
            let (address, is_mask) = (block.address, block.layout % 2 == 1);
            let level = address.level as usize;
            let number = self.index(level)?.number(address, is_mask);
            let turn = self.straight(level).map(|before| before + number);
            let to_sink = turn.is_some();
            if to_sink && (turn != Some(self.early.next) || !self.early.waiting.is_empty()) {
                self.append_run(&mut straight, &encoded)?;
                let bytes = block.span.map(|_| encoded.bytes(block));
                self.put(&Arrived { address, is_mask, bytes })?;
                continue;
            }
            let (run, start) = if to_sink { (&mut straight, self.written) } else { (&mut spooled, waits) };
            let position = match block.span {
                None if to_sink => start + run.len(),
                None => 0,
                Some(span) => start + run.add(span, &encoded).ok_or_else(wrong)?,
            };
            let size = u32::try_from(block.span.map_or(0, |span| span.len)).map_err(|_| wrong())?;
            self.set(level, number, position, size)?;
            self.early.next += u64::from(to_sink);
        }
        self.append_run(&mut straight, &encoded)?;
        if spooled.is_empty() {
            return Ok(());
        }
        if let Some(held) = self.held(&encoded) {
            held.add(spooled, encoded);
            return Ok(());
        }
        let parts = spooled.parts(&encoded).ok_or_else(wrong)?;
        let spool = self.spool()?;
        spool.append_all(&parts).map(drop).map_err(|error| Error::io(spool.folder(), error))
    }

    /// Returns the batches that wait in memory, if one more may.
    fn held(&mut self, encoded: &EncodedBlocks) -> Option<&mut Held> {
        let (room, _) = self.room.as_ref()?;
        match self.kept.get_or_insert_with(|| Kept::Held(Held::default())) {
            Kept::Held(held) if held.bytes_with(encoded) <= *room => Some(held),
            _ => None,
        }
    }

    /// Writes the collected bytes to the sink, if there are any.
    fn append_run(&mut self, run: &mut Run, encoded: &EncodedBlocks) -> Result<()> {
        let parts = run.parts(encoded).ok_or_else(wrong)?;
        self.sink.append_all(&parts).map_err(|error| Error::io(Path::new(self.sink.name()), error))?;
        let len = run.len();
        drop(parts);
        run.clear();
        self.count(len)
    }

    /// Takes a block.
    pub(crate) fn put(&mut self, block: &Arrived<'_>) -> Result<()> {
        let level = block.address.level as usize;
        if level == 0 {
            self.place_overviews()?;
        }
        let number = self.index(level)?.number(block.address, block.is_mask);
        if let Some(before) = self.straight(level) {
            return self.put_straight(before + number, (level, number), block.bytes);
        }
        let Some(bytes) = block.bytes else {
            return self.set(level, number, 0, 0);
        };
        let size = u32::try_from(bytes.len()).map_err(|_| wrong())?;
        let (leader, trailer) = self.around(bytes)?;
        let spool = self.spool()?;
        let position = spool.len();
        spool
            .append_all(&[leader.as_slice(), bytes, trailer.as_slice()])
            .map_err(|error| Error::io(spool.folder(), error))?;
        self.set(level, number, position, size)
    }

    /// Returns the bytes before and after a block in the file.
    fn around(&self, bytes: &[u8]) -> Result<(Vec<u8>, Vec<u8>)> {
        let size = u32::try_from(bytes.len()).map_err(|_| wrong())?;
        Ok(match self.format {
            Format::GeoTiff => (Vec::new(), Vec::new()),
            Format::Cog => (size.to_le_bytes().to_vec(), trailer(bytes).to_vec()),
        })
    }

    fn index(&self, level: usize) -> Result<&LevelIndex> {
        self.levels.get(level).and_then(Option::as_ref).ok_or_else(wrong)
    }

    fn set(&mut self, level: usize, number: u64, position: u64, size: u32) -> Result<()> {
        let index = self.levels.get_mut(level).and_then(Option::as_mut);
        index.and_then(|index| index.set(number, position, size)).ok_or_else(wrong)
    }

    /// Returns the spool, which begins with the blocks that waited in memory.
    fn spool(&mut self) -> Result<&mut Spool> {
        if matches!(self.kept, Some(Kept::Held(_)) | None) {
            let mut spool = Spool::create(self.spool_dir.as_deref(), self.sink.beside())?;
            if let Some(Kept::Held(held)) = &self.kept {
                held.each(|parts| {
                    spool.append_all(parts).map(drop).map_err(|error| Error::io(spool.folder(), error))
                })?;
            }
            (self.kept, self.room) = (Some(Kept::Spool(spool)), None);
        }
        match &mut self.kept {
            Some(Kept::Spool(spool)) => Ok(spool),
            Some(Kept::Parts(_) | Kept::Held(_)) | None => Err(wrong()),
        }
    }

    fn put_straight(&mut self, turn: u64, (level, number): (usize, u64), bytes: Option<&[u8]>) -> Result<()> {
        if turn != self.early.next {
            self.early.bytes += bytes.map_or(0, |bytes| bytes.len() as u64);
            if self.early.bytes > self.early.limit {
                let problem = "pieces come too far out of row-major order for a file written straight; give them \
                               row by row of blocks, or set `spooled`";
                return Err(refused(problem.into()));
            }
            let bytes = bytes.map(<[u8]>::to_vec);
            self.early.waiting.insert(turn, Waiting { level, number, bytes });
            return Ok(());
        }
        self.put_next((level, number), bytes)?;
        while let Some(Waiting { level, number, bytes }) = self.early.waiting.remove(&self.early.next) {
            self.early.bytes -= bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
            self.put_next((level, number), bytes.as_deref())?;
        }
        Ok(())
    }

    fn put_next(&mut self, (level, number): (usize, u64), bytes: Option<&[u8]>) -> Result<()> {
        let position = self.written;
        self.early.next += 1;
        let size = match bytes {
            None => 0,
            Some(bytes) => {
                let (leader, trailer) = self.around(bytes)?;
                for part in [leader.as_slice(), bytes, trailer.as_slice()] {
                    self.append(part)?;
                }
                u32::try_from(bytes.len()).map_err(|_| wrong())?
            }
        };
        self.set(level, number, position, size)
    }

    pub(crate) fn takes_sidecars(&self) -> bool {
        self.sink.takes_sidecars()
    }

    /// Passes a sidecar to the sink, or warns that the sink cannot have one.
    pub(crate) fn sidecar(&mut self, suffix: &str, bytes: Vec<u8>, warnings: &mut Vec<String>) -> Result<()> {
        if !self.sink.takes_sidecars() {
            warnings.push(format!("no `{suffix}` beside {}: what it would say is lost", self.sink.name()));
            return Ok(());
        }
        self.sink.sidecar(suffix, bytes).map_err(|error| Error::io(Path::new(self.sink.name()), error))
    }

    /// Lays out the file and writes the remaining bytes to the sink. `directories` has, for each stored level, the
    /// directory of its image and that of its mask.
    pub(crate) fn finish(
        &mut self,
        directories: Vec<(NewDirectory, Option<NewDirectory>)>,
    ) -> Result<Stored> {
        let missing: usize = self.levels.iter().flatten().map(LevelIndex::missing).sum();
        if missing > 0 {
            return Err(refused(format!("{missing} blocks were never encoded")));
        }
        self.place_overviews()?;
        match self.format {
            Format::Cog => self.finish_cog(directories)?,
            Format::GeoTiff => self.finish_plain(directories)?,
        }
        let spooled = self.kept.as_ref().map_or(0, Kept::len) + self.spooled;
        Ok(Stored { file_len: self.written, spooled })
    }

    fn ghost(&self, masks_follow: bool) -> NewGhostArea {
        NewGhostArea { planar: self.planar, masks_follow: self.planar == Planar::Chunky && masks_follow }
    }

    /// Returns the bytes before the first block of a cloud-optimized file.
    fn head_len(&self, ghost: NewGhostArea, directories: &[(NewDirectory, Option<NewDirectory>)]) -> u64 {
        let all = directories.iter().flat_map(|(image, mask)| [Some(image), mask.as_ref()]).flatten();
        let len =
            |directory: &NewDirectory| self.form.directory_len(directory) + self.form.arrays_len(directory);
        ghost.first_directory(self.form) + all.map(len).sum::<u64>()
    }

    fn finish_cog(&mut self, directories: Vec<(NewDirectory, Option<NewDirectory>)>) -> Result<()> {
        // A promise is only made if it holds for every block: sparse ones may break it.
        let ghost = self.ghost(self.levels.iter().flatten().all(LevelIndex::masks_follow));
        let first = ghost.first_directory(self.form);
        let mut at = self.head_len(ghost, &directories);
        // The smallest overview first, the full image last.
        let mut tables = Vec::with_capacity(self.levels.len());
        for level in self.levels.iter().flatten().rev() {
            tables.push(level.spans(LEADER, |_, size| {
                let start = at;
                at += LEADER + u64::from(size) + TRAILER;
                start
            }));
        }
        tables.reverse();
        let placed =
            place_directories(self.form, &in_order(directories, tables), first, 0).map_err(past_classic)?;
        let mut head = self.form.header(first).map_err(past_classic)?;
        head.extend_from_slice(ghost.text().as_bytes());
        head.resize(usize::try_from(first).unwrap_or(usize::MAX), 0);
        head.extend_from_slice(&placed.bytes);
        if self.straight(0).is_some() {
            // The blocks are already there, at the positions in the tables.
            if at != self.written {
                return Err(refused(format!("expected a file of {at} bytes, got {}", self.written)));
            }
            let patched = self.sink.patch(0, &head);
            return patched.map_err(|error| Error::io(Path::new(self.sink.name()), error));
        }
        self.append(&head)?;
        for level in (0..self.levels.len()).rev() {
            self.copy_level(level, LEADER + TRAILER)?;
        }
        Ok(())
    }

    fn finish_plain(&mut self, directories: Vec<(NewDirectory, Option<NewDirectory>)>) -> Result<()> {
        let straight = self.straight(0).is_some();
        let begun = straight || self.appended.is_some();
        let mut at = if begun { self.written } else { self.form.header_len() };
        let mut tables = Vec::with_capacity(self.levels.len());
        for (index, level) in self.levels.iter().enumerate() {
            let Some(level) = level else { continue };
            let here = straight && index == 0;
            tables.push(level.spans(0, |position, size| {
                if here {
                    return position;
                }
                let start = at;
                at += u64::from(size);
                start
            }));
        }
        let first = at + at % 2;
        let header = self.form.header(first).map_err(past_classic)?;
        if !begun {
            self.append(&header)?;
        }
        for level in usize::from(straight)..self.levels.len() {
            self.copy_level(level, 0)?;
        }
        if self.written % 2 == 1 {
            self.append(&[0])?;
        }
        let then = self.appended.map_or(0, |appended| appended.then);
        let directories = in_order(directories, tables);
        let placed = place_directories(self.form, &directories, first, then).map_err(past_classic)?;
        self.append(&placed.bytes)?;
        let patched = match self.appended {
            None if straight => self.sink.patch(0, &header),
            None => Ok(()),
            Some(appended) => {
                let pointer = self.form.pointer(first).map_err(past_classic)?;
                self.sink.patch(appended.pointer, &pointer)
            }
        };
        patched.map_err(|error| Error::io(Path::new(self.sink.name()), error))
    }

    /// Copies the records of a level from where they wait, in as few runs as their order allows.
    fn copy_level(&mut self, level: usize, around: u64) -> Result<()> {
        let (Some(Some(index)), Some(kept)) = (self.levels.get(level), &mut self.kept) else { return Ok(()) };
        let (sink, written) = (&mut self.sink, &mut self.written);
        let mut copy = |run: std::ops::Range<u64>| {
            *written += run.end - run.start;
            kept.copy(run, sink.as_mut())
        };
        let mut run = 0..0;
        for (position, size) in index.records() {
            let end = position + u64::from(size) + around;
            if position == run.end {
                run.end = end;
            } else {
                if run.start < run.end {
                    copy(run)?;
                }
                run = position..end;
            }
        }
        if run.start < run.end { copy(run) } else { Ok(()) }
    }
}

impl Taker for Store {
    fn name(&self) -> &str {
        self.sink.name()
    }

    fn put_all(&mut self, encoded: EncodedBlocks) -> Result<()> {
        self.put_batch(encoded)
    }
}

/// Returns directories in the order of the chain: the full image and its mask, the overviews, their masks.
fn in_order(
    directories: Vec<(NewDirectory, Option<NewDirectory>)>,
    tables: Vec<(BlockSpans, BlockSpans)>,
) -> Vec<(NewDirectory, BlockSpans)> {
    let mut images = Vec::new();
    let mut masks = Vec::new();
    for ((image, mask), (image_spans, mask_spans)) in directories.into_iter().zip(tables) {
        images.push((image, image_spans));
        if let Some(mask) = mask {
            match images.len() {
                1 => images.push((mask, mask_spans)),
                _ => masks.push((mask, mask_spans)),
            }
        }
    }
    images.append(&mut masks);
    images
}

/// Returns the last four bytes of a block. A shorter block is preceded by zeros.
pub(crate) fn trailer(bytes: &[u8]) -> [u8; 4] {
    let mut last = [0; 4];
    for (to, from) in last.iter_mut().rev().zip(bytes.iter().rev()) {
        *to = *from;
    }
    last
}

fn wrong() -> Error {
    refused("a block that is not in the plan".into())
}

fn past_classic(error: PastClassic) -> Error {
    refused(format!("{error}; let the file be a BigTIFF (`big_tiff`, `BIGTIFF=YES`)"))
}
