//! AWS keys by the methods of a profile: SSO, a role, or a program.

use crate::client::Web;
use crate::profile::small_text;
use crate::upload::xml;
use async_trait::async_trait;
use chrono::{DateTime, Utc};
use http::{Method, Request, StatusCode};
use object_store::CredentialProvider;
use object_store::aws::{AwsAuthorizer, AwsCredential};
use object_store::client::HttpRequestBody;
use serde_json::Value;
use std::env;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use url::Url;

/// Keys are renewed when they remain valid for less than this.
const AHEAD: Duration = Duration::from_secs(120);

/// How to find keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SignIn {
    Keys(Keys),
    /// Command line of a program that prints keys.
    Process(String),
    Sso(Sso),
    Role(Role),
}

/// Keys of a profile.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Keys {
    pub id: String,
    pub secret: String,
    pub token: Option<String>,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Keys(..)")
    }
}

/// A role of an account, for users who signed in with `aws sso login`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sso {
    pub profile: String,
    /// The file that `aws sso login` wrote.
    pub token: PathBuf,
    pub region: String,
    pub account: String,
    pub role: String,
}

/// A role to assume with other keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Role {
    pub arn: String,
    pub session: String,
    pub external_id: Option<String>,
    pub region: String,
    pub source: Box<SignIn>,
}

/// Returns an error that a retry would not change.
fn refused(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, problem)
}

/// Keys, and the end of their validity.
type Found = (Arc<AwsCredential>, Option<DateTime<Utc>>);

/// Finds keys when a request needs them, and again before they expire.
#[derive(Debug)]
pub(crate) struct Finder {
    sign_in: SignIn,
    web: Web,
    found: Mutex<Option<Found>>,
}

impl Finder {
    pub(crate) fn new(sign_in: SignIn, web: Web) -> Self {
        Self { sign_in, web, found: Mutex::default() }
    }
}

#[async_trait]
impl CredentialProvider for Finder {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let mut kept = self.found.lock().await;
        if let Some((keys, until)) = &*kept
            && until.is_none_or(|until| until > Utc::now() + AHEAD)
        {
            return Ok(Arc::clone(keys));
        }
        let found = find(&self.sign_in, &self.web).await;
        let found =
            found.map_err(|error| object_store::Error::Generic { store: "S3", source: error.into() })?;
        let keys = Arc::clone(&found.0);
        *kept = Some(found);
        Ok(keys)
    }
}

async fn find(sign_in: &SignIn, web: &Web) -> io::Result<Found> {
    match sign_in {
        SignIn::Keys(Keys { id, secret, token }) => {
            let keys = AwsCredential { key_id: id.clone(), secret_key: secret.clone(), token: token.clone() };
            Ok((Arc::new(keys), None))
        }
        SignIn::Process(command) => of_process(command.clone()).await,
        SignIn::Sso(sso) => of_sso(sso, web).await,
        SignIn::Role(role) => of_role(role, web).await,
    }
}

/// Runs the program of a profile, without a shell.
async fn of_process(command: String) -> io::Result<Found> {
    let fail = |problem: &str| refused(format!("`credential_process` of the AWS profile {problem}"));
    let run = tokio::task::spawn_blocking(move || {
        let words = words_of(&command);
        let (program, arguments) = words.split_first()?;
        Some(Command::new(program).args(arguments).stdin(Stdio::null()).stderr(Stdio::inherit()).output())
    });
    let output = run.await.map_err(io::Error::other)?.ok_or_else(|| fail("is empty"))?;
    let output = output.map_err(|error| fail(&format!("cannot be run: {error}")))?;
    if !output.status.success() {
        return Err(fail(&format!("failed ({})", output.status)));
    }
    let facts: Value = serde_json::from_slice(&output.stdout).map_err(|_| fail("printed no JSON"))?;
    let until = text(&facts, "Expiration").map(time).transpose()?;
    keys(&facts, ["AccessKeyId", "SecretAccessKey", "SessionToken"], until)
        .ok_or_else(|| fail("printed no keys (`AccessKeyId`, `SecretAccessKey`)"))
}

/// Requests keys with the token from `aws sso login`.
async fn of_sso(sso: &Sso, web: &Web) -> io::Result<Found> {
    let again = |problem: &str| {
        let advice = format!("run `aws sso login --profile {}`", sso.profile);
        refused(format!("{problem}; {advice}"))
    };
    let token = small_text(&sso.token).and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let token = token.ok_or_else(|| again("there is no AWS SSO sign-in for this profile"))?;
    let (Some(secret), Some(until)) = (text(&token, "accessToken"), text(&token, "expiresAt")) else {
        return Err(again("the AWS SSO sign-in of this profile cannot be read"));
    };
    if time(until)? <= Utc::now() {
        return Err(again("the AWS SSO sign-in of this profile has expired"));
    }
    let mut url = endpoint("SSO", &format!("https://portal.sso.{}.amazonaws.com", sso.region))?;
    url.set_path("federation/credentials");
    url.query_pairs_mut().append_pair("role_name", &sso.role).append_pair("account_id", &sso.account);
    let request = request(&url).header("x-amz-sso_bearer_token", secret);
    let request = request.body(HttpRequestBody::empty()).map_err(io::Error::other)?;
    let (status, body) = web.ask_for_keys(&url, request).await?;
    match status {
        StatusCode::OK => {}
        StatusCode::UNAUTHORIZED => {
            return Err(again("AWS does not take the SSO sign-in of this profile any more"));
        }
        _ => return Err(io::Error::other(format!("AWS SSO answers {status} to a request for keys"))),
    }
    let facts: Value = serde_json::from_slice(&body).map_err(io::Error::other)?;
    let found = facts.get("roleCredentials").and_then(|facts| {
        let until = facts.get("expiration").and_then(Value::as_i64);
        let until = until.and_then(DateTime::from_timestamp_millis);
        keys(facts, ["accessKeyId", "secretAccessKey", "sessionToken"], until)
    });
    found.ok_or_else(|| io::Error::other("AWS SSO answers without keys"))
}

