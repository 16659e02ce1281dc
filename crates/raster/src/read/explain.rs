//! Describes a plan in words.

use super::plan::{Fetch, MosaicFigures, PlanFigures, ReadPlan};
use super::reading::place_of;
use super::sheet::Sheet;
use crate::bytes::human;
use crate::device::Decode;
use std::fmt;
use strile_engine::{Convert, Location};
use strile_tiff::{Compression, DataType};

pub(super) fn count(n: usize, word: &str) -> String {
    format!("{n} {word}{}", if n == 1 { "" } else { "s" })
}

/// Formats a number with its noun.
fn count_of(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Returns a note about kernels that decode pictures.
fn of_pictures(codec: Compression) -> &'static str {
    match codec {
        Compression::Jpeg2000 | Compression::Jpeg2000YCbCr | Compression::Jpeg2000Rgb => {
            " of JPEG 2000, all code-blocks of a batch at once; its headers are read by CPU threads"
        }
        Compression::Jpeg => {
            " of JPEG, all pictures of a batch at once; their headers are read by CPU threads"
        }
        _ => "",
    }
}

/// Describes a conversion.
fn conversion(convert: &Convert, stored: DataType, target: DataType) -> String {
    let mut words = Vec::new();
    if let Some(nodata) = &convert.nodata {
        let [a, b, c, d, e, f, g, h, ..] = nodata.0;
        let value = match stored {
            DataType::U64 => u64::from_ne_bytes([a, b, c, d, e, f, g, h]).to_string(),
            DataType::I64 => i64::from_ne_bytes([a, b, c, d, e, f, g, h]).to_string(),
            _ => Convert::value_of(stored, nodata).map(|value| value.to_string()).unwrap_or_default(),
        };
        words.push(format!("nodata {value} to NaN"));
    }
    let Convert { scale, offset, .. } = *convert;
    if (scale, offset) != (1.0, 0.0) {
        let sign = if offset < 0.0 { '-' } else { '+' };
        words.push(format!("× {scale} {sign} {}", offset.abs()));
    }
    words.push(format!("to {target}"));
    words.join(", ")
}

impl ReadPlan {
    /// Describes how sources of mosaics are read.
    fn explain_mosaics(&self) -> Option<String> {
        let MosaicFigures { windows, tiles, gaps, blended, blended_on_host } = self.mosaics?;
        let mut words = Vec::new();
        if tiles > 0 || gaps > 0 || blended == 0 {
            let (tiles, gaps) = (count(tiles, "rectangle"), count(gaps, "gap"));
            words.push(format!("{tiles} of files, {gaps} filled"));
        }
        for (blended, place) in
            [(blended_on_host, Location::Host), (blended - blended_on_host, self.destination)]
        {
            if blended > 0 {
                words.push(format!("{} blended {}", count(blended, "source"), place_of(place)));
            }
        }
        let of = if self.planned.batch { format!("{}: ", count(windows, "window")) } else { String::new() };
        Some(format!("{of}{}", words.join("; ")))
    }

    /// Describes a batch.
    fn explain_batch(&self, figures: &PlanFigures, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [windows, bands, rows, columns] = self.shape;
        let (data_type, size) = (self.output.data_type, human(self.memory.output));
        let (windows, bands) = (count(windows as usize, "window"), count(bands as usize, "band"));
        writeln!(f, "{windows} × {bands} × {rows} × {columns} {data_type}, {size}")?;
        let (blocks, encoded) = (figures.blocks + figures.sparse, human(figures.encoded_bytes));
        writeln!(
            f,
            "{} ({encoded}) of {}, {}",
            count(blocks, "block"),
            count(self.files, "file"),
            count(self.filled, "filled part")
        )?;
        if figures.cached > 0 {
            let (blocks, bytes) = (count(figures.cached, "block"), human(figures.cached_bytes));
            writeln!(f, "cache    {blocks} found, {bytes} need not be read")?;
        }
        if let Some(words) = self.explain_mosaics() {
            writeln!(f, "mosaics  {words}")?;
        }
        write!(f, "by {}: {}", self.engine, self.engine_reason)?;
        if !self.planned.sheets.iter().any(|sheet| sheet.then.is_resampled()) {
            return Ok(());
        }
        write!(f, "\nresampled from")?;
        for (at, Sheet { windows, spec, .. }) in self.planned.sheets.iter().enumerate() {
            let (before, windows) = (if at == 0 { "" } else { "," }, windows.len());
            write!(f, "{before} {windows} × {} × {}", spec.rows, spec.columns)?;
        }
        Ok(())
    }
}

impl fmt::Debug for ReadPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadPlan {{\n{self}\n}}")
    }
}

