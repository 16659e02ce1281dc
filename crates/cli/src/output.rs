//! Destinations of data: standard output, or a file that gets its name only when it is complete.

use crate::failure::Failure;
use crate::json::fields;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use strile::device::Decode;
use strile::read::{Fetch, ReadPlan};
use strile::tiff::printable_lines;
use strile::{Cancel, Location};

/// A destination of bytes. If it is dropped without `finish`, nothing is left.
pub struct Sink {
    writer: BufWriter<File>,
    name: String,
    /// The temporary file, and its final name.
    rename: Option<(PathBuf, PathBuf)>,
    cancel: Cancel,
}

impl Sink {
    /// Opens standard output for `None` and `-`. Binary data is not written to a terminal.
    pub fn open(path: Option<&Path>, binary: bool) -> Result<Self, Failure> {
        match path.filter(|path| path.as_os_str() != "-") {
            Some(path) => Self::file(path),
            None => Self::stdout(binary),
        }
    }

    fn stdout(binary: bool) -> Result<Self, Failure> {
        let file = if binary { stdout_for_binary()? } else { stdout()? };
        Ok(Self {
            writer: BufWriter::new(file),
            name: "standard output".into(),
            rename: None,
            cancel: Cancel::default(),
        })
    }

    fn file(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        // Devices and pipes are written to directly; only files are created under a temporary name and renamed.
        if std::fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            let file = File::options().write(true).open(path).map_err(Failure::at(path))?;
            return Ok(Self { writer: BufWriter::new(file), name, rename: None, cancel: Cancel::default() });
        }
        let is_folder = || Failure::Request(format!("{name}: expected a file name, got a directory"), None);
        let base = path.file_name().filter(|_| !path.is_dir()).ok_or_else(is_folder)?;
        let mut temporary = std::ffi::OsString::from(".");
        temporary.push(base);
        temporary.push(format!(".{}.part", std::process::id()));
        let temporary = path.with_file_name(temporary);
        let file = File::create(&temporary).map_err(Failure::at(path))?;
        Ok(Self {
            writer: BufWriter::new(file),
            name,
            rename: Some((temporary, path.to_owned())),
            cancel: Cancel::default(),
        })
    }

    /// Stops writing on cancellation.
    pub fn watch(mut self, cancel: &Cancel) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// Returns a function for `map_err` on writes to this sink.
    pub fn failed(&self) -> impl Fn(io::Error) -> Failure + use<> {
        let name = self.name.clone();
        move |error| Failure::Io(name.clone(), error)
    }

    /// Writes buffered bytes and gives the file its name.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.writer.flush().map_err(self.failed())?;
        if let Some((temporary, path)) = &self.rename {
            std::fs::rename(temporary, path).map_err(Failure::at(path))?;
        }
        self.rename = None;
        Ok(())
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        if let Some((temporary, _)) = &self.rename {
            // Nothing can be done about a file that cannot be removed, and the error was already reported.
            let _left = std::fs::remove_file(temporary);
        }
    }
}

/// Returns the descriptor of standard output: `std::io::stdout` searches all output for line ends.
fn stdout() -> Result<File, Failure> {
    own_stdout().map_err(Failure::on_stdout)
}

#[cfg(unix)]
fn own_stdout() -> io::Result<File> {
    use std::os::fd::AsFd as _;
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
fn own_stdout() -> io::Result<File> {
    use std::os::windows::io::AsHandle as _;
    io::stdout().as_handle().try_clone_to_owned().map(File::from)
}

/// Returns standard output, unless it is a terminal.
pub fn stdout_for_binary() -> Result<File, Failure> {
    if io::stdout().is_terminal() {
        let sentence = "standard output is a terminal, and the format is binary".to_owned();
        return Err(Failure::Request(sentence, Some("name a file, or pipe the output into a program")));
    }
    stdout()
}

/// Prints text to standard output. Text of files cannot control the terminal.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut sink = Sink::stdout(false)?;
    let written = sink.write_all(printable_lines(text).as_bytes()).and_then(|()| sink.write_all(b"\n"));
    written.map_err(sink.failed())?;
    sink.finish()
}

/// Returns a plan as JSON.
pub fn plan_json(plan: &ReadPlan) -> Value {
    let figures = plan.figures();
    json!({
        "file": plan.file,
        "page": plan.page,
        "level": plan.level,
        "reduce": plan.reduce,
        "window": [plan.window.column, plan.window.row, plan.window.width, plan.window.height],
        "bands": plan.bands,
        "shape": [plan.output.bands, plan.output.rows, plan.output.columns],
        "dtype": plan.output.data_type.name(),
        "engine": plan.engine,
        "engine_reason": plan.engine_reason,
        "estimate": plan.judged.as_ref().map(|judged| {
            fields!(judged.estimate; cpu, cuda, "constants" => judged.constants)
        }),
        "decode": match &plan.decode {
            Decode::Cpu => json!({ "on": "cpu" }),
            Decode::Kernels => json!({ "on": plan.engine }),
            Decode::Library { name, reason } => {
                json!({ "on": plan.engine, "by": name, "reason": reason })
            }
            Decode::Host(reason) => json!({ "on": "host", "reason": reason }),
        },
        "mosaic": plan.mosaics.map(|mosaic| {
            fields!(mosaic; tiles, gaps, blended, blended_on_host, "files" => plan.files)
        }),
        "notes": plan.notes,
        "after": plan.after,
        "destination": match plan.destination {
            Location::Host => "host".to_owned(),
            Location::Cuda(index) => format!("cuda:{index}"),
        },
        "fetch": match plan.fetch {
            Fetch::Pulled => "pulled",
            Fetch::Direct => "direct",
            Fetch::Staged => "staged",
        },
        "blocks": figures.blocks,
        "sparse_blocks": figures.sparse,
        "cached_blocks": figures.cached,
        "cached_bytes": figures.cached_bytes,
        "encoded_bytes": figures.encoded_bytes,
        "ranges": figures.ranges,
        "range_bytes": figures.range_bytes,
        "requests": figures.requests,
        "request_bytes": figures.request_bytes,
        "batches": figures.batches,
        "engine_batches": figures.engine_batches,
        "memory": fields!(plan.memory; output, scratch_per_thread, decoding, staging, scratch, host, device),
    })
}

/// Formats a table with aligned columns, the first to the left and the others to the right.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| {
        rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, &width))| match at {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
