//! Keys and region of an AWS profile: `~/.aws/credentials` and `~/.aws/config`.
//!
//! The environment comes first (`object_store` reads it). Profiles with keys are read; those that sign in, assume a role or run
//! a program are errors.

use crate::options::RemoteOptions;
use std::env;
use std::io;
use std::path::PathBuf;

/// What a profile says, by the names that `object_store` knows.
pub(crate) type Settings = Vec<(&'static str, String)>;

/// Ways to sign in that are unsupported.
const SIGN_IN: [(&str, &str); 5] = [
    ("sso_session", "signs in by SSO"),
    ("sso_start_url", "signs in by SSO"),
    ("login_session", "signs in by a browser"),
    ("role_arn", "assumes a role"),
    ("credential_process", "runs a program"),
];

/// Larger files are none that a person wrote.
const LARGEST: u64 = 1 << 20;

/// Returns what the profile of this user says, if neither the caller nor the environment has keys.
pub(crate) fn settings(options: &RemoteOptions) -> io::Result<Settings> {
    let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    if set("AWS_ACCESS_KEY_ID").is_some() || set("AWS_WEB_IDENTITY_TOKEN_FILE").is_some() {
        return Ok(Vec::new());
    }
    let home = || set("HOME").or_else(|| set("USERPROFILE")).map(PathBuf::from);
    let file = |name: &str, usual: &str| {
        let path = set(name).map(PathBuf::from).or_else(|| Some(home()?.join(".aws").join(usual)))?;
        let is_small = std::fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() <= LARGEST);
        is_small.then(|| std::fs::read_to_string(&path).ok()).flatten()
    };
    let credentials = file("AWS_SHARED_CREDENTIALS_FILE", "credentials").unwrap_or_default();
    let config = file("AWS_CONFIG_FILE", "config").unwrap_or_default();
    let asked = set("AWS_PROFILE");
    let has_keys = options.settings.iter().any(|(name, _)| {
        let name = name.to_ascii_lowercase();
        name.ends_with("access_key_id") || name.ends_with("web_identity_token_file")
    });
    let mut found = match has_keys {
        // Its region still counts.
        true => of_files("", &config, asked.as_deref()).unwrap_or_default(),
        false => of_files(&credentials, &config, asked.as_deref())?,
    };
    found.retain(|(name, _)| !has_keys || *name == "aws_region");
    if set("AWS_REGION").or_else(|| set("AWS_DEFAULT_REGION")).is_some() {
        found.retain(|(name, _)| *name != "aws_region");
    }
    Ok(found)
}

fn of_files(credentials: &str, config: &str, asked: Option<&str>) -> io::Result<Settings> {
    let profile = asked.unwrap_or("default");
    let section = if profile == "default" { "default".to_owned() } else { format!("profile {profile}") };
    let (keys, other) = (section_of(credentials, profile), section_of(config, &section));
    let value = |name: &str| {
        let of =
            |pairs: &[(&str, &str)]| pairs.iter().find(|(key, _)| *key == name).map(|(_, v)| (*v).to_owned());
        of(&keys).or_else(|| of(&other))
    };
    let mut found = Vec::new();
    if let (Some(key), Some(secret)) = (value("aws_access_key_id"), value("aws_secret_access_key")) {
        found.push(("aws_access_key_id", key));
        found.push(("aws_secret_access_key", secret));
        found.extend(value("aws_session_token").map(|token| ("aws_session_token", token)));
    } else if let Some(problem) = match (SIGN_IN.iter().find(|(name, _)| value(name).is_some()), asked) {
        // Going on without it would ask as somebody else.
        (Some((name, how)), _) => {
            Some(format!("the AWS profile `{profile}` {how} (`{name}`), which is unsupported"))
        }
        (None, Some(_)) if keys.is_empty() && other.is_empty() => {
            Some(format!("the AWS profile `{profile}` does not exist"))
        }
        (None, Some(_)) => Some(format!("the AWS profile `{profile}` has no keys")),
        (None, None) => None,
    } {
        let advice = "put keys into the environment (`aws configure export-credentials --format env`)";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{problem}; {advice}")));
    }
    found.extend(value("region").map(|region| ("aws_region", region)));
    Ok(found)
}

/// The pairs of one section of a file.
fn section_of<'a>(text: &'a str, name: &str) -> Vec<(&'a str, &'a str)> {
    let mut here = false;
    let mut pairs = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(title) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            here = title.split_whitespace().eq(name.split_whitespace());
        } else if here
            && !line.starts_with(['#', ';'])
            && let Some((key, value)) = line.split_once('=')
        {
            pairs.push((key.trim(), value.trim()));
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &str = "[default]\naws_access_key_id = A\naws_secret_access_key=B\n# region = no\n\n[work]\naws_access_key_id=C\n\
                        aws_secret_access_key = D=\naws_session_token = E\n";
    const CONFIG: &str =
        "[default]\nregion = eu-north-1\n[profile  work]\nregion=us-west-2\n[profile far]\nsso_session = x\n";

    #[test]
    fn keys_and_regions_of_profiles() {
        let texts = |asked| {
            let found = of_files(KEYS, CONFIG, asked).unwrap();
            found.into_iter().map(|(_, value)| value).collect::<Vec<_>>()
        };
        assert_eq!(texts(None), ["A", "B", "eu-north-1"]);
        assert_eq!(texts(Some("work")), ["C", "D=", "E", "us-west-2"]);
        assert!(of_files("", "", None).unwrap().is_empty());
    }

    #[test]
    fn profiles_without_keys_are_told() {
        let told = |asked| of_files(KEYS, CONFIG, Some(asked)).unwrap_err().to_string();
        assert!(told("far").contains("`far` signs in by SSO (`sso_session`), which is unsupported"));
        let by_role = of_files("", "[default]\nrole_arn = arn:x\nsource_profile = y\n", None).unwrap_err();
        assert!(by_role.to_string().contains("`default` assumes a role"), "{by_role}");
        assert!(told("none").contains("does not exist"));
    }
}
