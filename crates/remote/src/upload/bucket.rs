//! Requests to a bucket that is written to: signed, sent and retried.

use super::xml;
use crate::client::{Unencrypted, Web};
use crate::failure::{Failure, Then};
use crate::host::{Host, host_of};
use crate::options::RemoteOptions;
use crate::place::{Place, Service};
use crate::profile::{self, Profile};
use crate::store::{azure_of, gcs_of, s3_of, unsent, without_url};
use crate::tries::Tries;
use async_trait::async_trait;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use object_store::aws::AmazonS3;
use object_store::azure::{AzureAuthorizer, AzureConfigKey, MicrosoftAzure};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::gcp::{GoogleCloudStorage, GoogleConfigKey};
use object_store::path::Path;
use object_store::signer::{SignedUrlOptions, Signer as _};
use object_store::{ClientOptions, ObjectStore, ObjectStoreExt as _};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::timeout;
use url::Url;

/// Validity of a signature.
const SIGNED_FOR: Duration = Duration::from_secs(3600);
/// Maximum length of an answer; stores send no longer texts.
const LONGEST_ANSWER: usize = 4 << 20;
/// Bytes per second below which a connection counts as stalled.
const SLOWEST: u64 = 64 << 10;

/// A bucket and how it is accessed.
pub(crate) struct Bucket {
    pub(crate) place: Place,
    options: RemoteOptions,
    web: Web,
    host: Arc<Host>,
    signer: Signer,
    /// Whether requests may be sent without TLS.
    allow_http: bool,
}

enum Signer {
    S3(AmazonS3),
    /// With the URL of the container.
    Azure {
        store: MicrosoftAzure,
        account: String,
        container: Url,
    },
    /// With the URL of the service.
    Gcs {
        store: GoogleCloudStorage,
        service: String,
        signed: bool,
    },
}

/// A request.
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) to: To,
    pub(crate) query: Vec<(&'static str, String)>,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Bytes,
    /// Whether a store may take long to answer, up to `total_timeout`.
    pub(crate) slow: bool,
}

/// Target of a request.
#[derive(Clone)]
pub(crate) enum To {
    /// An object, or the bucket for the empty path.
    Key(Path),
    /// A path of Google's JSON API.
    Json(String),
    /// A URL from the service that needs no signature.
    Session(Url),
}

/// An answer.
pub(crate) struct Told {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    /// Whether an earlier try of the request may have had an effect.
    pub(crate) repeated: bool,
}

impl Ask {
    pub(crate) fn new(method: Method, to: To) -> Self {
        Self { method, to, query: Vec::new(), headers: Vec::new(), body: Bytes::new(), slow: false }
    }

    pub(crate) fn query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn slow(mut self) -> Self {
        self.slow = true;
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }
}

impl Told {
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.headers.get(name)?.to_str().ok().map(str::to_owned)
    }

    /// Returns the store's own error code.
    pub(crate) fn code(&self) -> String {
        let code = xml::text(&self.body, "Code").or_else(|| self.text("x-ms-error-code")).unwrap_or_default();
        code.chars().filter(char::is_ascii_alphanumeric).take(64).collect()
    }

    /// Returns an error for the store's answer. Messages of stores quote requests, so it contains only the code.
    pub(crate) fn refused(&self) -> io::Error {
        let code = self.code();
        let shown = if code.is_empty() { String::new() } else { format!(" ({code})") };
        let mut text = format!("the store answers {}{shown}", self.status);
        if let Some(region) = self.text("x-amz-bucket-region").filter(|_| !self.status.is_success()) {
            text += &format!("; the bucket is in region {region}");
        }
        let kind = match self.status.as_u16() {
            404 | 410 => io::ErrorKind::NotFound,
            401 | 403 => io::ErrorKind::PermissionDenied,
            409 | 412 => io::ErrorKind::AlreadyExists,
            501 => io::ErrorKind::Unsupported,
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, text)
    }

    /// Returns the answer if the request succeeded.
    pub(crate) fn done(self) -> io::Result<Self> {
        if self.status.is_success() { Ok(self) } else { Err(self.refused()) }
    }
}

impl Bucket {
    /// Accesses the bucket of a URL. Sends no request, except for credentials.
    pub(crate) async fn of(place: Place, options: &RemoteOptions) -> io::Result<Self> {
        let refuse = |kind, problem: &str| Err(io::Error::new(kind, problem));
        if place.service == Service::Http {
            let problem =
                "cannot write over plain HTTP; write to a bucket (s3://, gs://, az://) or to a local file";
            return refuse(io::ErrorKind::Unsupported, problem);
        }
        if options.anonymous && place.service != Service::Gcs {
            let problem = "writing needs credentials, and `anonymous` sends none";
            return refuse(io::ErrorKind::InvalidInput, problem);
        }
        let web = Web::new(options)?;
        let profile = match place.service {
            Service::S3 => profile::of_user(options)?,
            _ => Profile::default(),
        };
        let (signer, allow_http) = signer_of(&place, options, &profile, &web).await.map_err(|error| {
            let problem = format!("cannot reach the bucket: {}", without_url(&error));
            io::Error::new(io::ErrorKind::InvalidInput, problem)
        })?;
        let host = host_of(&place.host());
        Ok(Self { place, options: options.clone(), web, host, signer, allow_http })
    }

