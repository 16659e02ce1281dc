//! Sends a request for a range of an object to its service.

use crate::answer::{Answer, Pin};
use crate::client::{Head, Web};
use crate::failure::Failure;
use crate::options::RemoteOptions;
use crate::place::{Place, Service};
use crate::profile::{self, Profile, Settings};
use crate::sign_in::Finder;
use futures_util::{StreamExt as _, TryStreamExt as _};
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue, IF_MATCH, IF_UNMODIFIED_SINCE, LOCATION, RANGE};
use http::{Extensions, Method, Request};
use http_body_util::BodyExt as _;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::client::HttpRequestBody;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::{ClientOptions, GetOptions, GetRange, ObjectStore, RetryConfig};
use std::collections::HashMap;
use std::error::Error as _;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use strile_engine::PerProcess;
use url::Url;

/// Maximum redirects per request.
const REDIRECTS: usize = 5;
/// Number of stores whose connections a process keeps.
const KEPT: usize = 64;

/// Sends requests.
pub(crate) struct Store {
    web: Web,
    /// Signs requests to a bucket.
    bucket: Option<Arc<dyn ObjectStore>>,
}

/// Objects with equal keys share a store: the service, its bucket, and the options.
type Key = (Service, String, RemoteOptions);

/// Returns the store of a place, the same for all objects of a bucket. A forked child has its own.
pub(crate) fn store_of(place: &Place, options: &RemoteOptions) -> io::Result<Arc<Store>> {
    static STORES: PerProcess<Mutex<HashMap<Key, Arc<Store>>>> = PerProcess::new();
    let bucket = match place.service {
        Service::Http => String::new(),
        _ => format!("{}@{}", place.url.username(), place.url.host_str().unwrap_or_default()),
    };
    let key = (place.service, bucket, options.clone());
    let stores = || STORES.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = stores().get(&key) {
        return Ok(Arc::clone(found));
    }
    let made = Arc::new(Store::new(place, options)?);
    let mut stores = stores();
    if stores.len() >= KEPT {
        stores.clear();
    }
    Ok(Arc::clone(stores.entry(key).or_insert(made)))
}

impl Store {
    fn new(place: &Place, options: &RemoteOptions) -> io::Result<Self> {
        let web = Web::new(options)?;
        let profile = match place.service == Service::S3 && !options.anonymous {
            true => profile::of_user(options)?,
            false => Profile::default(),
        };
        let bucket = bucket_of(place, options, &profile, &web).map_err(|error| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("cannot reach the bucket: {}", without_url(&error)),
            )
        })?;
        Ok(Self { web, bucket })
    }

    /// Requests a range of the state that `pin` names.
    pub(crate) async fn get(&self, place: &Place, asked: &Range<u64>, pin: &Pin) -> Result<Answer, Failure> {
        match &self.bucket {
            None => self.get_http(place, asked, pin).await,
            Some(bucket) => self.get_signed(bucket.as_ref(), place, asked, pin).await,
        }
    }

    async fn get_http(&self, place: &Place, asked: &Range<u64>, pin: &Pin) -> Result<Answer, Failure> {
        let (mut url, moved) = place.target();
        let mut hops = 0;
        loop {
            let own = url.origin() == place.url.origin();
            let asking = request(&url, asked, pin, own.then(|| self.web.headers()))?;
            let answer = self.web.ask(&url, asking).await?;
            let (parts, body) = answer.into_parts();
            if parts.status.is_redirection() && parts.headers.contains_key(LOCATION) {
                hops += 1;
                if hops > REDIRECTS {
                    return Err(Failure::last(
                        io::ErrorKind::Other,
                        format!("more than {REDIRECTS} redirects"),
                    ));
                }
                url = redirected(&url, &parts.headers)?;
                continue;
            }
            if hops > 0 && parts.status.is_success() {
                place.set_moved(Some(url));
            } else if moved && parts.status.is_client_error() {
                // The target of a redirect may be valid only for a short time.
                place.set_moved(None);
                if parts.status != http::StatusCode::PRECONDITION_FAILED {
                    return Err(Failure::brief(
                        io::ErrorKind::Other,
                        format!("the server answers {}", parts.status),
                    ));
                }
            }
            let body = body.into_data_stream().map_err(|error| Failure::transport(&error)).boxed();
            return Ok(Answer { parts, body });
        }
    }

    async fn get_signed(
        &self,
        bucket: &dyn ObjectStore,
        place: &Place,
        asked: &Range<u64>,
        pin: &Pin,
    ) -> Result<Answer, Failure> {
        let head = Head::default();
        let mut extensions = Extensions::new();
        extensions.insert(head.clone());
        let options = GetOptions {
            range: Some(GetRange::Bounded(asked.clone())),
            if_match: pin.strong().map(str::to_owned),
            extensions,
            ..GetOptions::default()
        };
        let answer = bucket.get_opts(&place.key, options).await;
        match (head.take(), answer) {
            (Some(parts), Ok(answer)) => {
                let body = answer.into_stream().map_err(|error| Failure::transport(&error)).boxed();
                Ok(Answer { parts, body })
            }
            // The checks say what is wrong with an answer that `object_store` refuses.
            (Some(parts), Err(_)) => Ok(Answer { parts, body: futures_util::stream::empty().boxed() }),
            (None, Err(error)) => Err(unsent(&error)),
            (None, Ok(_)) => Err(Failure::last(io::ErrorKind::Other, "the answer got lost")),
        }
    }
}

