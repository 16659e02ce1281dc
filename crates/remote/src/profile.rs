//! AWS profiles: `~/.aws/credentials` and `~/.aws/config`.
//!
//! The environment takes precedence (`object_store` reads it). A profile has keys, or a way to sign in: by SSO, by a
//! role, or by a program. [`sign_in`](crate::sign_in) does that when a request needs keys. Other ways are errors.

use crate::options::RemoteOptions;
use crate::sign_in::{Keys, Role, SignIn, Sso};
use std::env;
use std::io;
use std::path::{Path, PathBuf};

/// Settings by their names in `object_store`.
pub(crate) type Settings = Vec<(&'static str, String)>;

/// Content of a profile.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Profile {
    pub settings: Settings,
    /// How to find keys that are not among the settings.
    pub sign_in: Option<SignIn>,
}

/// Keys of a profile that request unsupported features.
const UNSUPPORTED: [(&str, &str); 3] = [
    ("login_session", "signs in by a browser"),
    ("mfa_serial", "needs a code of a device"),
    ("credential_source", "assumes a role with keys of this machine"),
];

/// Maximum file size; larger files were not written by a person.
const LARGEST: u64 = 1 << 20;

/// Maximum chain of profiles that name each other as their source.
const DEEPEST: usize = 5;

/// Returns the profile of this user, if neither the caller nor the environment has keys.
pub(crate) fn of_user(options: &RemoteOptions) -> io::Result<Profile> {
    let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    if set("AWS_ACCESS_KEY_ID").is_some() || set("AWS_WEB_IDENTITY_TOKEN_FILE").is_some() {
        return Ok(Profile::default());
    }
    let folder = set("HOME").or_else(|| set("USERPROFILE")).map(|home| PathBuf::from(home).join(".aws"));
    let file = |name: &str, usual: &str| {
        let path = set(name).map(PathBuf::from).or_else(|| Some(folder.as_ref()?.join(usual)))?;
        small_text(&path)
    };
    let files = Files {
        credentials: file("AWS_SHARED_CREDENTIALS_FILE", "credentials").unwrap_or_default(),
        config: file("AWS_CONFIG_FILE", "config").unwrap_or_default(),
        folder: folder.unwrap_or_default(),
    };
    let asked = set("AWS_PROFILE");
    let has_keys = options.settings.iter().any(|(name, _)| {
        let name = name.to_ascii_lowercase();
        name.ends_with("access_key_id") || name.ends_with("web_identity_token_file")
    });
    let mut found = match has_keys {
        // Its region still applies.
        true => Profile { settings: files.region(asked.as_deref()), sign_in: None },
        false => files.profile(asked.as_deref())?,
    };
    if set("AWS_REGION").or_else(|| set("AWS_DEFAULT_REGION")).is_some() {
        found.settings.retain(|(name, _)| *name != "aws_region");
    }
    Ok(found)
}

/// Returns the text of a file of plausible size for a configuration.
pub(crate) fn small_text(path: &Path) -> Option<String> {
    let is_small = std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= LARGEST);
    is_small.then(|| std::fs::read_to_string(path).ok()).flatten()
}

/// Both files, and their folder.
struct Files {
    credentials: String,
    config: String,
    folder: PathBuf,
}

impl Files {
    fn profile(&self, asked: Option<&str>) -> io::Result<Profile> {
        let mut found = Profile { settings: Vec::new(), sign_in: None };
        match self.keys(asked, 0)? {
            None => {}
            Some(SignIn::Keys(keys)) => {
                found.settings.push(("aws_access_key_id", keys.id));
                found.settings.push(("aws_secret_access_key", keys.secret));
                found.settings.extend(keys.token.map(|token| ("aws_session_token", token)));
            }
            sign_in => found.sign_in = sign_in,
        }
        found.settings.extend(self.region(asked));
        Ok(found)
    }

    fn region(&self, asked: Option<&str>) -> Settings {
        let region = self.section(asked.unwrap_or("default")).value("region");
        region.map(|region| ("aws_region", region)).into_iter().collect()
    }

