//! Converts many files into a folder.
//!
//! Problems that can be detected in advance are reported before the first file is written: outputs with the same name,
//! outputs that would replace an input. Files are converted concurrently with a common memory budget; a file that fails
//! for lack of memory is retried alone after the others. A failed file does not stop the others.

use super::{Conversion, ConvertOptions};
use crate::error::{Error, Result};
use crate::file::input::Input;
use crate::options::setters;
use crate::sink::FileSink;
use crate::vrt::VrtOptions;
use crate::write::{WriteReport, refused};
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use strile_engine::Context;

/// Says where outputs go when many files are converted, and how many files are converted at once.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ManyOptions {
    /// Folder of the outputs. It is created if it does not exist.
    pub folder: PathBuf,
    /// Whether to replace existing outputs. Otherwise they are skipped.
    pub overwrite: bool,
    /// Whether to include files in subfolders of the given folders.
    pub recursive: bool,
    /// Number of files that are converted concurrently. They share the threads and the memory of the context.
    pub jobs: NonZeroUsize,
    /// Options for opening inputs.
    pub open: VrtOptions,
}

impl ManyOptions {
    /// Returns the defaults, for outputs in this folder: existing outputs are skipped, one file at a time.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            overwrite: false,
            recursive: false,
            jobs: NonZeroUsize::MIN,
            open: VrtOptions::default(),
        }
    }

    setters! {
        /// Replaces existing outputs. Otherwise they are skipped.
        overwrite: bool,
        /// Includes files in subfolders of the given folders.
        recursive: bool,
        /// Sets how many files are converted concurrently.
        jobs: NonZeroUsize,
        /// Sets the options for opening inputs.
        open: VrtOptions,
    }
}

/// An input file and its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManyItem {
    /// The input.
    pub input: PathBuf,
    /// The output.
    pub output: PathBuf,
    /// Whether the output exists and is kept.
    pub skipped: bool,
}

/// The result for a file.
#[derive(Debug, Clone)]
pub enum ManyOutcome {
    /// The output was written.
    Written(WriteReport),
    /// The output already exists.
    Skipped,
    /// The conversion failed. No output is left.
    Failed(Error),
}

/// Receives progress while files are converted. Called from several threads.
pub trait ManyProgress: Sync {
    /// Called when `blocks` more blocks will be written.
    fn expect(&self, blocks: u64);
    /// Called when a file is finished.
    fn done(&self, item: &ManyItem, outcome: &ManyOutcome);
}

/// Plans the conversion of files without writing anything. A folder stands for the files in it that end in `.tif` or
/// `.tiff`, in order of their names.
pub fn plan_many(inputs: &[PathBuf], options: &ManyOptions) -> Result<Vec<ManyItem>> {
    if options.folder.exists() && !options.folder.is_dir() {
        return Err(refused(format!("{} is not a folder", options.folder.display())));
    }
    let mut files = Vec::new();
    for input in inputs {
        if input.is_dir() {
            let before = files.len();
            add_folder(input, options, &mut files)?;
            if files.len() == before {
                return Err(refused(format!("{} has no files that end in .tif or .tiff", input.display())));
            }
        } else {
            files.push(input.clone());
        }
    }
    let inputs: Vec<Option<PathBuf>> = files.iter().map(|file| fs::canonicalize(file).ok()).collect();
    let mut named: BTreeMap<PathBuf, &Path> = BTreeMap::new();
    let mut items = Vec::with_capacity(files.len());
    for file in &files {
        let name = file.file_name().ok_or_else(|| refused(format!("{} has no file name", file.display())))?;
        let mut output = options.folder.join(name);
        if !is_tiff(&output) {
            output.set_extension("tif");
        }
        if let Some(other) = named.insert(output.clone(), file) {
            return Err(refused(format!(
                "{} and {} would both be written to {}; convert them into folders of their own",
                other.display(),
                file.display(),
                output.display()
            )));
        }
        if let Ok(there) = fs::canonicalize(&output)
            && inputs.iter().flatten().any(|input| *input == there)
        {
            return Err(refused(format!(
                "{} is an input and would be replaced by an output; choose another folder",
                output.display()
            )));
        }
        let skipped = !options.overwrite && output.symlink_metadata().is_ok();
        items.push(ManyItem { input: file.clone(), output, skipped });
    }
    Ok(items)
}

