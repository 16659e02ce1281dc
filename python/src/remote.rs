//! Provides `RemoteOptions`: how remote files are reached; `strile.reading.storage` makes it.

use crate::dict::dict;
use crate::error::{exception, refused};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use strile::file::SidecarSearch;
use strile::io::{PrivateHost, RemoteOptions};
use strile::{Error, OpenOptions};

/// How remote files are reached.
#[pyclass(frozen, module = "strile._core", name = "RemoteOptions")]
pub(crate) struct Remote(RemoteOptions);

#[pymethods]
impl Remote {
    #[new]
    #[pyo3(signature = (*, anonymous=false, allow_http=false, request_payer=false, deny_private_hosts=true, merge_gap=None,
                        region=None, endpoint=None, headers=None, settings=None, allowed_private_hosts=None,
                        connect_timeout=None, stall_timeout=None, total_timeout=None, retries=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        anonymous: bool,
        allow_http: bool,
        request_payer: bool,
        deny_private_hosts: bool,
        merge_gap: Option<u64>,
        region: Option<String>,
        endpoint: Option<String>,
        headers: Option<Vec<(String, String)>>,
        settings: Option<Vec<(String, String)>>,
        allowed_private_hosts: Option<Vec<String>>,
        connect_timeout: Option<f64>,
        stall_timeout: Option<f64>,
        total_timeout: Option<f64>,
        retries: Option<i128>,
    ) -> PyResult<Self> {
        let mut options = RemoteOptions::new()
            .anonymous(anonymous)
            .allow_http(allow_http)
            .request_payer(request_payer)
            .deny_private_hosts(deny_private_hosts)
            .merge_gap(merge_gap);
        (options.region, options.endpoint) = (region, endpoint);
        options.headers = headers.unwrap_or_default();
        options.settings = settings.unwrap_or_default();
        options.allowed_private_hosts = allowed_private_hosts.unwrap_or_default();
        for (name, seconds, time) in [
            ("connect_timeout", connect_timeout, &mut options.connect_timeout),
            ("stall_timeout", stall_timeout, &mut options.stall_timeout),
            ("total_timeout", total_timeout, &mut options.total_timeout),
        ] {
            if let Some(seconds) = seconds {
                let wrong = |_| refused(format!("{name} is {seconds}: expected a number of seconds above 0"));
                *time = Duration::try_from_secs_f64(seconds).map_err(wrong)?;
            }
        }
        if let Some(retries) = retries {
            let wrong = |_| refused(format!("remote `retries`: expected a number of retries, got {retries}"));
            options.retries = u32::try_from(retries).map_err(wrong)?;
        }
        Ok(Self(options))
    }

    /// Pickles its keywords: a write by a cluster sends it to the workers.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((), Bound<'py, PyDict>)> {
        let options = &self.0;
        let keywords = dict!(
            py; options {
                anonymous, allow_http, request_payer, deny_private_hosts, merge_gap, region, endpoint, headers, settings,
                allowed_private_hosts, retries
            },
            "connect_timeout" => options.connect_timeout.as_secs_f64(), "stall_timeout" => options.stall_timeout.as_secs_f64(),
            "total_timeout" => options.total_timeout.as_secs_f64(),
        );
        Ok(((), keywords))
    }
}

/// Returns options of remote files. By default private hosts are refused.
pub(crate) fn options(given: Option<&Bound<'_, Remote>>) -> RemoteOptions {
    match given {
        Some(given) => given.get().0.clone(),
        None => RemoteOptions::new().deny_private_hosts(true),
    }
}

/// Returns options of a bucket that is written to, and defaults for other targets.
pub(crate) fn target_options(given: Option<&Bound<'_, Remote>>) -> RemoteOptions {
    given.map(|given| given.get().0.clone()).unwrap_or_default()
}

/// Returns how a file is opened.
pub(crate) fn open_options(sidecars: &str, remote: Option<&Bound<'_, Remote>>) -> PyResult<OpenOptions> {
    let search: SidecarSearch =
        sidecars.parse().map_err(|problem| refused(format!("sidecars: {problem}")))?;
    Ok(OpenOptions::new().sidecars(search).remote(options(remote)))
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
