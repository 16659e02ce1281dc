//! What is fuzzed.

mod codec;
mod convert;
mod file;
mod text;
mod vrt;

use codec::CodecTarget;
use convert::ConvertTarget;
use file::{BUDGET, FileTarget, Through};
use text::TextTarget;
use vrt::VrtTarget;

/// What became of one mutant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// It got past headers to what the target is about.
    pub reached: bool,
    /// The kind of error or fault it ended in.
    pub refused: Option<&'static str>,
    /// It was read, and wrongly.
    pub wrong: Option<String>,
}

/// One thing to fuzz, with its seeds.
pub enum Target {
    /// Opening a file.
    Parser(FileTarget),
    /// Opening a file and reading all its pixels.
    Read(FileTarget),
    /// Writing a file anew.
    Convert(ConvertTarget),
    /// Opening and reading a mosaic.
    Vrt(VrtTarget),
    /// Texts in tags and sidecars.
    Text(TextTarget),
    /// One decoder.
    Codec(CodecTarget),
}

/// Every target, parser first.
pub fn all() -> Vec<Target> {
    let fixtures = testkit::fixtures();
    let codecs = CodecTarget::all(&fixtures);
    let mut all = vec![
        Target::Parser(FileTarget::new(fixtures.clone(), Through::Open)),
        Target::Text(TextTarget::new()),
        Target::Vrt(VrtTarget::new()),
        Target::Read(FileTarget::new(fixtures.clone(), Through::Read)),
        Target::Convert(ConvertTarget::new(fixtures)),
    ];
    all.extend(codecs.into_iter().map(Target::Codec));
    all
}

impl Target {
    /// `parser`, `text`, `vrt`, `read`, `convert`, or a codec's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Parser(_) => "parser",
            Self::Read(_) => "read",
            Self::Convert(_) => "convert",
            Self::Vrt(_) => "vrt",
            Self::Text(_) => "text",
            Self::Codec(codec) => codec.name(),
        }
    }

    /// True for a decoder.
    pub fn is_codec(&self) -> bool {
        matches!(self, Self::Codec(_))
    }

    /// A mutant by its number: the seed it came from and its bytes.
    pub(crate) fn mutant(&self, number: u64) -> (usize, Vec<u8>) {
        match self {
            Self::Parser(files) | Self::Read(files) => files.mutant(number),
            Self::Convert(files) => files.mutant(number),
            Self::Vrt(texts) => texts.mutant(number),
            Self::Text(texts) => texts.mutant(number),
            Self::Codec(codec) => codec.mutant(number),
        }
    }

    pub(crate) fn try_one(&self, seed: usize, number: u64, bytes: &[u8]) -> Outcome {
        match self {
            Self::Parser(files) | Self::Read(files) => files.try_one(bytes),
            Self::Convert(files) => files.try_one(number, bytes),
            Self::Vrt(texts) => texts.try_one(bytes),
            Self::Text(texts) => texts.try_one(seed, bytes),
            Self::Codec(codec) => codec.try_one(seed, number, bytes),
        }
    }

    /// Bytes that a mutant of a seed may take.
    pub(crate) fn memory_limit(&self, seed: usize) -> usize {
        match self {
            // The most samples a pixel can have, each with facts of its own, come to 16 MiB.
            Self::Parser(_) | Self::Text(_) => 32 << 20,
            Self::Read(files) => files.memory_limit(),
            Self::Convert(files) => files.memory_limit(),
            Self::Vrt(_) => BUDGET as usize,
            Self::Codec(codec) => codec.memory_limit(seed),
        }
    }

    pub(crate) fn seed_name(&self, seed: usize) -> String {
        match self {
            Self::Parser(files) | Self::Read(files) => files.seed_name(seed),
            Self::Convert(files) => files.seed_name(seed),
            Self::Vrt(texts) => texts.seed_name(seed),
            Self::Text(texts) => texts.seed_name(seed),
            Self::Codec(codec) => codec.seed_name(seed),
        }
    }

    pub(crate) fn seed_by_name(&self, name: &str) -> Option<usize> {
        (0..self.seeds()).find(|&seed| self.seed_name(seed) == name)
    }

    fn seeds(&self) -> usize {
        match self {
            Self::Parser(files) | Self::Read(files) => files.seeds(),
            Self::Convert(files) => files.seeds(),
            Self::Vrt(texts) => texts.seeds(),
            Self::Text(texts) => texts.seeds(),
            Self::Codec(codec) => codec.seeds(),
        }
    }
}