fn is_tiff(path: &Path) -> bool {
    let end = path.extension().map(|end| end.to_string_lossy().to_ascii_lowercase());
    end.is_some_and(|end| end == "tif" || end == "tiff")
}

fn add_folder(folder: &Path, options: &ManyOptions, files: &mut Vec<PathBuf>) -> Result<()> {
    let failed = |error| Error::io(folder, error);
    let mut entries =
        fs::read_dir(folder).map_err(failed)?.collect::<std::io::Result<Vec<_>>>().map_err(failed)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let own = fs::canonicalize(&options.folder).ok();
    for entry in entries {
        let path = entry.path();
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        // Links to folders are not followed, because they could form cycles. Outputs are not inputs.
        let is_folder = entry.file_type().map_err(failed)?.is_dir();
        if is_folder && options.recursive && !hidden && fs::canonicalize(&path).ok() != own {
            add_folder(&path, options, files)?;
        } else if !hidden && is_tiff(&path) && path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

/// Converts files, in any order. The outcomes are in the order of `items`.
pub fn convert_many(
    items: &[ManyItem],
    options: &ConvertOptions,
    many: &ManyOptions,
    context: &Context,
    progress: &dyn ManyProgress,
) -> Result<Vec<ManyOutcome>> {
    fs::create_dir_all(&many.folder).map_err(|error| Error::io(&many.folder, error))?;
    let jobs = many.jobs.get().min(items.len()).max(1);
    let threads = NonZeroUsize::new(context.threads.get().div_ceil(jobs)).unwrap_or(NonZeroUsize::MIN);
    let each = Context { threads, ..context.clone() };
    let outcomes: Mutex<Vec<Option<ManyOutcome>>> = Mutex::new(vec![None; items.len()]);
    let keep = |at: usize, item: &ManyItem, outcome: ManyOutcome| {
        progress.done(item, &outcome);
        if let Ok(mut outcomes) = outcomes.lock()
            && let Some(slot) = outcomes.get_mut(at)
        {
            *slot = Some(outcome);
        }
    };
    let (next, refused_memory) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some((at, item)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    items.get(at).map(|item| (at, item))
                } {
                    let outcome = one(item, options, many, &each, progress);
                    let alone = jobs > 1 && matches!(outcome, ManyOutcome::Failed(Error::Memory { .. }));
                    match refused_memory.lock() {
                        Ok(mut later) if alone => later.push(at),
                        _ => keep(at, item, outcome),
                    }
                }
            });
        }
    });
    for at in refused_memory.into_inner().unwrap_or_default() {
        if let Some(item) = items.get(at) {
            keep(at, item, one(item, options, many, context, progress));
        }
    }
    let outcomes = outcomes.into_inner().unwrap_or_default();
    Ok(outcomes.into_iter().map(|outcome| outcome.unwrap_or(ManyOutcome::Failed(Error::Cancelled))).collect())
}

fn one(
    item: &ManyItem,
    options: &ConvertOptions,
    many: &ManyOptions,
    context: &Context,
    progress: &dyn ManyProgress,
) -> ManyOutcome {
    if item.skipped {
        return ManyOutcome::Skipped;
    }
    let convert = || {
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let input = Input::open_with(&item.input, &many.open)?;
        let sink = FileSink::create(&item.output, many.overwrite)?;
        let conversion = Conversion::plan(&input, Box::new(sink), options, context)?;
        progress.expect(conversion.blocks());
        conversion.run(context)
    };
    convert().map_or_else(ManyOutcome::Failed, ManyOutcome::Written)
}