impl fmt::Display for ReadPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures = self.figures();
        let Some(layout) = self.planned.layout() else { return Ok(()) };
        if self.planned.batch {
            return self.explain_batch(&figures, f);
        }
        let (width, height) = self.level_size;
        let level = match self.level {
            0 => format!("page {}, full size", self.page),
            level => format!("page {}, level {level}", self.page),
        };
        let level = match self.reduce {
            0 => level,
            1 => format!("{level} halved by leaving out 1 wavelet level"),
            n => format!("{level} halved {n} times by leaving out {n} wavelet levels"),
        };
        let kind = if layout.is_strip { "strip" } else { "tile" };
        let sparse = match figures.sparse {
            0 => String::new(),
            sparse => format!(", {sparse} more are sparse and filled"),
        };
        if let Some(onto) = &self.onto {
            writeln!(f, "{onto}")?;
            let (blocks, files) = (count(figures.blocks, "block"), count(self.files, "file"));
            writeln!(f, "blocks   {blocks} of {files}{sparse}")?;
        } else if let Some(words) = self.explain_mosaics() {
            writeln!(f, "read     mosaic of {width} × {height} pixels, window {}", self.window)?;
            writeln!(f, "mosaic   {words}")?;
            let (blocks, files) = (count(figures.blocks, "block"), count(self.files, "file"));
            writeln!(f, "blocks   {blocks} of {files}{sparse}")?;
        } else {
            writeln!(f, "read     {level}, {width} × {height} pixels, window {}", self.window)?;
            let (blocks, codec) = (count(figures.blocks, kind), layout.compression.name());
            writeln!(f, "blocks   {blocks} of {} × {}, {codec}{sparse}", layout.width, layout.height)?;
        }
        writeln!(
            f,
            "bytes    {} encoded, in {} of {}{}",
            human(figures.encoded_bytes),
            count(figures.ranges, "range"),
            human(figures.range_bytes),
            match (self.fetch, &self.decode) {
                (Fetch::Pulled, Decode::Cpu) => ", one per block",
                _ => " after merging",
            },
        )?;
        if figures.cached > 0 {
            let (blocks, bytes) = (count(figures.cached, "block"), human(figures.cached_bytes));
            writeln!(f, "cache    {blocks} found, {bytes} need not be read")?;
        }
        let fetch = match self.fetch {
            Fetch::Pulled if self.decode == Decode::Cpu => "read by the decoding threads".to_owned(),
            Fetch::Pulled => {
                let batches = count_of(figures.engine_batches, "batch", "batches");
                format!("read by the engine's threads in {batches}, ahead of decoding")
            }
            Fetch::Direct => format!("read by cuFile into the memory of {}", self.engine),
            Fetch::Staged if figures.batches == 1 => "staged in 1 batch".to_owned(),
            Fetch::Staged => format!("staged in {} batches, two in flight", figures.batches),
        };
        writeln!(f, "fetch    {fetch}")?;
        if self.planned.sources.iter().any(|source| source.local().is_none()) {
            let (requests, bytes) = (count(figures.requests, "request"), human(figures.request_bytes));
            writeln!(f, "remote   {requests} for {bytes}")?;
        }
        writeln!(f, "engine   {} ({})", self.engine, self.engine_reason)?;
        if let Some(judged) = &self.judged {
            writeln!(f, "costs    constants: {}", judged.constants)?;
        }
        match &self.decode {
            Decode::Cpu => {}
            Decode::Kernels => writeln!(
                f,
                "decode   on {} by kernels{}; blocks a kernel refuses are decided by the CPU engine",
                self.engine,
                of_pictures(layout.compression),
            )?,
            Decode::Library { reason, .. } => writeln!(
                f,
                "decode   on {} by {reason}; blocks it does not take are decided by the CPU engine",
                self.engine
            )?,
            Decode::Host(reason) => writeln!(f, "decode   on the host ({reason}), then one copy a batch")?,
        }
        for note in &self.notes {
            writeln!(f, "note     {note}")?;
        }
        if let Some(convert) = &self.convert {
            let words = conversion(convert, self.stored, self.output.data_type);
            writeln!(f, "convert  {words}")?;
        }
        if let Some(by) = &self.masked_by {
            writeln!(f, "mask     by {by}, missing pixels to NaN")?;
        }
        if !self.after.is_empty() {
            writeln!(f, "after    {}", self.after.join(", then "))?;
        }
        writeln!(
            f,
            "output   {} × {} × {} {}, {}{}",
            count(self.output.bands as usize, "band"),
            self.output.rows,
            self.output.columns,
            self.output.data_type,
            human(self.memory.output),
            match self.destination {
                Location::Host => String::new(),
                place => format!(", in {place}"),
            },
        )?;
        if self.decode == Decode::Cpu {
            return write!(
                f,
                "memory   up to {}: {} + {} per thread + {} staging",
                human(self.memory.host),
                human(self.memory.output),
                human(self.memory.scratch_per_thread),
                human(self.memory.staging),
            );
        }
        write!(
            f,
            "memory   up to {} on the host, {} of it staging; up to {} on the device",
            human(self.memory.host),
            human(self.memory.staging),
            human(self.memory.device),
        )
    }
}
