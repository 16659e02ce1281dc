//! The start of every command: Ctrl-C, the context of the call, the opened file.

use crate::args::{EngineArgs, MosaicArgs};
use crate::failure::{Failure, tell};
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use strile::engine::Budget;
use strile::io::MemorySource;
use strile::tiff::Warning;
use strile::tiff::printable;
use strile::{Cancel, Context, Dataset, Input, OpenOptions};

/// State shared by the commands of a run.
pub struct Session {
    /// Set by Ctrl-C.
    pub cancel: Cancel,
    /// Whether warnings, notes and progress are suppressed.
    pub quiet: bool,
}

impl Session {
    /// Starts to handle Ctrl-C.
    pub fn new(quiet: bool) -> Result<Self, Failure> {
        let cancel = Cancel::default();
        let flag = cancel.clone();
        let listening = ctrlc::set_handler(move || {
            // Second signal: ends without waiting for the next block.
            if flag.is_cancelled() {
                std::process::exit(130);
            }
            flag.cancel();
        });
        listening.map_err(|error| Failure::Request(format!("cannot listen for Ctrl-C: {error}"), None))?;
        Ok(Self { cancel, quiet })
    }

    /// Returns the context of a call.
    pub fn context(&self, engine: &EngineArgs) -> Context {
        let default = Context::default();
        Context {
            cancel: self.cancel.clone(),
            progress: None,
            budget: engine.memory.map_or(default.budget, |bytes| Arc::new(Budget::new(bytes))),
            threads: engine.threads.unwrap_or(default.threads),
            trace: None,
        }
    }

    /// Opens a file or URL, or standard input if the path is `-`. Its bytes are then taken from the budget.
    pub fn open(&self, path: &Path, open: &OpenOptions, context: &mut Context) -> Result<Dataset, Failure> {
        if path.as_os_str() != "-" {
            return Ok(Dataset::open_with(path, open)?);
        }
        let (name, limit) = ("standard input", context.budget.limit());
        let mut bytes = Vec::new();
        let mut input = std::io::stdin().lock().take(limit.saturating_add(1));
        input.read_to_end(&mut bytes).map_err(|error| Failure::Io(name.into(), error))?;
        let need = bytes.len() as u64;
        drop(context.budget.take(need, "standard input")?);
        context.budget = Arc::new(Budget::new(limit - need));
        Ok(Dataset::from_source(Arc::new(MemorySource::new(name, bytes)), &OpenOptions::default())?)
    }

    /// Opens a TIFF or a VRT, and reports its warnings.
    pub fn open_input(
        &self,
        path: &Path,
        mosaic: &MosaicArgs,
        open: OpenOptions,
        context: &mut Context,
    ) -> Result<Input, Failure> {
        let input = match path.as_os_str() == "-" {
            true => Input::Tiff(Box::new(self.open(path, &open, context)?)),
            false => Input::open_with(path, &mosaic.options(open))?,
        };
        self.warn_of(input.name(), &input.warnings());
        Ok(input)
    }

    /// Reports the warnings of a dataset.
    pub fn warn(&self, dataset: &Dataset) {
        self.warn_of(dataset.name(), dataset.warnings());
    }

    /// Reports the warnings of a file with that name.
    pub fn warn_of(&self, name: &str, warnings: &[Warning]) {
        if !self.quiet {
            for warning in warnings {
                let line = format!("warning: {name}: {warning} [{}]", warning.code);
                tell(&printable(&line));
            }
        }
    }

    /// Prints a note, which is neither data nor an error.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            tell(text);
        }
    }
}
