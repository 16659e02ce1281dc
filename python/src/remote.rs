//! How remote files are reached, as a dict of Python has it; `strile.reading.storage` makes the dict.

use crate::error::{exception, refused};
use crate::keys::{Keys, elements, float, text};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use strile::io::{PrivateHost, RemoteOptions};
use strile::{Error, OpenOptions, SidecarSearch};

/// Options of remote files. Without a dict private hosts are refused.
pub(crate) fn options(dict: Option<&Bound<'_, PyDict>>) -> PyResult<RemoteOptions> {
    let Some(dict) = dict else { return Ok(RemoteOptions::new().deny_private_hosts(true)) };
    let mut keys = Keys::new("remote", dict);
    let mut options = RemoteOptions::new()
        .anonymous(keys.flag("anonymous")?.unwrap_or(false))
        .allow_http(keys.flag("allow_http")?.unwrap_or(false))
        .request_payer(keys.flag("request_payer")?.unwrap_or(false))
        .deny_private_hosts(keys.flag("deny_private_hosts")?.unwrap_or(true))
        .merge_gap(keys.integer("merge_gap", "a number of bytes")?);
    options.region = keys.text("region")?;
    options.endpoint = keys.text("endpoint")?;
    options.headers = pairs(&mut keys, "headers")?;
    options.settings = pairs(&mut keys, "settings")?;
    let hosts = keys.list("allowed_private_hosts", "a list of hosts", text)?;
    options.allowed_private_hosts = hosts.unwrap_or_default();
    for (key, time) in [
        ("connect_timeout", &mut options.connect_timeout),
        ("stall_timeout", &mut options.stall_timeout),
        ("total_timeout", &mut options.total_timeout),
    ] {
        if let Some(seconds) = keys.typed(key, "a number of seconds", float)? {
            let wrong = |_| refused(format!("{key} is {seconds}: expected a number of seconds above 0"));
            *time = Duration::try_from_secs_f64(seconds).map_err(wrong)?;
        }
    }
    options.retries = keys.integer("retries", "a number of retries")?.unwrap_or(options.retries);
    keys.finish()?;
    Ok(options)
}

/// Options of a bucket that is written to; the defaults for other targets.
pub(crate) fn target_options(dict: Option<&Bound<'_, PyDict>>) -> PyResult<RemoteOptions> {
    Ok(dict.map(|dict| options(Some(dict))).transpose()?.unwrap_or_default())
}

/// Names and values. Values may be secret: a wrong one is not shown.
fn pairs(keys: &mut Keys<'_, '_>, key: &'static str) -> PyResult<Vec<(String, String)>> {
    let Some(value) = keys.get(key)? else { return Ok(Vec::new()) };
    let pair = |value: &Bound<'_, PyAny>| value.extract::<(String, String)>().ok();
    let pairs = elements(&value).and_then(|pairs| pairs.iter().map(pair).collect());
    pairs.ok_or_else(|| refused(format!("remote `{key}`: expected pairs of names and values")))
}

/// How a file is opened.
pub(crate) fn open_options(sidecars: &str, remote: Option<&Bound<'_, PyDict>>) -> PyResult<OpenOptions> {
    let search: SidecarSearch =
        sidecars.parse().map_err(|problem| refused(format!("sidecars: {problem}")))?;
    Ok(OpenOptions::new().sidecars(search).remote(options(remote)?))
}

/// Raises for a host on this machine or in a private network; `location` is what names it.
#[pyfunction]
pub(crate) fn check_host(py: Python<'_>, host: &str, location: &str) -> PyResult<()> {
    let checked = crate::call::detached(py, || strile::io::check_host(host))?;
    checked.map_err(|error| {
        let is_private = error.get_ref().is_some_and(|inner| inner.is::<PrivateHost>());
        let error = match is_private {
            true => error,
            false => {
                let text = format!("cannot find the host '{host}' ({error})");
                io::Error::new(io::ErrorKind::ConnectionAborted, text)
            }
        };
        exception(Error::Io { path: location.into(), error: Arc::new(error) })
    })
}
