//! The dict `storage_options`: how buckets are reached.

use crate::error::refused;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::time::Duration;
use strile::io::RemoteOptions;

/// The options of a dict. Keys that are no options of strile are settings of the bucket by the names of `object_store`. Values
/// may be secrets: messages name keys alone.
pub(crate) fn remote_options(dict: Option<&Bound<'_, PyDict>>) -> PyResult<RemoteOptions> {
    let mut options = RemoteOptions::new();
    let Some(dict) = dict else { return Ok(options) };
    for (key, value) in dict {
        let name: String =
            key.extract().map_err(|_| PyTypeError::new_err("storage_options has a key that is not text"))?;
        let wrong =
            |expected: &str| PyTypeError::new_err(format!("storage_options[{name:?}]: expected {expected}"));
        let flag = || value.extract::<bool>().map_err(|_| wrong("True or False"));
        let text = || value.extract::<String>().map_err(|_| wrong("text"));
        let time = || {
            let seconds = value.extract::<f64>().map_err(|_| wrong("seconds"))?;
            let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
            time.ok_or_else(|| refused(format!("storage_options[{name:?}]: expected seconds above 0")))
        };
        match name.as_str() {
            "anonymous" => options.anonymous = flag()?,
            "allow_http" => options.allow_http = flag()?,
            "request_payer" => options.request_payer = flag()?,
            "region" => options.region = Some(text()?),
            "endpoint" => options.endpoint = Some(text()?),
            "connect_timeout" => options.connect_timeout = time()?,
            "stall_timeout" => options.stall_timeout = time()?,
            "total_timeout" => options.total_timeout = time()?,
            "retries" => options.retries = value.extract().map_err(|_| wrong("a number of retries"))?,
            "headers" => {
                let headers = value.cast::<PyDict>().map_err(|_| wrong("a dict of texts"))?;
                for (header, value) in headers {
                    let pair = (header.extract(), value.extract());
                    let (Ok(header), Ok(value)) = pair else { return Err(wrong("a dict of texts")) };
                    options.headers.push((header, value));
                }
            }
            _ => options.settings.push((name.clone(), text()?)),
        }
    }
    // Two dicts in another order are the same options.
    options.settings.sort();
    options.headers.sort();
    Ok(options)
}
