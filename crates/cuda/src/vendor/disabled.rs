//! Libraries without the feature `vendor`: types without values, and refusals that say what to do.

use super::{Nvcomp, Shape};
use crate::abi::{DecodeArgs, DecodeBlock};
use crate::decode::batch::Item;
use crate::decode::codec::Kernel;
use crate::decode::run::Stop;
use crate::device::Device;
use crate::encode::abi::EncodeArgs;
use crate::encode::plan::How;
use crate::stream::Stream;
use std::convert::Infallible;
use std::sync::Arc;
use strile_engine::{BlockLayout, EncodeLayout};

fn refusal(name: &str) -> String {
    format!(
        "this build of strile has no {name}: build it with the feature `vendor`, or do not ask for {name}"
    )
}

/// The encoders of libraries: there are none.
#[derive(Debug, Default)]
pub(crate) struct Encoders;

impl Encoders {
    pub(crate) fn how(
        &self,
        _device: &Arc<Device>,
        (name, _effort): (&str, u8),
        _layout: &EncodeLayout,
    ) -> Result<How, String> {
        Err(refusal(name))
    }

    pub(crate) fn name(&self, _device: &Arc<Device>, (name, _effort): (&str, u8)) -> String {
        refusal(name)
    }

    pub(crate) fn pictures(&self, _device: &Arc<Device>) -> Result<Arc<Pictures>, String> {
        Err(refusal(super::NVJPEG2000))
    }
}

/// Decoders of libraries.
#[derive(Debug, Clone)]
pub(crate) struct Decoders(Infallible);

impl Decoders {
    pub(crate) fn open(wanted: Nvcomp) -> Result<Option<Self>, String> {
        match wanted {
            Nvcomp::Off => Ok(None),
            Nvcomp::Trusted | Nvcomp::TrustedAlways => Err(refusal(super::NVCOMP)),
        }
    }

    pub(crate) fn takes(&self, _layout: &BlockLayout) -> Result<(&'static Kernel, String), String> {
        match self.0 {}
    }

    pub(crate) fn room(&self, _device: &Device, _items: &[Item]) -> Result<u64, Stop> {
        match self.0 {}
    }

    pub(crate) fn call(
        &self,
        _device: &Device,
        _blocks: (&Kernel, DecodeArgs, &[DecodeBlock]),
        _memory: (u64, u64),
    ) -> Result<Option<(Call, u64)>, Stop> {
        match self.0 {}
    }
}

/// The call that a batch makes for one codec.
#[derive(Debug)]
pub(crate) struct Call(Infallible);

impl Call {
    pub(crate) fn queue(&self, _decoders: &Decoders, _device: &Device, _stream: &Stream) -> Result<(), Stop> {
        match self.0 {}
    }
}

/// A compressor of a library.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compressor(Infallible);

impl Compressor {
    pub(crate) fn slot(&self) -> usize {
        match self.0 {}
    }

    pub(crate) fn lead(&self) -> u32 {
        match self.0 {}
    }

    pub(crate) fn memory(&self, _shape: Shape) -> Result<u64, String> {
        match self.0 {}
    }
}

/// The call that a batch makes for one compressor.
#[derive(Debug)]
pub(crate) struct Compressing(Infallible);

impl Compressing {
    pub(crate) fn new(
        compressor: Compressor,
        _encode: EncodeArgs,
        _shape: Shape,
        _at: u64,
    ) -> Result<(Self, u64), String> {
        match compressor.0 {}
    }

    pub(crate) fn queue(
        &self,
        _device: &Device,
        _stream: &Stream,
        _mark: impl FnMut(&'static str) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        match self.0 {}
    }
}

/// How pictures of a layout are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Recipe(Infallible);

/// Samples on the device, interleaved, row after row.
#[derive(Debug, Clone, Copy)]
#[expect(dead_code, reason = "no encoder reads them")]
pub(crate) struct Source {
    pub(crate) address: u64,
    pub(crate) rows: u32,
    pub(crate) recipe: Recipe,
}

/// The encoder of pictures of a device.
#[derive(Debug)]
pub(crate) struct Pictures(Infallible);

impl Pictures {
    /// # Safety
    /// None: there is no such encoder.
    #[expect(unsafe_code, reason = "the same signature as with libraries")]
    pub(crate) unsafe fn encode(&self, _sources: &[Source]) -> Result<Vec<Vec<u8>>, String> {
        match self.0 {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_refused_by_name_with_what_to_do() {
        assert!(Decoders::open(Nvcomp::Off).is_ok_and(|none| none.is_none()));
        for wanted in [Nvcomp::Trusted, Nvcomp::TrustedAlways] {
            let refused = Decoders::open(wanted).map(|_| ()).unwrap_err();
            assert_eq!(
                refused,
                "this build of strile has no nvcomp: build it with the feature `vendor`, or do not ask for nvcomp"
            );
        }
    }
}