/// Returns the failure of a request that was not sent, for lack of credentials or of a connection.
pub(crate) fn unsent(error: &object_store::Error) -> Failure {
    let is_refused = |cause: &io::Error| cause.kind() == io::ErrorKind::PermissionDenied;
    if error.source().and_then(|cause| cause.downcast_ref()).is_some_and(is_refused) {
        let problem = format!("cannot get credentials: {}", without_url(error));
        return Failure::last(io::ErrorKind::PermissionDenied, problem);
    }
    let mut failure = Failure::transport(error);
    if failure.error.kind() == io::ErrorKind::ConnectionAborted {
        let hint = "set `anonymous` for a public bucket";
        let text = format!("cannot get credentials or a connection: {}; {hint}", without_url(error));
        failure.error = io::Error::new(io::ErrorKind::PermissionDenied, text);
    }
    failure
}

/// Returns the innermost cause of an error, which has no request URL.
pub(crate) fn without_url(error: &object_store::Error) -> String {
    let mut last: &dyn std::error::Error = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

fn request(
    url: &Url,
    asked: &Range<u64>,
    pin: &Pin,
    own: Option<&HeaderMap>,
) -> Result<Request<HttpRequestBody>, Failure> {
    let wrong = |_| Failure::last(io::ErrorKind::InvalidInput, "the URL or a header cannot be sent");
    let mut bare = url.clone();
    let _without_host = bare.set_username("");
    let _without_host = bare.set_password(None);
    bare.set_fragment(None);
    let last = asked.end.saturating_sub(1);
    let mut builder = Request::builder()
        .method(Method::GET)
        .uri(bare.as_str())
        .header(RANGE, format!("bytes={}-{last}", asked.start));
    match (pin.strong(), &pin.modified) {
        (Some(tag), _) => builder = builder.header(IF_MATCH, tag),
        (None, Some(modified)) => builder = builder.header(IF_UNMODIFIED_SINCE, modified),
        (None, None) => {}
    }
    let mut request = builder.body(HttpRequestBody::empty()).map_err(|_| wrong(()))?;
    if own.is_some() && !url.username().is_empty() {
        let mut value = HeaderValue::from_str(&basic(url)).map_err(|_| wrong(()))?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    for (name, value) in own.into_iter().flatten() {
        request.headers_mut().insert(name, value.clone());
    }
    Ok(request)
}

/// Returns user and password of a URL in HTTP's form.
fn basic(url: &Url) -> String {
    let decoded = |text: &str| percent_encoding::percent_decode_str(text).collect::<Vec<u8>>();
    let mut bytes = decoded(url.username());
    bytes.push(b':');
    bytes.extend(decoded(url.password().unwrap_or_default()));
    format!("Basic {}", base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes))
}

fn redirected(from: &Url, headers: &HeaderMap) -> Result<Url, Failure> {
    let refuse =
        |problem: &str| Failure::last(io::ErrorKind::Other, format!("a redirect is refused: {problem}"));
    let location = headers.get(LOCATION).and_then(|location| location.to_str().ok());
    let to =
        location.and_then(|location| from.join(location).ok()).ok_or_else(|| refuse("it leads to no URL"))?;
    match (from.scheme(), to.scheme()) {
        (_, "https") | ("http", "http") => Ok(to),
        ("https", "http") => Err(refuse("it leads from https to http")),
        _ => Err(refuse("it leads neither to http nor to https")),
    }
}

/// Returns the bucket of a place, with credentials by the cloud's chain; `None` for plain HTTP.
fn bucket_of(
    place: &Place,
    options: &RemoteOptions,
    profile: &Profile,
    web: &Web,
) -> object_store::Result<Option<Arc<dyn ObjectStore>>> {
    Ok(match place.service {
        Service::Http => None,
        Service::S3 => Some(Arc::new(s3_of(place, options, profile, web)?.build()?)),
        Service::Gcs => Some(Arc::new(gcs_of(place, options, web)?.build()?)),
        Service::Azure => Some(Arc::new(azure_of(place, options, web)?.build()?)),
    })
}

/// Configures a builder with what all services share: settings, and this crate's connections.
macro_rules! prepared {
    ($builder:expr, $place:expr, $options:expr, $profile:expr, $web:expr) => {{
        let mut builder = $builder;
        for (name, value) in $profile {
            builder = builder.with_config(name.parse()?, value);
        }
        for (name, value) in &$options.settings {
            builder = builder.with_config(name.to_ascii_lowercase().parse()?, value);
        }
        // The environment or a setting may allow it too.
        let allowed = builder.get_config_value(&"allow_http".parse()?).as_deref() == Some("true");
        let allowed = $options.allow_http || allowed;
        let client =
            ClientOptions::new().with_default_headers($web.headers().clone()).with_allow_http(allowed);
        builder
            .with_url(bucket_url($place))
            // Retries are done by this crate.
            .with_retry(RetryConfig { max_retries: 0, ..RetryConfig::default() })
            .with_client_options(client)
            .with_http_connector($web.signed(allowed))
    }};
}

/// Returns the URL of a bucket, without secrets.
fn bucket_url(place: &Place) -> String {
    let mut url = place.url.clone();
    let _no_query = url.set_password(None);
    match place.service {
        Service::S3 => format!("s3://{}", url.host_str().unwrap_or_default()),
        Service::Gcs => format!("gs://{}", url.host_str().unwrap_or_default()),
        _ => url.to_string(),
    }
}

pub(crate) fn s3_of(
    place: &Place,
    options: &RemoteOptions,
    profile: &Profile,
    web: &Web,
) -> object_store::Result<AmazonS3Builder> {
    let mut builder = prepared!(AmazonS3Builder::from_env(), place, options, &profile.settings, web);
    if let Some(sign_in) = &profile.sign_in {
        builder = builder.with_credentials(Arc::new(Finder::new(sign_in.clone(), web.clone())));
    }
    if let Some(region) = &options.region {
        builder = builder.with_region(region);
    }
    if let Some(endpoint) = &options.endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    if options.anonymous {
        builder = builder.with_skip_signature(true);
    }
    if options.request_payer {
        builder = builder.with_request_payer(true);
    }
    Ok(builder)
}

pub(crate) fn gcs_of(
    place: &Place,
    options: &RemoteOptions,
    web: &Web,
) -> object_store::Result<GoogleCloudStorageBuilder> {
    let none = Settings::new();
    // Its defaults allow plain HTTP.
    let builder = GoogleCloudStorageBuilder::from_env().with_client_options(ClientOptions::new());
    let mut builder = prepared!(builder, place, options, &none, web);
    if let Some(endpoint) = &options.endpoint {
        builder = builder.with_base_url(endpoint);
    }
    if options.anonymous {
        builder = builder.with_skip_signature(true);
    }
    Ok(builder)
}

pub(crate) fn azure_of(
    place: &Place,
    options: &RemoteOptions,
    web: &Web,
) -> object_store::Result<MicrosoftAzureBuilder> {
    let none = Settings::new();
    let mut builder = prepared!(MicrosoftAzureBuilder::from_env(), place, options, &none, web);
    if let Some(endpoint) = &options.endpoint {
        builder = builder.with_endpoint(endpoint.clone());
    }
    if options.anonymous {
        builder = builder.with_skip_signature(true);
    }
    Ok(builder)
}
