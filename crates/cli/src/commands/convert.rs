//! `strile convert`: resolves the options, calls `strile` once, and reports what was written.

use super::convert_many;
use crate::args::ConvertArgs;
use crate::failure::{Failure, Outcome, tell, with_flags};
use crate::geo::{bbox_in_file, box_in_file, cutline};
use crate::input::Session;
use crate::output::{print, stdout_for_binary};
use crate::progress::Bar;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use strile::convert::{Conversion, ConvertArea, Requests};
use strile::io::{
    FileSink, MemorySink, RemoteOptions, RemoteSink, Sink, StreamSink, UploadOptions, is_remote,
    other_format, redacted,
};
use strile::write::WriteReport;
use strile::{Context, ConvertOptions, Input, RasterSpec};

pub fn run(args: &ConvertArgs, session: &Session) -> Result<Outcome, Failure> {
    let mut context = session.context(&args.engine);
    let options = options(args, session, &mut context)?;
    if let Some(folder) = &args.output {
        if args.part.bbox_crs.is_some() || args.change.projwin_srs.is_some() {
            let problem = "`--bbox-crs` and `-projwin_srs` are for one file, not for `-o DIR`".to_owned();
            return Err(Failure::Request(problem, None));
        }
        return convert_many::run(args, folder, &options, session, context);
    }
    let [from, to] = args.files.as_slice() else {
        let (count, hint) = (args.files.len(), "`-o DIR` converts all files into a folder");
        return Err(Failure::Request(format!("expected IN and OUT, got {count} files"), Some(hint)));
    };
    let open = args.remote.open_all([from.as_path(), to.as_path()], &session.cancel)?;
    let remote = open.remote.clone();
    let input = session.open_input(from, &args.part.mosaic, open, &mut context)?;
    let options = placed(args, options, &input)?;
    let bar = Bar::new(0, session.quiet || args.explain);
    context.progress = bar.clone().map(|bar| bar as _);
    let start = Instant::now();
    let conversion =
        Conversion::plan(&input, sink(&target(args, to), &remote, session)?, &options, &context)?;
    if args.explain {
        return print(&explained(&conversion, &context)?).map(|()| Outcome::Clean);
    }
    if let Some(bar) = &bar {
        bar.expect(conversion.blocks());
    }
    let spec = conversion.spec().cloned();
    let report = conversion.run(&context)?;
    drop((context, bar));
    Ok(told(to, &report, (spec.as_ref(), start), session, &format!("{}: ", input.name())))
}

/// Reports what was written since `start`, and its faults, which come from `source`.
pub(super) fn told(
    to: &Path,
    report: &WriteReport,
    (spec, start): (Option<&RasterSpec>, Instant),
    session: &Session,
    source: &str,
) -> Outcome {
    for warning in &report.warnings {
        session.note(&format!("warning: {}: {warning}", shown(to)));
    }
    session.note(&summary(to, report, spec, start.elapsed().as_secs_f64()));
    for fault in &report.faults {
        tell(&format!("fault: {source}{fault}"));
    }
    if report.faults.is_empty() { Outcome::Clean } else { Outcome::Found }
}

/// Describes what a conversion will do, and its requests to servers.
pub(super) fn explained(conversion: &Conversion<'_>, context: &Context) -> Result<String, Failure> {
    let mut text = with_flags(conversion.explain().trim_end());
    if let Some(Requests { count: requests, bytes, is_least }) = conversion.requests(context)? {
        let least = if is_least { "at least " } else { "" };
        let (requests, bytes) = (count(requests as u64, "request"), strile::bytes::human(bytes));
        text.push_str(&format!("\nremote  {least}{requests} for {bytes}"));
    }
    Ok(text)
}

/// Returns the options with an area that is given in another reference system than the file's.
fn placed(args: &ConvertArgs, mut options: ConvertOptions, input: &Input) -> Result<ConvertOptions, Failure> {
    if let Some(sides) = bbox_in_file(&args.part, input.metadata())? {
        options.area = Some(ConvertArea::Bounds(sides));
    }
    if let (Some(ConvertArea::Corners([left, top, right, bottom])), Some(crs)) =
        (options.area, &args.change.projwin_srs)
    {
        let [west, south, east, north] = box_in_file(
            crs,
            [left.min(right), top.min(bottom), left.max(right), top.max(bottom)],
            input.metadata(),
        )?;
        options.area = Some(ConvertArea::Corners([west, north, east, south]));
    }
    Ok(options)
}