    /// Returns how a profile gets keys; `None` if there is no profile and none was requested.
    fn keys(&self, asked: Option<&str>, depth: usize) -> io::Result<Option<SignIn>> {
        let name = asked.unwrap_or("default");
        let section = self.section(name);
        let refuse = |problem: String| {
            let advice = "put keys into the environment (`aws configure export-credentials --format env`)";
            io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("the AWS profile `{name}` {problem}; {advice}"),
            )
        };
        let need =
            |key: &str, of: &Section<'_>| of.value(key).ok_or_else(|| refuse(format!("has no `{key}`")));
        if depth > DEEPEST {
            return Err(refuse("is the source of its own keys".to_owned()));
        }
        if let Some((key, how)) = UNSUPPORTED.iter().find(|(key, _)| section.value(key).is_some()) {
            // Continuing without it would sign in as another user.
            return Err(refuse(format!("{how} (`{key}`), which is unsupported")));
        }
        if let Some(arn) = section.value("role_arn").filter(|_| depth == 0 || !section.is_own_source(name)) {
            let source = need("source_profile", &section)?;
            let Some(source) = self.keys(Some(&source), depth + 1)? else {
                return Err(refuse(format!("has a source, `{source}`, without keys")));
            };
            return Ok(Some(SignIn::Role(Role {
                arn,
                session: section.value("role_session_name").unwrap_or_else(|| "strile".to_owned()),
                external_id: section.value("external_id"),
                region: section.value("region").unwrap_or_else(|| "us-east-1".to_owned()),
                source: Box::new(source),
            })));
        }
        if let (Some(id), Some(secret)) =
            (section.value("aws_access_key_id"), section.value("aws_secret_access_key"))
        {
            return Ok(Some(SignIn::Keys(Keys { id, secret, token: section.value("aws_session_token") })));
        }
        if section.value("sso_session").or_else(|| section.value("sso_start_url")).is_some() {
            let session = section.value("sso_session");
            let of = match &session {
                Some(session) => Section(section_of(&self.config, &format!("sso-session {session}"))),
                None => self.section(name),
            };
            // The AWS command line names token files like this.
            let named = session.map_or_else(|| need("sso_start_url", &of), Ok)?;
            let digest = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, named.as_bytes());
            let file: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
            return Ok(Some(SignIn::Sso(Sso {
                profile: name.to_owned(),
                token: self.folder.join("sso").join("cache").join(file + ".json"),
                region: need("sso_region", &of)?,
                account: need("sso_account_id", &section)?,
                role: need("sso_role_name", &section)?,
            })));
        }
        if let Some(command) = section.value("credential_process") {
            return Ok(Some(SignIn::Process(command)));
        }
        match asked {
            None => Ok(None),
            Some(_) if section.0.is_empty() => Err(refuse("does not exist".to_owned())),
            Some(_) => Err(refuse("has no keys".to_owned())),
        }
    }

    /// Returns the settings of a profile from both files.
    fn section(&self, profile: &str) -> Section<'_> {
        let of_config =
            if profile == "default" { "default".to_owned() } else { format!("profile {profile}") };
        let mut pairs = section_of(&self.credentials, profile);
        pairs.extend(section_of(&self.config, &of_config));
        Section(pairs)
    }
}

struct Section<'a>(Vec<(&'a str, &'a str)>);

impl Section<'_> {
    fn value(&self, name: &str) -> Option<String> {
        self.0
            .iter()
            .find(|(key, value)| *key == name && !value.is_empty())
            .map(|(_, value)| (*value).to_owned())
    }

    /// Returns whether the role of this profile is assumed with its own keys.
    fn is_own_source(&self, name: &str) -> bool {
        self.value("source_profile").as_deref() == Some(name)
    }
}

/// Returns the pairs of one section of a file.
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
    const CONFIG: &str = "[default]\nregion = eu-north-1\n[profile  work]\nregion=us-west-2\n\
        [profile far]\nsso_session = x\nsso_account_id = 123\nsso_role_name = reader\n\
        [sso-session x]\nsso_region = eu-west-1\nsso_start_url = https://example.test/start\n\
        [profile role]\nrole_arn = arn:r\nsource_profile = work\n\
        [profile own]\nrole_arn = arn:o\nsource_profile = own\naws_access_key_id = F\naws_secret_access_key = G\n\
        [profile program]\ncredential_process = /bin/keys --of \"this user\"\n\
        [profile round]\nrole_arn = arn:1\nsource_profile = about\n[profile about]\nrole_arn = arn:2\nsource_profile = round\n\
        [profile code]\nrole_arn = arn:r\nsource_profile = work\nmfa_serial = arn:m\n";

    fn files(credentials: &str, config: &str) -> Files {
        Files { credentials: credentials.into(), config: config.into(), folder: "home".into() }
    }

    fn sign_in(asked: &str) -> SignIn {
        files(KEYS, CONFIG).profile(Some(asked)).unwrap().sign_in.unwrap()
    }

    #[test]
    fn keys_and_regions_of_profiles() {
        let texts = |asked| {
            let found = files(KEYS, CONFIG).profile(asked).unwrap();
            assert_eq!(found.sign_in, None);
            found.settings.into_iter().map(|(_, value)| value).collect::<Vec<_>>()
        };
        assert_eq!(texts(None), ["A", "B", "eu-north-1"]);
        assert_eq!(texts(Some("work")), ["C", "D=", "E", "us-west-2"]);
        assert_eq!(files("", "").profile(None).unwrap(), Profile::default());
    }

    #[test]
    fn ways_to_sign_in() {
        assert_eq!(sign_in("program"), SignIn::Process("/bin/keys --of \"this user\"".into()));
        let SignIn::Sso(sso) = sign_in("far") else { panic!() };
        // `printf x | sha1sum`
        let file = "11f6ad8ec52a2984abaafd7c3b516503785c2072.json";
        assert_eq!(sso.token, Path::new("home").join("sso").join("cache").join(file));
        assert_eq!(
            (sso.region.as_str(), sso.account.as_str(), sso.role.as_str()),
            ("eu-west-1", "123", "reader")
        );
        for (profile, arn, id) in [("role", "arn:r", "C"), ("own", "arn:o", "F")] {
            let SignIn::Role(role) = sign_in(profile) else { panic!() };
            let SignIn::Keys(keys) = *role.source else { panic!() };
            assert_eq!((role.arn.as_str(), keys.id.as_str()), (arn, id));
        }
    }

    #[test]
    fn profiles_without_keys_are_told() {
        let told = |asked| files(KEYS, CONFIG).profile(Some(asked)).unwrap_err().to_string();
        assert!(
            told("code").contains("`code` needs a code of a device (`mfa_serial`), which is unsupported")
        );
        assert!(told("round").contains("is the source of its own keys"));
        assert!(told("none").contains("does not exist"));
        let half = files("", "[default]\nsso_session = y\n").profile(None).unwrap_err().to_string();
        assert!(half.contains("`default` has no `sso_region`"), "{half}");
    }
}
