//! JPEG 2000 on the emulated device: what OpenJPEG wrote gives what the CPU engine gives, to the bit.
#![allow(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test; small numbers made here"
)]

mod jpeg2000_batch;

use jpeg2000_batch::{Stream, decode, fixture, on_the_host};

fn same_as_the_host(streams: &[Stream], seed: u64) {
    for (index, (made, stream)) in decode(streams, seed).into_iter().zip(streams).enumerate() {
        let (status, samples) = made.unwrap_or_else(|fault| panic!("stream {index}: {fault}"));
        assert_eq!(status, 0, "stream {index}");
        let host = on_the_host(stream).unwrap();
        let wrong = samples.iter().zip(&host).position(|(a, b)| a != b);
        assert_eq!((wrong, samples.len()), (None, host.len()), "stream {index}");
    }
}

#[test]
fn streams_of_openjpeg() {
    for name in ["tiny", "wide", "bypass", "termall", "all_styles", "layers_sop", "rlcp", "sparse", "parts"] {
        println!("{name}");
        same_as_the_host(&[Stream::read(&fixture(name))], 1);
    }
}