/// Returns the options, which are the same for every file.
fn options(args: &ConvertArgs, session: &Session, context: &mut Context) -> Result<ConvertOptions, Failure> {
    let request = |problem: String| Failure::Request(problem, None);
    let (mut options, warnings) = args.write.options(args.engine.threads, context).map_err(request)?;
    for warning in &warnings {
        session.note(&format!("warning: {warning}"));
    }
    options.read = args.part.read_options(&args.decode, &args.engine);
    args.change.apply(&mut options).map_err(request)?;
    if let Some(bbox) = args.part.bbox {
        options.area = Some(ConvertArea::Bounds(bbox.0));
    }
    options.polygon = cutline(&args.cutline.polygon)?.map(Arc::new);
    options.crop_to_polygon = args.cutline.crop_to_cutline;
    if options.crop_to_polygon && (options.area.is_some() || options.read.place.window.is_some()) {
        return Err(request("`-crop_to_cutline` cannot be combined with another area".into()));
    }
    options.write.reproducible = args.reproducible;
    options.write.nvcomp_effort = args.nvcomp_effort;
    options.write.nvjpeg2000 = args.nvjpeg2000;
    options.reencode = args.reencode;
    Ok(options)
}

/// The output of a command.
pub(super) struct Target<'a> {
    pub(super) output: &'a Path,
    /// Whether nothing is written.
    pub(super) explain: bool,
    pub(super) overwrite: bool,
    /// The name of the command.
    pub(super) command: &'a str,
}

fn target<'a>(args: &ConvertArgs, output: &'a Path) -> Target<'a> {
    Target { output, explain: args.explain, overwrite: args.write.overwrite, command: "convert" }
}

/// Opens the sink of an output.
pub(super) fn sink(
    target: &Target<'_>,
    remote: &RemoteOptions,
    session: &Session,
) -> Result<Box<dyn Sink>, Failure> {
    let Target { output, explain, overwrite, command } = *target;
    if explain {
        return Ok(Box::new(MemorySink::new()));
    }
    if output.as_os_str() == "-" {
        return Ok(Box::new(StreamSink::new("standard output", stdout_for_binary()?)));
    }
    if let Some(end) = other_format(output) {
        let problem = format!("`{command}` writes TIFF, and `{}` ends in `.{end}`", shown(output));
        return Err(Failure::Request(
            problem,
            Some("name OUT `….tif`; `strile dump` writes PNG, NPY and CSV"),
        ));
    }
    if let Some(url) = output.to_str().filter(|text| is_remote(text)) {
        let upload = UploadOptions::new().overwrite(overwrite);
        return Ok(Box::new(RemoteSink::create(url, remote, &upload, &session.cancel)?));
    }
    if output.is_dir() {
        let problem = format!("{}: expected a file name, got a folder", output.display());
        return Err(Failure::Request(problem, Some("`-o DIR` converts files into a folder")));
    }
    Ok(Box::new(FileSink::create(output, overwrite)?))
}

/// Returns a path, or a URL without credentials.
fn shown(output: &Path) -> String {
    redacted(&output.to_string_lossy())
}

pub(super) fn summary(
    output: &Path,
    report: &WriteReport,
    spec: Option<&RasterSpec>,
    seconds: f64,
) -> String {
    let sparse =
        if report.sparse > 0 { format!(" ({} of them empty)", report.sparse) } else { String::new() };
    let speed = spec.map(|spec| {
        let samples = f64::from(spec.bands) * f64::from(spec.height) * f64::from(spec.width);
        #[expect(clippy::cast_precision_loss, reason = "at most 16")]
        let megabytes = samples * spec.data_type.size() as f64 / 1e6;
        format!(", {seconds:.2} s, {:.1} MB/s of pixels", megabytes / seconds.max(1e-9))
    });
    format!(
        "{}: {}, {}{sparse} in {}{}",
        shown(output),
        strile::bytes::human(report.file_len),
        count(report.blocks, "block"),
        count(report.levels as u64, "level"),
        speed.unwrap_or_default()
    )
}

pub(super) fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
