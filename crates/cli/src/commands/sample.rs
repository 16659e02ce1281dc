//! `strile sample`: values of bands at the points of a CSV file.

mod table;

use crate::args::SampleArgs;
use crate::failure::{Failure, Outcome};
use crate::input::Session;
use crate::output::Sink;
use crate::samples::write_text;
use std::fs::File;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use strile::crs::Transformer;
use strile::sample::{SAMPLE_CHUNK, Samples};
use strile::tiff::geo::Crs;
use strile::{Context, Input, ReadOptions};
use table::{Places, Table, quoted};

pub fn run(args: &SampleArgs, session: &Session) -> Result<Outcome, Failure> {
    let context = session.context(&args.engine);
    let open = args.remote.open_options([args.file.as_path()], &session.cancel)?;
    let input = Input::open_with(&args.file, &args.mosaic.options(open))?;
    session.warn_of(input.name(), &input.warnings());
    let transformer = match &args.crs {
        Some(crs) => input.transformer_of_places(crs)?,
        None => None,
    };
    let bands = match args.band.is_empty() {
        true => (1..=u16::try_from(input.metadata().bands.len()).unwrap_or(u16::MAX)).collect(),
        false => args.band.clone(),
    };
    if input.metadata().georeference.transform.is_none() {
        let sentence = format!("{}: has no georeferencing, so points cannot be located", input.name());
        return Err(Failure::Request(sentence, None));
    }
    let mut options = ReadOptions::new().bands(bands.clone());
    options.execution.max_pixels = args.engine.max_pixels;
    // An invalid band is reported before the first line is read.
    input.sample(&[], &options, &context)?;
    let job = Job { args, input: &input, bands, options, context, transformer };
    let sink = Sink::open(args.output.as_deref(), false)?.watch(&session.cancel);
    let outside = match args.points.as_slice() {
        [points] => {
            let points = Path::new(points);
            let lines: Box<dyn BufRead> = match points.as_os_str() == "-" {
                true => Box::new(std::io::stdin().lock()),
                false => Box::new(BufReader::new(File::open(points).map_err(Failure::at(points))?)),
            };
            job.of_lines(lines, sink)?
        }
        words => {
            let text = format!("x,y\n{}\n", words.join(","));
            job.of_lines(Box::new(text.as_bytes()), sink)?
        }
    };
    if outside > 0 {
        let system = match &args.crs {
            Some(crs) => name_of(Some(crs)),
            None => {
                let own = name_of(input.metadata().georeference.crs.as_ref());
                format!("its reference system, {own}")
            }
        };
        session.note(&format!(
            "note: {}: points outside the image: {outside}; coordinates are those of {system}",
            input.name()
        ));
    }
    Ok(Outcome::Clean)
}

/// Returns the code of a reference system, else its name; `none` without one.
fn name_of(crs: Option<&Crs>) -> String {
    let name = |crs: &Crs| crs.epsg.map_or_else(|| crs.name.clone(), |code| format!("EPSG:{code}"));
    crs.map_or_else(|| "none".to_owned(), name)
}

struct Job<'a> {
    args: &'a SampleArgs,
    input: &'a Input,
    bands: Vec<u16>,
    options: ReadOptions,
    context: Context,
    /// Converts points to the reference system of the file.
    transformer: Option<Transformer>,
}

impl Job<'_> {
    /// Reads points in batches and writes their lines with the values. Returns the number of points outside the image.
    fn of_lines(&self, lines: Box<dyn BufRead + '_>, mut sink: Sink) -> Result<u64, Failure> {
        let failed = sink.failed();
        let mut table = Table::open(lines, self.args.columns.as_deref())?;
        let mut outside = 0;
        if let Some(header) = table.header() {
            let names = self.names();
            writeln!(sink, "{header},{}", names.join(",")).map_err(&failed)?;
        }
        loop {
            let Places { records, mut places } = table.next(SAMPLE_CHUNK)?;
            if records.is_empty() {
                break;
            }
            if let Some(transformer) = &self.transformer {
                transformer.transform_all(&mut places);
            }
            let samples = self.input.sample(&places, &self.options, &self.context)?;
            outside += samples.inside.iter().filter(|inside| !**inside).count() as u64;
            let mut text = String::new();
            for (at, record) in records.iter().enumerate() {
                text.push_str(record);
                self.write_values(&samples, at, &mut text);
                text.push('\n');
            }
            sink.write_all(text.as_bytes()).map_err(&failed)?;
        }
        sink.finish()?;
        Ok(outside)
    }

    /// Returns the name of each band's column: the band's name if all have one and they differ, else `b1`, `b2`, ….
    fn names(&self) -> Vec<String> {
        let all = &self.input.metadata().bands;
        let name = |band: &u16| {
            let known = usize::from(*band).checked_sub(1).and_then(|at| all.get(at));
            known.and_then(|band| band.description.clone()).filter(|name| !name.is_empty())
        };
        let named: Option<Vec<String>> = self.bands.iter().map(name).collect();
        let differ = |names: &Vec<String>| {
            let set: std::collections::BTreeSet<&String> = names.iter().collect();
            set.len() == names.len()
        };
        match named.filter(differ) {
            Some(names) => names.iter().map(|name| quoted(name)).collect(),
            None => self.bands.iter().map(|band| format!("b{band}")).collect(),
        }
    }

    fn write_values(&self, samples: &Samples, at: usize, text: &mut String) {
        let (size, count) = (samples.data_type.size(), samples.bands.len());
        let is_inside = samples.inside.get(at).copied().unwrap_or(false);
        let values =
            samples.values.get(at * count * size..).unwrap_or_default().chunks_exact(size).take(count);
        let valid = samples.valid.get(at * count..).unwrap_or_default();
        for (value, is_valid) in values.zip(valid) {
            text.push(',');
            match is_inside && (*is_valid || self.args.raw_values) {
                true => write_text(text, value, samples.data_type),
                false => text.push_str(&quoted(&self.args.missing_text)),
            }
        }
    }
}
