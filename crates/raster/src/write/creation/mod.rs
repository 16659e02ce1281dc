//! GDAL's creation options by name: `COMPRESS=ZSTD`, `BLOCKSIZE=256`.
//!
//! Names and values are those of GDAL's GTiff and COG drivers, in any case. One table (`table`) has every name: it is
//! applied, or accepted for the only value that strile supports, or refused with the reason. No option is ignored. An
//! option that does not apply to the chosen codec, and options that contradict each other, are errors too, unless the
//! plan of the file reports them. GDAL's defaults do not apply: an option that is not given keeps the value of
//! `ConvertOptions`. The one exception is `COMPRESS=WEBP`, which is lossy by default as in GDAL.

mod draft;
mod table;
#[cfg(test)]
mod tests;

use super::options::Format;
use crate::convert::ConvertOptions;
use draft::Draft;
use std::num::NonZeroUsize;
use strile_tiff::InvalidValue;
use table::{Kind, TABLE};

/// Settings of creation options that are not part of `ConvertOptions`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreationNotes {
    /// Requested number of threads: `NUM_THREADS`.
    pub threads: Option<NonZeroUsize>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// Names of the profiles of rio-cogeo: tiles of 512 × 512 pixels, interleaved by pixel, with this compression.
pub const PROFILES: [&str; 11] = [
    "deflate",
    "zstd",
    "lzw",
    "jpeg",
    "webp",
    "lerc",
    "lerc_deflate",
    "lerc_zstd",
    "packbits",
    "lzma",
    "raw",
];

impl ConvertOptions {
    /// Applies creation options, given as names and values. Set `write.format` first.
    ///
    /// The error names the option, the problem and the supported values.
    pub fn set_creation_options<K: AsRef<str>, V: AsRef<str>>(
        &mut self,
        given: &[(K, V)],
    ) -> Result<CreationNotes, InvalidValue> {
        let mut upper: Vec<(String, &str)> = Vec::new();
        for (name, value) in given {
            let (name, value) = (name.as_ref().trim().to_ascii_uppercase(), value.as_ref().trim());
            match upper.iter().find(|(other, _)| *other == name) {
                Some((_, other)) if !other.eq_ignore_ascii_case(value) => {
                    return Err(format!("{name} is given twice, as `{other}` and as `{value}`").into());
                }
                Some(_) => {}
                None => upper.push((name, value)),
            }
        }
        let mut draft = Draft::default();
        for (name, value) in &upper {
            let wrong = |problem: String| format!("{name}={value}: {problem}");
            match kind_of(name)? {
                Kind::Set(set) => set(&mut draft, value).map_err(wrong)?,
                Kind::Only(values, why) => {
                    if !values.iter().any(|only| only.eq_ignore_ascii_case(value)) {
                        return Err(wrong(format!("{why}; expected {}", values.join(" or "))).into());
                    }
                }
                Kind::Refused(why) => return Err(wrong((*why).to_owned()).into()),
            }
        }
        Ok(draft.apply(self)?)
    }

    /// Applies a profile of rio-cogeo: a cloud-optimized file. Creation options that follow may change its tiles and
    /// codec.
    pub fn set_profile(&mut self, name: &str) -> Result<(), InvalidValue> {
        let name = name.to_ascii_lowercase();
        if !PROFILES.contains(&name.as_str()) {
            return Err(format!("unknown profile `{name}`; expected one of {}", PROFILES.join(", ")).into());
        }
        self.write.format = Format::Cog;
        let compress = if name == "raw" { "none" } else { name.as_str() };
        let given = [("COMPRESS", compress), ("BLOCKSIZE", "512"), ("INTERLEAVE", "PIXEL")];
        self.set_creation_options(&given).map(drop)
    }
}

fn kind_of(name: &str) -> Result<&'static Kind, String> {
    if let Some((_, kind)) = TABLE.iter().find(|(known, _)| *known == name) {
        return Ok(kind);
    }
    let mut names: Vec<&str> =
        TABLE.iter().filter(|(_, kind)| matches!(kind, Kind::Set(_))).map(|(name, _)| *name).collect();
    names.sort_unstable();
    Err(format!("unknown creation option `{name}`; expected one of {}", names.join(", ")))
}
