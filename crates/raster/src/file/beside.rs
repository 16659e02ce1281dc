//! Finds files beside a remote file.
//!
//! Each name costs a request, so only names that can add something to the header are requested, all of them at once.

use super::metadata::{Sidecars, georeference_of};
use super::open::{LARGEST_SIDECAR, OpenFile, OpenOptions, SidecarSearch, io_error};
use super::pages::Page;
use crate::cog::read_ghost_area;
use crate::error::{Error, Result};
use crate::read::{MaskSource, together};
use crate::source::{Source, beside_url, open_url, read_ranges, with_url_extension};
use std::io;
use std::sync::Arc;
use strile_tiff::Warnings;
use strile_tiff::gdal::world_file;

/// The files found beside a file.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) sidecars: Sidecars,
    /// Name, and the result of opening it.
    pub(crate) overviews: Option<(String, Result<OpenFile>)>,
    pub(crate) masks: Option<(String, Result<OpenFile>)>,
}

/// Kind of a file that may exist beside another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Overviews,
    Masks,
    Metadata,
    World,
}

/// The answer to the request of a name.
enum Answer {
    Absent,
    Image(String, Result<OpenFile>),
    Text(String),
}

/// Requests the files that may exist beside the object of a URL.
pub(crate) fn found(url: &str, file: &OpenFile, pages: &[Page], options: &OpenOptions) -> Result<Found> {
    let wanted: Vec<(Kind, String)> = wanted(file, pages, options)?
        .into_iter()
        .flat_map(|kind| names(url, kind).into_iter().map(move |name| (kind, name)))
        .collect();
    let mut found = Found::default();
    if wanted.is_empty() {
        return Ok(found);
    }
    let kinds: Vec<Kind> = wanted.iter().map(|(kind, _)| *kind).collect();
    let ask = |(kind, name): (Kind, String)| answer(kind, &name, options);
    let (mut aux_xml, mut world) = (None, None);
    for (kind, answer) in kinds.into_iter().zip(together(wanted, true, &options.cancel, ask)?) {
        match answer {
            Answer::Absent => {}
            Answer::Image(name, opened) if kind == Kind::Overviews => found.overviews = Some((name, opened)),
            Answer::Image(name, opened) => found.masks = Some((name, opened)),
            Answer::Text(text) if kind == Kind::Metadata => aux_xml = Some(text),
            // The first name takes precedence.
            Answer::Text(text) => world = world.or(Some(text)),
        }
    }
    found.sidecars = Sidecars::of_texts(aux_xml, world);
    Ok(found)
}

/// Returns the kinds of files that can add something to the file itself.
fn wanted(file: &OpenFile, pages: &[Page], options: &OpenOptions) -> Result<Vec<Kind>> {
    let (Some(page), Some(directory)) = (pages.first(), file.tiff.directories.first()) else {
        return Ok(Vec::new());
    };
    let Some(full) = page.full() else { return Ok(Vec::new()) };
    let georeference = georeference_of(directory, &mut Warnings::new());
    let placed = georeference.transform.is_some() || !georeference.gcps.is_empty();
    let (has_overviews, has_mask) = (page.levels.len() > 1, full.mask.is_some());
    let mut kinds = Vec::new();
    match options.sidecars {
        SidecarSearch::Never => return Ok(kinds),
        SidecarSearch::Always => {
            kinds.push(Kind::Overviews);
            kinds.extend((!has_mask).then_some(Kind::Masks));
        }
        SidecarSearch::Auto => {
            if (has_overviews && placed) || read_ghost_area(file)?.is_some() {
                return Ok(kinds);
            }
            kinds.extend((options.overviews && !has_overviews).then_some(Kind::Overviews));
            let has_alpha = matches!(MaskSource::of(&full.image, false), MaskSource::Alpha(_));
            kinds.extend((!has_mask && !has_alpha).then_some(Kind::Masks));
        }
    }
    kinds.push(Kind::Metadata);
    // It counts only if the file itself has no georeferencing.
    kinds.extend((!placed).then_some(Kind::World));
    Ok(kinds)
}

/// Returns the URLs that a kind may have. Upper-case extensions of world files are not tried: they are rare in object
/// names.
fn names(url: &str, kind: Kind) -> Vec<String> {
    match kind {
        Kind::Overviews => beside_url(url, ".ovr").into_iter().collect(),
        Kind::Masks => beside_url(url, ".msk").into_iter().collect(),
        Kind::Metadata => beside_url(url, ".aux.xml").into_iter().collect(),
        Kind::World => with_url_extension(url, world_file::extensions),
    }
}

fn answer(kind: Kind, url: &str, options: &OpenOptions) -> Result<Answer> {
    let source = match open_url(url, options) {
        Err(Error::Io { error, .. }) if is_absent(&error) => return Ok(Answer::Absent),
        Err(Error::Io { path, error }) => {
            // Refusals of a host are kept unchanged.
            if error.kind() == io::ErrorKind::PermissionDenied {
                return Err(Error::Io { path, error });
            }
            let text = format!("{error}; `sidecars = never` does not look for this file");
            return Err(Error::Io { path, error: Arc::new(io::Error::new(error.kind(), text)) });
        }
        opened => opened?,
    };
    match kind {
        Kind::Overviews | Kind::Masks => {
            let name = source.name().to_owned();
            Ok(Answer::Image(name, OpenFile::open(source, options)))
        }
        Kind::Metadata | Kind::World => text_of(source.as_ref(), options).map(Answer::Text),
    }
}

fn text_of(source: &dyn Source, options: &OpenOptions) -> Result<String> {
    let len = source.len();
    if len > LARGEST_SIDECAR {
        let problem = io::Error::other(format!("has more than {LARGEST_SIDECAR} bytes"));
        return Err(io_error(source, problem));
    }
    if len == 0 {
        return Ok(String::new());
    }
    let whole = read_ranges(source, std::slice::from_ref(&(0..len)), &options.cancel);
    let whole = whole.map_err(|error| io_error(source, error))?;
    Ok(String::from_utf8_lossy(whole.first().map(Vec::as_slice).unwrap_or_default()).into_owned())
}

/// Returns whether a server's error means that the object does not exist. Buckets that deny listing answer 403, and so
/// does a signed URL whose path was changed.
fn is_absent(error: &io::Error) -> bool {
    let says = |status: &str| error.to_string().contains(&format!("the server answers {status}"));
    error.kind() == io::ErrorKind::NotFound
        || (error.kind() == io::ErrorKind::PermissionDenied && (says("401") || says("403")))
}
