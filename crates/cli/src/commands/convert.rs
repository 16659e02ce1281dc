//! `strile convert`: options resolved, one call of `strile`, a line about what was written.

use crate::args::{ConvertArgs, FileFormat};
use crate::failure::{Failure, Outcome, tell};
use crate::input::Session;
use crate::output::{print, stdout_for_binary};
use crate::progress::Bar;
use std::time::Instant;
use strile::tiff::geo::GeoTransform;
use strile::{
    Conversion, ConvertOptions, FileSink, Format, MemorySink, Pieces, Sink, StreamSink, WriteReport,
};

pub fn run(args: &ConvertArgs, session: &Session) -> Result<Outcome, Failure> {
    let (mut options, mut context) = (ConvertOptions::default(), session.context(&args.engine));
    let request = |problem: String| Failure::Request(problem, None);
    match (args.of, &args.profile) {
        (Some(FileFormat::GTiff), Some(profile)) => {
            return Err(request(format!("profile `{profile}` is of cloud-optimized files, not of GTiff")));
        }
        (_, Some(profile)) => options.set_profile(profile).map_err(request)?,
        (Some(FileFormat::Cog), None) => options.write.format = Format::Cog,
        (Some(FileFormat::GTiff) | None, None) => {}
    }
    let notes = options.set_creation_options(&args.co).map_err(request)?;
    if let (Some(threads), None) = (notes.threads, args.engine.threads) {
        context.threads = threads;
    }
    let input = session.open_input(&args.input, &args.part.mosaic, &mut context)?;
    session.warn_of(input.name(), &input.warnings());
    for warning in &notes.warnings {
        session.note(&format!("warning: {warning}"));
    }
    options.read = args.part.read_options(&args.engine);
    if let Some(bbox) = args.part.bbox {
        options.read.window = Some(input.window_of_box(&options.read, bbox.0)?);
    }
    options.write.device = args.engine.device;
    options.write.spool_dir.clone_from(&args.spool_dir);
    options.write.reproducible = args.reproducible;
    options.write.nvcomp_effort = args.nvcomp_effort;
    options.write.nvjpeg2000 = args.nvjpeg2000;
    options.write.buffer = args.streaming_buffer;
    options.reencode = args.reencode;
    options.crs.clone_from(&args.a_srs);
    options.nodata = args.a_nodata.map(|nodata| nodata.0);
    let pixels = input.pieces(&options.read, &options.limits, &context)?;
    options.transform = args.a_ullr.as_deref().and_then(|corners| transform(corners, &pixels));
    let bar = Bar::new(0, session.quiet || args.explain);
    context.progress = bar.clone().map(|bar| bar as _);
    let start = Instant::now();
    let conversion = Conversion::plan(&input, sink(args)?, &options, &context)?;
    if args.explain {
        return print(conversion.explain().trim_end()).map(|()| Outcome::Clean);
    }
    if let Some(bar) = &bar {
        bar.expect(conversion.blocks());
    }
    let report = conversion.run(&context)?;
    drop((context, bar));
    for warning in &report.warnings {
        session.note(&format!("warning: {}: {warning}", args.output.display()));
    }
    session.note(&summary(args, &report, &pixels, start.elapsed().as_secs_f64()));
    for fault in &report.faults {
        tell(&format!("fault: {}: {fault}", input.name()));
    }
    Ok(if report.faults.is_empty() { Outcome::Clean } else { Outcome::Found })
}

/// Extensions of files that are no TIFF, whatever they hold.
const OTHER_FORMATS: [&str; 30] = [
    "vrt", "png", "jpg", "jpeg", "jp2", "j2k", "jpx", "jxl", "webp", "gif", "bmp", "avif", "heic", "img",
    "nc", "nc4", "h5", "hdf", "hdf5", "zarr", "grib", "grb", "grb2", "asc", "npy", "npz", "csv", "json",
    "xml", "zip",
];

/// Where the bytes go.
fn sink(args: &ConvertArgs) -> Result<Box<dyn Sink>, Failure> {
    if args.explain {
        return Ok(Box::new(MemorySink::new()));
    }
    if args.output.as_os_str() == "-" {
        return Ok(Box::new(StreamSink::new("standard output", stdout_for_binary()?)));
    }
    let extension = args.output.extension().map(|end| end.to_string_lossy().to_ascii_lowercase());
    if let Some(end) = extension.filter(|end| OTHER_FORMATS.contains(&end.as_str())) {
        let problem = format!("`convert` writes TIFF, and `{}` ends in `.{end}`", args.output.display());
        return Err(Failure::Request(
            problem,
            Some("name OUT `….tif`; `strile dump` writes PNG, NPY and CSV"),
        ));
    }
    Ok(Box::new(FileSink::create(&args.output, args.overwrite)?))
}

/// The transform of what is written, by its corners.
fn transform(corners: &[f64], pixels: &Pieces) -> Option<GeoTransform> {
    let &[left, top, right, bottom] = corners else { return None };
    let (a, e) = ((right - left) / f64::from(pixels.columns), (bottom - top) / f64::from(pixels.rows));
    Some(GeoTransform { a, b: 0.0, c: left, d: 0.0, e, f: top })
}

fn summary(args: &ConvertArgs, report: &WriteReport, pixels: &Pieces, seconds: f64) -> String {
    let sparse =
        if report.sparse > 0 { format!(" ({} of them empty)", report.sparse) } else { String::new() };
    let samples = f64::from(pixels.bands) * f64::from(pixels.rows) * f64::from(pixels.columns);
    #[expect(clippy::cast_precision_loss, reason = "at most 16")]
    let megabytes = samples * pixels.data_type.size() as f64 / 1e6;
    format!(
        "{}: {}, {}{sparse} in {}, {seconds:.2} s, {:.1} MB/s of pixels",
        args.output.display(),
        strile::bytes::human(report.file_len),
        count(report.blocks, "block"),
        count(report.levels as u64, "level"),
        megabytes / seconds.max(1e-9)
    )
}

fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
