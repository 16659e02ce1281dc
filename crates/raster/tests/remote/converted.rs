//! Conversions of remote files: what is counted beforehand is what servers are asked.

use crate::{hasty, open, server};
use strile::convert::{Conversion, ConvertSize, Method, Rescale, Side};
use strile::io::MemorySink;
use strile::tiff::{Compression, DataType};
use strile::vrt::VrtOptions;
use strile::write::Format;
use strile::{Context, ConvertOptions, Input, OpenOptions, Window};
use testkit::RangeServer;

/// Converts, and compares requests and bytes with what was counted. Returns their number.
fn counted(input: &Input, server: &RangeServer, options: &ConvertOptions) -> usize {
    let context = Context::default();
    let plan = || Conversion::plan(input, Box::new(MemorySink::new()), options, &context).unwrap();
    server.counts();
    let requests = plan().requests(&context).unwrap().unwrap();
    assert_eq!(server.counts().requests, 0, "counting asks for nothing");
    plan().run(&context).unwrap();
    let counts = server.counts();
    assert_eq!((requests.count, requests.bytes), (counts.requests, counts.bytes), "{options:#?}");
    assert!(!requests.is_least);
    requests.count
}

#[test]
fn a_conversion_counts_what_is_asked() {
    let (server, _) = server(1024);
    let remote = hasty().merge_gap(Some(4096));
    let input = Input::Tiff(Box::new(open(&server.url("a.tif"), remote).unwrap()));
    let copied = ConvertOptions::default();
    let mut cog = ConvertOptions::default();
    cog.write.format = Format::Cog;
    let mut encoded = ConvertOptions::default();
    encoded.write.compression = Compression::Deflate;
    let mut part = ConvertOptions::default();
    part.read.place.window = Some(Window::new(500, 300, 200, 400));
    let smaller = |resampling| {
        ConvertOptions::new().size(ConvertSize::Sides(Side::Percent(30.0), Side::Auto)).resampling(resampling)
    };
    let scaled = ConvertOptions::new().rescale(vec![Rescale::default()]).data_type(DataType::U8);
    let whole = counted(&input, &server, &copied);
    assert!(whole >= 1);
    assert!(counted(&input, &server, &cog) >= whole);
    assert!(counted(&input, &server, &encoded) >= 1);
    assert!(counted(&input, &server, &part) >= 7, "a row of blocks each");
    for method in [Method::Nearest, Method::Average, Method::Cubic] {
        assert!(counted(&input, &server, &smaller(method)) >= 1);
    }
    // Once for the range of values, once for the pixels.
    assert_eq!(counted(&input, &server, &scaled), 2 * counted(&input, &server, &encoded));
}

/// More than a piece of pixels, and than a batch of blocks that are copied.
#[test]
fn a_large_conversion_counts_what_is_asked() {
    let (server, _) = server(4160);
    let input = Input::Tiff(Box::new(open(&server.url("a.tif"), hasty()).unwrap()));
    let mut encoded = ConvertOptions::default();
    encoded.write.compression = Compression::Lzw;
    assert!(counted(&input, &server, &ConvertOptions::default()) > 16);
    assert!(counted(&input, &server, &encoded) > 16);
}

#[test]
fn mosaics_and_local_files() {
    let (server, bytes) = server(512);
    let name = server.url("a.tif");
    let text = format!(
        "<VRTDataset rasterXSize=\"512\" rasterYSize=\"512\"><VRTRasterBand dataType=\"UInt16\"><SimpleSource>\
         <SourceFilename relativeToVRT=\"0\">{name}</SourceFilename><SourceBand>1</SourceBand></SimpleSource>\
         </VRTRasterBand></VRTDataset>"
    );
    let options = VrtOptions::new()
        .open(OpenOptions::new().sidecars(false).remote(hasty()))
        .allowed_hosts(vec!["127.0.0.1".to_owned()]);
    let vrt = strile::Vrt::from_text("m.vrt", &text, std::env::temp_dir(), &options).unwrap();
    let context = Context::default();
    let input = Input::Vrt(Box::new(vrt));
    // Opens the source.
    input.plan(&strile::ReadOptions::new(), &context).unwrap();
    assert_eq!(counted(&input, &server, &ConvertOptions::default()), 1);
    let source = strile::io::MemorySource::new("here", bytes);
    let here = strile::Dataset::from_source(std::sync::Arc::new(source), &OpenOptions::default()).unwrap();
    let here = Input::Tiff(Box::new(here));
    let plan =
        Conversion::plan(&here, Box::new(MemorySink::new()), &ConvertOptions::default(), &context).unwrap();
    assert_eq!(plan.requests(&context).unwrap(), None);
}
