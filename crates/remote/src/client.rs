//! Connections, shared by all objects with the same options.

use crate::counted::Counted;
use crate::failure::{Failure, Then};
use crate::guard::Guard;
use crate::options::RemoteOptions;
use crate::stats;
use async_trait::async_trait;
use http::StatusCode;
use http::header::{ACCEPT_ENCODING, ETAG, HeaderMap, HeaderName, HeaderValue, LAST_MODIFIED};
use http::response::Parts;
use http_body_util::{BodyExt as _, Limited};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use reqwest::redirect::Policy;
use rustls::ClientConfig;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use url::Url;

/// Maximum bytes of an answer with keys.
const KEYS_LEN: usize = 64 << 10;

/// Connections of one process.
#[derive(Debug, Clone)]
pub(crate) struct Web(Arc<Clients>);

#[derive(Debug)]
struct Clients {
    connect_timeout: Duration,
    guard: Option<Guard>,
    /// Headers of every request for an object.
    headers: HeaderMap,
    /// Without TLS, with TLS; then the same for requests of credentials, which go to addresses that the cloud chooses.
    made: [OnceLock<reqwest::Client>; 4],
}

/// Marks a request for an object (not for credentials), and receives the head of its answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Head(Arc<Mutex<Option<Parts>>>);

impl Head {
    pub(crate) fn take(&self) -> Option<Parts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Web {
    pub(crate) fn new(options: &RemoteOptions) -> io::Result<Self> {
        Ok(Self(Arc::new(Clients {
            connect_timeout: options.connect_timeout,
            guard: options
                .deny_private_hosts
                .then(|| Guard { allowed: options.allowed_private_hosts.clone().into() }),
            headers: headers_of(&options.headers)?,
            made: Default::default(),
        })))
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.0.headers
    }

    /// Returns the HTTP connector for `object_store`. Some of its stores allow plain HTTP on their own if their
    /// endpoint uses it: here the caller decides.
    pub(crate) fn signed(&self, allow_http: bool) -> Signed {
        Signed { web: self.clone(), allow_http }
    }

    /// Sends one request for an object and returns its answer with any status. The caller handles redirects.
    pub(crate) async fn ask(&self, url: &Url, mut request: HttpRequest) -> Result<HttpResponse, Failure> {
        request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(guard) = &self.0.guard {
            guard.check_url(url).map_err(|refused| Failure::transport(&refused))?;
        }
        let unusable = |error| Failure { error, then: Then::GiveUp };
        let client = self.client(url.scheme() == "https", false).map_err(unusable)?;
        stats::REQUESTS.add(1);
        client.call(request).await.map_err(|error| Failure::transport(&error))
    }

    /// Sends one request for credentials and returns the status and the body of its answer.
    pub(crate) async fn ask_for_keys(
        &self,
        url: &Url,
        request: HttpRequest,
    ) -> io::Result<(StatusCode, Vec<u8>)> {
        let failed = |error: &dyn fmt::Display| {
            let host = url.host_str().unwrap_or_default();
            io::Error::other(format!("cannot ask {host} for keys: {error}"))
        };
        let client = self.client(url.scheme() == "https", true)?;
        let answer = client.call(request).await.map_err(|error| failed(&error))?;
        let (parts, body) = answer.into_parts();
        let body = Limited::new(body, KEYS_LEN).collect().await.map_err(|error| failed(&error))?;
        Ok((parts.status, body.to_bytes().to_vec()))
    }

    fn client(&self, tls: bool, credentials: bool) -> io::Result<&reqwest::Client> {
        let [plain, secure, plain_credentials, secure_credentials] = &self.0.made;
        let place = match (tls, credentials) {
            (false, false) => plain,
            (true, false) => secure,
            (false, true) => plain_credentials,
            (true, true) => secure_credentials,
        };
        if let Some(made) = place.get() {
            return Ok(made);
        }
        let made = self.make(tls, self.0.guard.as_ref().filter(|_| !credentials))?;
        Ok(place.get_or_init(|| made))
    }

    fn make(&self, tls: bool, guard: Option<&Guard>) -> io::Result<reqwest::Client> {
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("strile/", env!("CARGO_PKG_VERSION")))
            // One request per connection: ranges arrive in parallel, each at the full rate of its connection.
            .http1_only()
            .http1_title_case_headers()
            .redirect(Policy::none())
            .connect_timeout(self.0.connect_timeout)
            .tcp_nodelay(true)
            .connector_layer(Counted)
            .tls_backend_preconfigured(tls_config(tls)?);
        if let Some(guard) = guard {
            // A proxy would resolve names itself.
            builder = builder.dns_resolver(guard.clone()).no_proxy();
        }
        builder.build().map_err(|error| io::Error::other(format!("cannot make an HTTP client: {error}")))
    }
}

