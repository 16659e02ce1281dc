//! Options for remote objects.

use crate::place::service_of;
use std::fmt;
use std::time::Duration;
use strile_engine::setters;

/// Options for accessing remote objects. Secrets are never shown: `Debug` prints only the names of headers and
/// settings.
///
/// ```
/// use strile_remote::RemoteOptions;
///
/// let options = RemoteOptions::new().anonymous(true).region("eu-central-1");
/// assert!(!options.deny_private_hosts);
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RemoteOptions {
    /// Send no credentials to a bucket.
    pub anonymous: bool,
    /// Region of an S3 bucket.
    pub region: Option<String>,
    /// URL of the service that holds a bucket, instead of the cloud's own.
    pub endpoint: Option<String>,
    /// Allow an endpoint without TLS.
    pub allow_http: bool,
    /// Pay for requests to a requester-pays S3 bucket.
    pub request_payer: bool,
    /// Headers of every request for an object. They are not sent to another host after a redirect.
    pub headers: Vec<(String, String)>,
    /// Settings of a bucket by their names in `object_store`, such as `aws_access_key_id`. They override the
    /// environment.
    pub settings: Vec<(String, String)>,
    /// Refuse hosts on this machine and in private networks, also in redirects.
    pub deny_private_hosts: bool,
    /// Hosts that `deny_private_hosts` permits, as in URLs.
    pub allowed_private_hosts: Vec<String>,
    /// Time to establish a connection.
    pub connect_timeout: Duration,
    /// Longest time without a byte, from the request on.
    pub stall_timeout: Duration,
    /// Longest time for one read, with all its retries.
    pub total_timeout: Duration,
    /// Retries after a failure; the count restarts when bytes arrive.
    pub retries: u32,
    /// Ranges this close together are fetched as one; by default latency × bandwidth decides, as measured so far.
    pub merge_gap: Option<u64>,
    /// Repeat a request that takes far longer than others to this host, and use the first answer. At most one request
    /// in twenty is repeated.
    pub hedge: bool,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self {
            anonymous: false,
            region: None,
            endpoint: None,
            allow_http: false,
            request_payer: false,
            headers: Vec::new(),
            settings: Vec::new(),
            deny_private_hosts: false,
            allowed_private_hosts: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            stall_timeout: Duration::from_secs(30),
            total_timeout: Duration::from_secs(600),
            retries: 6,
            merge_gap: None,
            hedge: true,
        }
    }
}

impl RemoteOptions {
    /// Returns the defaults: credentials by the cloud's usual chain, every host allowed.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets whether to send no credentials.
        anonymous: bool,
        /// Sets whether an endpoint without TLS is allowed.
        allow_http: bool,
        /// Sets whether the reader pays for requests.
        request_payer: bool,
        /// Sets whether hosts on this machine and in private networks are refused.
        deny_private_hosts: bool,
        /// Sets the time to establish a connection.
        connect_timeout: Duration,
        /// Sets the longest time without a byte.
        stall_timeout: Duration,
        /// Sets the longest time for one read.
        total_timeout: Duration,
        /// Sets how often a request is retried.
        retries: u32,
        /// Sets the distance up to which ranges are fetched as one.
        merge_gap: Option<u64>,
        /// Sets whether a request that takes far longer than others is repeated.
        hedge: bool,
    }

    /// Sets the region of an S3 bucket.
    #[must_use]
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into());
        self
    }

    /// Sets the URL of the service that holds a bucket.
    #[must_use]
    pub fn endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = Some(endpoint.into());
        self
    }

    /// Adds a header to every request for an object.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Adds a host that `deny_private_hosts` permits.
    #[must_use]
    pub fn allowed_private_host(mut self, host: impl Into<String>) -> Self {
        self.allowed_private_hosts.push(host.into());
        self
    }

    /// Returns the options for another URL, without those that its service does not use.
    #[must_use]
    pub fn fitting(&self, url: &str) -> Self {
        let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
        service_of(scheme).map_or_else(|| self.clone(), |service| service.fitting(self))
    }

    /// Adds a setting of a bucket.
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }
}

impl fmt::Debug for RemoteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names =
            |pairs: &[(String, String)]| pairs.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        f.debug_struct("RemoteOptions")
            .field("anonymous", &self.anonymous)
            .field("region", &self.region)
            .field("endpoint", &self.endpoint.is_some())
            .field("allow_http", &self.allow_http)
            .field("request_payer", &self.request_payer)
            .field("headers", &names(&self.headers))
            .field("settings", &names(&self.settings))
            .field("deny_private_hosts", &self.deny_private_hosts)
            .field("allowed_private_hosts", &self.allowed_private_hosts)
            .field("connect_timeout", &self.connect_timeout)
            .field("stall_timeout", &self.stall_timeout)
            .field("total_timeout", &self.total_timeout)
            .field("retries", &self.retries)
            .field("merge_gap", &self.merge_gap)
            .field("hedge", &self.hedge)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_fit_the_service() {
        let options =
            RemoteOptions::new().region("x").endpoint("https://e").setting("a", "b").anonymous(true);
        assert_eq!(options.fitting("s3://b/k"), options);
        assert_eq!(options.fitting("https://h/k"), RemoteOptions::new().anonymous(true));
        assert_eq!(options.fitting("gs://b/k"), RemoteOptions { region: None, ..options.clone() });
    }

    #[test]
    fn secrets_are_not_shown() {
        let options = RemoteOptions::new()
            .header("Authorization", "Bearer concealed")
            .setting("aws_secret_access_key", "concealed")
            .endpoint("https://user:concealed@host");
        let shown = format!("{options:?}");
        assert!(!shown.contains("concealed"), "{shown}");
        assert!(shown.contains("Authorization") && shown.contains("aws_secret_access_key"), "{shown}");
    }
}