/// Assumes a role.
async fn of_role(role: &Role, web: &Web) -> io::Result<Found> {
    let (source, _) = Box::pin(find(&role.source, web)).await?;
    let mut url = endpoint("STS", &format!("https://sts.{}.amazonaws.com", role.region))?;
    url.set_path("/");
    url.query_pairs_mut()
        .append_pair("Action", "AssumeRole")
        .append_pair("Version", "2011-06-15")
        .append_pair("RoleArn", &role.arn)
        .append_pair("RoleSessionName", &role.session)
        .extend_pairs(role.external_id.as_ref().map(|id| ("ExternalId", id)));
    let mut request = request(&url).body(HttpRequestBody::empty()).map_err(io::Error::other)?;
    AwsAuthorizer::new(&source, "sts", &role.region)
        .try_authorize(&mut request, None)
        .map_err(io::Error::other)?;
    let (status, body) = web.ask_for_keys(&url, request).await?;
    let body = String::from_utf8_lossy(&body);
    if status != StatusCode::OK {
        let code = xml::text(&body, "Code").unwrap_or_default();
        let problem = format!("cannot assume the role {}: AWS answers {status} {code}", role.arn);
        let problem = problem.trim_end().to_owned();
        return Err(if status.is_server_error() { io::Error::other(problem) } else { refused(problem) });
    }
    let text = |name| xml::text(&body, name);
    let (Some(key_id), Some(secret_key)) = (text("AccessKeyId"), text("SecretAccessKey")) else {
        return Err(io::Error::other(format!("AWS answers without keys of the role {}", role.arn)));
    };
    let until = text("Expiration").as_deref().map(time).transpose()?;
    Ok((Arc::new(AwsCredential { key_id, secret_key, token: text("SessionToken") }), until))
}

/// Returns a request for a URL.
fn request(url: &Url) -> http::request::Builder {
    Request::builder().method(Method::GET).uri(url.as_str())
}

/// Returns the URL of an AWS service; the variables are those of AWS's own tools.
fn endpoint(service: &str, usual: &str) -> io::Result<Url> {
    let named = env::var(format!("AWS_ENDPOINT_URL_{service}")).ok().filter(|url| !url.is_empty());
    let url = named.as_deref().unwrap_or(usual);
    Url::parse(url).map_err(|error| io::Error::other(format!("`{url}`: {error}")))
}

fn keys(facts: &Value, names: [&str; 3], until: Option<DateTime<Utc>>) -> Option<Found> {
    let [id, secret, token] = names.map(|name| text(facts, name).map(str::to_owned));
    Some((Arc::new(AwsCredential { key_id: id?, secret_key: secret?, token }), until))
}

fn text<'a>(facts: &'a Value, name: &str) -> Option<&'a str> {
    facts.get(name).and_then(Value::as_str)
}

/// Parses a time in AWS's format; older tools end it with `UTC`.
fn time(text: &str) -> io::Result<DateTime<Utc>> {
    let found = DateTime::parse_from_rfc3339(&text.replace("UTC", "Z"));
    found
        .map(|time| time.to_utc())
        .map_err(|_| io::Error::other(format!("`{text}` is not a time that AWS writes")))
}

/// Splits a command into words; quotes keep spaces.
fn words_of(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for character in command.chars() {
        match (character, quote) {
            (_, Some(end)) if character == end => quote = None,
            (_, Some(_)) => word.get_or_insert_default().push(character),
            ('"' | '\'', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (' ' | '\t', None) => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_commands() {
        let words = words_of("/opt/my\\keys  --of \"this 'user'\" '' a\"b c\"");
        assert_eq!(words, ["/opt/my\\keys", "--of", "this 'user'", "", "ab c"]);
        assert!(words_of("  ").is_empty());
    }

    #[test]
    fn times_of_aws() {
        for text in ["2020-06-17T10:02:08Z", "2020-06-17T10:02:08UTC", "2020-06-17T10:02:08.000+00:00"] {
            assert_eq!(time(text).unwrap().timestamp(), 1_592_388_128, "{text}");
        }
        assert!(time("tomorrow").is_err());
    }

    #[test]
    fn keys_are_not_shown() {
        let keys = Keys { id: "AKIA".into(), secret: "concealed".into(), token: None };
        assert_eq!(format!("{:?}", SignIn::Keys(keys)), "Keys(Keys(..))");
    }
}