    /// Sends a request until the store has answered it, with retries if necessary. It takes a place in the host's
    /// window, like reads.
    pub(crate) async fn send(&self, ask: &Ask) -> io::Result<Told> {
        let mut tries = Tries::new(&self.options, &self.host);
        let mut repeated = false;
        let slow = Duration::from_secs(ask.body.len() as u64 / SLOWEST);
        loop {
            let entered = self.host.enter().await;
            let left = tries.left();
            let patience =
                if ask.slow { left } else { self.options.stall_timeout.saturating_add(slow) }.min(left);
            let answer = timeout(patience, self.send_once(ask)).await;
            drop(entered);
            let failure = match answer {
                Ok(Ok(told)) => {
                    self.host.answered(ask.body.len() as u64, (0, Duration::ZERO));
                    return Ok(Told { repeated, ..told });
                }
                Ok(Err(failure)) => failure,
                Err(_) => Failure::brief(
                    io::ErrorKind::TimedOut,
                    format!("the store did not answer within {patience:?}"),
                ),
            };
            repeated = true;
            tries.pause(failure, false).await?;
        }
    }

    async fn send_once(&self, ask: &Ask) -> Result<Told, Failure> {
        let request = self.signed(ask).await?;
        let url = Url::parse(&request.uri().to_string()).map_err(|_| unsendable())?;
        Unencrypted::check(&url, self.allow_http).map_err(|refused| Failure::transport(&refused))?;
        let answer = self.web.ask(&url, request).await?;
        let (parts, mut body) = answer.into_parts();
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Failure::transport(&error))?;
            if let Ok(data) = frame.into_data() {
                if bytes.len() + data.len() > LONGEST_ANSWER {
                    return Err(Failure::last(
                        io::ErrorKind::InvalidData,
                        "the store's answer is too long to be one",
                    ));
                }
                bytes.extend_from_slice(&data);
            }
        }
        let body = String::from_utf8_lossy(&bytes).into_owned();
        let told = Told { status: parts.status, headers: parts.headers, body, repeated: false };
        let after = told.text(RETRY_AFTER.as_str()).and_then(|seconds| seconds.trim().parse().ok());
        let then = match told.status.as_u16() {
            429 | 503 => Then::SlowDown(after.map(Duration::from_secs)),
            408 | 500 | 502 | 504..=599 => Then::Retry(after.map(Duration::from_secs)),
            // Stores answer 200 before they know the result of a long request.
            200 if told.body.contains("<Error>") && told.code() == "InternalError" => Then::Retry(None),
            _ => return Ok(told),
        };
        Err(Failure { error: told.refused(), then })
    }

    /// Returns the request, signed now.
    async fn signed(&self, ask: &Ask) -> Result<HttpRequest, Failure> {
        let mut headers = HeaderMap::new();
        for (name, value) in &ask.headers {
            let value = HeaderValue::from_str(value).map_err(|_| unsendable())?;
            headers.insert(HeaderName::from_static(name), value);
        }
        for (name, value) in self.web.headers() {
            headers.entry(name).or_insert_with(|| value.clone());
        }
        headers.insert(CONTENT_LENGTH, HeaderValue::from(ask.body.len()));
        let url = match (&ask.to, &self.signer) {
            (To::Session(url), _) => url.clone(),
            (To::Key(key), Signer::S3(store)) => {
                let mut options = SignedUrlOptions::new()
                    .with_query(ask.query.iter().map(|(name, value)| (*name, value.clone())));
                for (name, value) in headers.iter().filter(|(name, _)| name.as_str().starts_with("x-amz-")) {
                    options = options.with_signed_header(name.clone(), value.clone());
                }
                let signed = store.signed_url_opts(ask.method.clone(), key, SIGNED_FOR, &options).await;
                signed.map_err(|error| unsent(&error))?
            }
            (To::Key(key), Signer::Azure { container, .. }) => {
                let mut url = container.clone();
                if let Ok(mut segments) = url.path_segments_mut() {
                    segments.extend(key.parts());
                }
                with_query(url, ask)
            }
            (To::Key(key), Signer::Gcs { service, .. }) => {
                let bucket = self.place.url.host_str().unwrap_or_default();
                let text = format!("{service}/{bucket}/{}", encoded(key.as_ref()));
                with_query(Url::parse(&text).map_err(|_| unsendable())?, ask)
            }
            (To::Json(path), Signer::Gcs { service, .. }) => {
                let url = Url::parse(&format!("{service}{path}")).map_err(|_| unsendable())?;
                with_query(url, ask)
            }
            (To::Json(_), _) => return Err(unsendable()),
        };
        let mut request = Request::builder()
            .method(ask.method.clone())
            .uri(url.as_str())
            .body(ask.body.clone().into())
            .map_err(|_| unsendable())?;
        *request.headers_mut() = headers;
        match (&ask.to, &self.signer) {
            (To::Session(_), _) | (_, Signer::S3(_)) => {}
            (_, Signer::Azure { store, account, .. }) => {
                let credential =
                    store.credentials().get_credential().await.map_err(|error| unsent(&error))?;
                let authorizer = AzureAuthorizer::new(&credential, account);
                authorizer.try_authorize(&mut request).map_err(|error| unsent(&error))?;
            }
            (_, Signer::Gcs { store, signed, .. }) => {
                if *signed {
                    let credential =
                        store.credentials().get_credential().await.map_err(|error| unsent(&error))?;
                    let mut value = HeaderValue::from_str(&format!("Bearer {}", credential.bearer))
                        .map_err(|_| unsendable())?;
                    value.set_sensitive(true);
                    request.headers_mut().insert(AUTHORIZATION, value);
                }
            }
        }
        Ok(request)
    }

    /// Returns the bucket's name in paths of Google's JSON API.
    pub(crate) fn json_bucket(&self) -> String {
        encoded(self.place.url.host_str().unwrap_or_default())
    }

    /// Returns whether a URL from the service points to the service itself.
    pub(crate) fn is_own(&self, url: &Url) -> bool {
        match &self.signer {
            Signer::Gcs { service, .. } => Url::parse(service).is_ok_and(|own| own.origin() == url.origin()),
            Signer::S3(_) | Signer::Azure { .. } => false,
        }
    }
}