fn headers_of(pairs: &[(String, String)]) -> io::Result<HeaderMap> {
    let wrong = |name: &str| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("`headers`: the header `{name}` is not a valid one"),
        )
    };
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong(name))?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong(name))?;
        value.set_sensitive(true);
        headers.append(key, value);
    }
    Ok(headers)
}

/// Returns the TLS configuration with the system's certificates. Without `tls` none is trusted, and none is loaded.
fn tls_config(tls: bool) -> io::Result<ClientConfig> {
    let fail = |error: rustls::Error| io::Error::other(format!("cannot set up TLS: {error}"));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(fail)?;
    let builder = match tls {
        true => {
            let verifier = rustls_platform_verifier::Verifier::new(provider).map_err(fail)?;
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        }
        false => builder.with_root_certificates(rustls::RootCertStore::empty()),
    };
    Ok(builder.with_no_client_auth())
}

/// A request to a bucket would be sent without TLS.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unencrypted;

impl fmt::Display for Unencrypted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the endpoint is not encrypted; use https, or allow it (`allow_http`)")
    }
}

impl std::error::Error for Unencrypted {}

impl Unencrypted {
    /// Refuses plain HTTP, unless it is allowed or stays on this machine, where it cannot be intercepted.
    pub(crate) fn check(url: &Url, allow_http: bool) -> Result<(), Self> {
        let is_loopback = match url.host() {
            Some(url::Host::Domain(name)) => name == "localhost",
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        if url.scheme() == "http" && !allow_http && !is_loopback { Err(Self) } else { Ok(()) }
    }
}

/// Sends requests that `object_store` has made and signed.
#[derive(Debug, Clone)]
pub(crate) struct Signed {
    web: Web,
    allow_http: bool,
}

#[async_trait]
impl HttpService for Signed {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let unsent = |error: io::Error| HttpError::new(HttpErrorKind::Unknown, error);
        let Some(head) = request.extensions().get::<Head>().cloned() else {
            let tls = request.uri().scheme_str() == Some("https");
            return self.web.client(tls, true).map_err(unsent)?.call(request).await;
        };
        let url = Url::parse(&request.uri().to_string())
            .map_err(|error| unsent(io::Error::new(io::ErrorKind::InvalidInput, error)))?;
        Unencrypted::check(&url, self.allow_http).map_err(|refused| unsent(io::Error::other(refused)))?;
        for (name, value) in self.web.headers() {
            // Signed headers are already present.
            request.headers_mut().entry(name).or_insert_with(|| value.clone());
        }
        let answer = self.web.ask(&url, request).await.map_err(|failure| unsent(failure.error))?;
        let (mut parts, body) = answer.into_parts();
        *head.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(parts.clone());
        // `object_store` refuses answers without these headers. This crate's checks see the original answer.
        let unknown = [(ETAG, "\"\""), (LAST_MODIFIED, "Thu, 01 Jan 1970 00:00:00 GMT")];
        for (name, value) in unknown {
            parts.headers.entry(name).or_insert(HeaderValue::from_static(value));
        }
        Ok(HttpResponse::from_parts(parts, body))
    }
}

impl HttpConnector for Signed {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}
