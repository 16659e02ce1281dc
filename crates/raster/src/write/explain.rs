//! Describes a write plan in words.

use super::options::Format;
use super::plan::WritePlan;
use crate::bytes::human;
use std::fmt;
use strile_tiff::{BlockKind, ByteOrder, Planar, Predictor, Variant};

impl fmt::Display for WritePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (engine, reason, encoder) = &self.engine;
        let format = match self.format {
            Format::GeoTiff => "GeoTIFF",
            Format::Cog => "cloud-optimized GeoTIFF",
        };
        let variant = match self.form.variant {
            Variant::Classic => "classic TIFF",
            Variant::Big => "BigTIFF",
        };
        let order = match self.form.byte_order {
            ByteOrder::Little => "little-endian",
            ByteOrder::Big => "big-endian",
        };
        writeln!(f, "write   {format}, {variant}, {order}, at most {}", human(self.bound))?;
        writeln!(f, "engine  {engine}: {reason}; encoder {encoder}")?;
        if self.levels.len() > 1 {
            writeln!(f, "reduce  {}, each level from the one above", self.resampling.name())?;
        }
        let mut overviews = 0;
        for (index, level) in self.levels.iter().enumerate() {
            if index > 0 && !level.stored {
                writeln!(
                    f,
                    "halved  {} × {}, for the next level alone: not stored",
                    level.width, level.height
                )?;
                continue;
            }
            // Numbered as readers of the file count them.
            let name = if index == 0 { "image".to_owned() } else { format!("level {overviews}") };
            overviews += 1;
            let layout = &level.image.block;
            let blocks = u64::from(level.grid.across) * u64::from(level.grid.down);
            let kind = match (level.grid.kind, blocks) {
                (BlockKind::Tile, 1) => "tile",
                (BlockKind::Tile, _) => "tiles",
                (BlockKind::Strip, 1) => "strip",
                (BlockKind::Strip, _) => "strips",
            };
            let predictor = match layout.predictor {
                Predictor::None => "no predictor",
                Predictor::Horizontal => "predictor 2",
                Predictor::FloatingPoint => "predictor 3",
            };
            let planar = match self.planar {
                Planar::Chunky => "pixel",
                Planar::Separate => "band",
            };
            let mask = if level.mask.is_some() { ", mask" } else { "" };
            writeln!(
                f,
                "{name:<7} {} × {} in {blocks} {kind} of {} × {}, {}, {predictor}, interleave {planar}{mask}",
                level.width,
                level.height,
                layout.width,
                layout.height,
                layout.compression.name(),
            )?;
            if let Some(reason) = &level.by_host {
                writeln!(f, "        encoded by the CPU: {reason}")?;
            }
        }
        Ok(())
    }
}
