//! Writes a new object in a bucket atomically.
//!
//! Parts are sent while later ones are made; one request at the end makes the object visible. The first part is held
//! back until then, so that a header can be patched. Sidecars are separate objects: after the object is visible, new
//! ones are put beside it and those of a replaced object are removed.

use super::file::SIDECARS;
use super::{Sink, Stopped};
use crate::error::{Error, Result};
use crate::source::redacted;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use strile_engine::Cancel;
use strile_remote::{RemoteOptions, Upload, UploadOptions, find, remove};

/// Writes a new object in a bucket: `s3`, `gs`, `az` and `abfs(s)` URLs.
///
/// Nothing is visible before `commit`. An upload that is aborted is removed; one that was killed is removed by the next write to
/// the same URL, or by `strile uploads`.
///
/// ```no_run
/// use strile::io::{RemoteOptions, RemoteSink, UploadOptions};
/// use strile::{Cancel, Context, ConvertOptions, Input, OpenOptions};
///
/// let (remote, upload) = (RemoteOptions::new().region("us-west-2"), UploadOptions::new().overwrite(true));
/// let sink = RemoteSink::create("s3://bucket/cog.tif", &remote, &upload, &Cancel::default())?;
/// let input = Input::open("dem.tif", &OpenOptions::default())?;
/// strile::convert::convert_into(&input, Box::new(sink), &ConvertOptions::default(), &Context::default())?;
/// # Ok::<(), strile::Error>(())
/// ```
pub struct RemoteSink {
    upload: Upload,
    url: String,
    remote: RemoteOptions,
    /// Suffixes of sidecars of the object that will be replaced.
    stale: Vec<&'static str>,
    sidecars: Vec<(String, Vec<u8>)>,
    stopped: Stopped,
}

impl RemoteSink {
    /// Begins an upload to `url`. An existing object is replaced only if `upload.overwrite`. `cancel` stops the upload.
    pub fn create(
        url: &str,
        remote: &RemoteOptions,
        upload: &UploadOptions,
        cancel: &Cancel,
    ) -> Result<Self> {
        Self::begin(url, remote, upload, cancel).map_err(|error| match cancel.is_cancelled() {
            true => Error::Cancelled,
            false => Error::io(PathBuf::from(redacted(url)), error),
        })
    }

    fn begin(url: &str, remote: &RemoteOptions, upload: &UploadOptions, cancel: &Cancel) -> io::Result<Self> {
        let begun = Upload::begin(url, remote, &as_image(upload), cancel)?;
        let stale = stale_beside(url, begun.name(), remote, upload, cancel)?;
        Ok(Self {
            upload: begun,
            url: url.to_owned(),
            remote: remote.clone(),
            stale,
            sidecars: Vec::new(),
            stopped: Stopped::default(),
        })
    }
}

impl Sink for RemoteSink {
    fn name(&self) -> &str {
        self.upload.name()
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stopped.check()?;
        let done = self.upload.append(bytes);
        self.stopped.note(done)
    }

    fn can_patch(&self) -> bool {
        self.upload.can_patch()
    }

    fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.stopped.check()?;
        let done = self.upload.patch(offset, bytes);
        self.stopped.note(done)
    }

    fn takes_sidecars(&self) -> bool {
        true
    }

    fn sidecar(&mut self, suffix: &str, bytes: Vec<u8>) -> io::Result<()> {
        self.stopped.check()?;
        self.sidecars.retain(|(other, _)| other != suffix);
        self.sidecars.push((suffix.to_owned(), bytes));
        Ok(())
    }

    fn commit(self: Box<Self>) -> io::Result<()> {
        self.stopped.check()?;
        let Self { upload, url, remote, stale, sidecars, .. } = *self;
        let name = upload.name().to_owned();
        upload.complete()?;

        settle_beside(&name, &url, &remote, &stale, &sidecars)
    }

    fn abort(self: Box<Self>) {
        self.upload.abort();
    }
}

/// Sets the content type of a TIFF file.
pub(super) fn as_image(upload: &UploadOptions) -> UploadOptions {
    upload.clone().content_type("image/tiff")
}

/// Returns the suffixes of sidecars of the object that will be replaced. Fails if there are sidecars that may not be
/// overwritten.
pub(super) fn stale_beside(
    url: &str,
    name: &str,
    remote: &RemoteOptions,
    upload: &UploadOptions,
    cancel: &Cancel,
) -> io::Result<Vec<&'static str>> {
    let beside: Vec<String> = SIDECARS.iter().map(|suffix| format!("{url}{suffix}")).collect();
    let found = find(&beside, remote, cancel)?;
    let stale = SIDECARS.into_iter().zip(found).filter_map(|(suffix, found)| found.map(|_| suffix));
    let stale: Vec<&'static str> = stale.collect();
    match stale.first().filter(|_| !upload.overwrite) {
        None => Ok(stale),
        Some(suffix) => {
            let problem = format!(
                "`{name}{suffix}` is there without its file and would be taken for the new one's; remove it, or set `overwrite`"
            );
            Err(io::Error::new(ErrorKind::AlreadyExists, problem))
        }
    }
}

/// Puts sidecars beside the new object, and removes those of the replaced one. The messages of failures say that the
/// object is written.
pub(super) fn settle_beside(
    name: &str,
    url: &str,
    remote: &RemoteOptions,
    stale: &[&'static str],
    sidecars: &[(String, Vec<u8>)],
) -> io::Result<()> {
    let mut result = Ok(());
    let left = |what: &str, suffix: &str, error: &io::Error| {
        io::Error::new(error.kind(), format!("is written, but `{name}{suffix}` {what}: {error}"))
    };
    for (suffix, bytes) in sidecars {
        let put = put_sidecar(&format!("{url}{suffix}"), remote, bytes);
        result = result.and(put.map_err(|error| left("could not be put beside it", suffix, &error)));
    }
    for suffix in stale.iter().filter(|suffix| sidecars.iter().all(|(new, _)| new != *suffix)) {
        let removed = remove(&format!("{url}{suffix}"), remote, &Cancel::default());
        let what = "of the object it replaced could not be removed, do so before reading it";
        result = result.and(removed.map_err(|error| left(what, suffix, &error)));
    }
    result
}

fn put_sidecar(url: &str, remote: &RemoteOptions, bytes: &[u8]) -> io::Result<()> {
    let options = UploadOptions::new().overwrite(true).content_type("application/xml");
    let mut upload = Upload::begin(url, remote, &options, &Cancel::default())?;
    upload.append(bytes)?;
    upload.complete()
}