fn with_query(mut url: Url, ask: &Ask) -> Url {
    if !ask.query.is_empty() {
        url.query_pairs_mut().extend_pairs(ask.query.iter().map(|(name, value)| (*name, value.as_str())));
    }
    url
}

pub(crate) fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

fn unsendable() -> Failure {
    Failure::last(io::ErrorKind::InvalidInput, "the URL or a header cannot be sent")
}

async fn signer_of(
    place: &Place,
    options: &RemoteOptions,
    profile: &Profile,
    web: &Web,
) -> object_store::Result<(Signer, bool)> {
    let allowed = |value: Option<String>| value.as_deref() == Some("true");
    Ok(match place.service {
        // HTTP was refused before.
        Service::Http | Service::S3 => {
            let builder = s3_of(place, options, profile, web)?;
            let allowed = allowed(builder.get_config_value(&"allow_http".parse()?));
            (Signer::S3(builder.build()?), allowed)
        }
        Service::Azure => {
            let builder = azure_of(place, options, web)?;
            let named = builder.get_config_value(&AzureConfigKey::AccountName);
            let asked = Asked::default();
            let probe =
                builder.clone().with_skip_signature(true).with_http_connector(asked.clone()).build()?;
            let mut container = asked.url(&probe).await?;
            if let Ok(mut segments) = container.path_segments_mut() {
                segments.pop();
            }
            let account = named.unwrap_or_else(|| account_of(&container));
            let allowed = allowed(builder.get_config_value(&"allow_http".parse()?));
            (Signer::Azure { store: builder.build()?, account, container }, allowed)
        }
        Service::Gcs => {
            let builder = gcs_of(place, options, web)?;
            let skipped = builder.get_config_value(&GoogleConfigKey::SkipSignature);
            let signed = skipped.as_deref() != Some("true");
            let asked = Asked::default();
            let probe =
                builder.clone().with_skip_signature(true).with_http_connector(asked.clone()).build()?;
            let url = asked.url(&probe).await?;
            // Without the bucket and the key, whose slashes are encoded.
            let service = url.as_str().rsplitn(3, '/').nth(2).unwrap_or_default().to_owned();
            let allowed = allowed(builder.get_config_value(&"allow_http".parse()?));
            (Signer::Gcs { store: builder.build()?, service, signed }, allowed)
        }
    })
}

/// Returns the account of a container: part of the host's name, else the first folder.
fn account_of(container: &Url) -> String {
    let host = container.host_str().unwrap_or_default();
    match host.parse::<std::net::IpAddr>().is_ok() || host == "localhost" {
        true => container.path_segments().and_then(|mut path| path.next()).unwrap_or_default().to_owned(),
        false => host.split('.').next().unwrap_or_default().to_owned(),
    }
}

/// A connector that only records the URLs that `object_store` derives from its settings.
#[derive(Debug, Clone, Default)]
struct Asked(Arc<Mutex<Option<String>>>);

impl Asked {
    /// Returns the URL of an object with the name `x`.
    async fn url(&self, store: &dyn ObjectStore) -> object_store::Result<Url> {
        let _not_sent = store.head(&Path::from("x")).await;
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let url = taken.and_then(|text| Url::parse(&text).ok());
        url.ok_or(object_store::Error::NotSupported { source: "the bucket has no URL".into() })
    }
}

#[async_trait]
impl HttpService for Asked {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(request.uri().to_string());
        Err(HttpError::new(HttpErrorKind::Unknown, io::Error::other("not sent")))
    }
}

impl HttpConnector for Asked {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}
