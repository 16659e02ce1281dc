//! Keys of AWS profiles: by SSO, by a role, from a program.

use crate::{Bench, Run, dem};
use std::process::{Command, Output};
use testkit::RangeServer;

/// A home with files of AWS, and a server that is the bucket and the services that give keys.
struct Cloud {
    bench: Bench,
    server: RangeServer,
}

impl Cloud {
    fn new(config: &str) -> Self {
        let (bench, server, (_, bytes)) = (Bench::new(), RangeServer::start(), dem());
        server.put("bucket/dem.tif", bytes, "first");
        std::fs::create_dir_all(bench.path(".aws/sso/cache")).unwrap();
        bench.file(".aws/config", config.as_bytes());
        Self { bench, server }
    }

    fn info(&self, profile: &str) -> Run {
        let url = self.server.url("");
        let url = url.trim_end_matches('/');
        let mut command = Command::new(env!("CARGO_BIN_EXE_strile"));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
            command.env_remove(name);
        }
        command.env("HOME", self.bench.folder()).env("AWS_PROFILE", profile);
        command.env("AWS_ENDPOINT_URL_SSO", url).env("AWS_ENDPOINT_URL_STS", url);
        command.args([
            "info",
            "--json",
            "--sidecars",
            "never",
            "--allow-http",
            "--endpoint",
            url,
            "s3://bucket/dem.tif",
        ]);
        let Output { status, stdout, stderr } = command.output().unwrap();
        Run { code: status.code().unwrap(), stdout, stderr: String::from_utf8(stderr).unwrap() }
    }

    /// The heads of all requests since the last look, in lower case.
    fn asked(&self) -> Vec<String> {
        self.server.counts().log.iter().map(|head| head.to_ascii_lowercase()).collect()
    }
}

#[test]
fn a_program_prints_keys() {
    let cloud = Cloud::new(
        "[profile p]\ncredential_process = /bin/sh -c \"cat .aws/keys.json\"\n[profile q]\ncredential_process = /bin/false\n\
         [profile none]\ncredential_process = /nowhere/keys\n",
    );
    let home = cloud.bench.folder().display().to_string();
    let config = std::fs::read_to_string(cloud.bench.path(".aws/config")).unwrap();
    cloud.bench.file(".aws/config", config.replace("cat .aws", &format!("cat {home}/.aws")).as_bytes());
    let keys = r#"{"Version": 1, "AccessKeyId": "AKIAPROGRAM", "SecretAccessKey": "concealed", "SessionToken": "brief"}"#;
    cloud.bench.file(".aws/keys.json", keys.as_bytes());
    assert_eq!(cloud.info("p").clean().json()["files"][0]["pages"][0]["width"], 70);
    let asked = cloud.asked();
    assert!(asked.iter().all(|head| head.contains("credential=akiaprogram/")), "{asked:?}");
    assert!(asked.iter().all(|head| head.contains("x-amz-security-token: brief")), "{asked:?}");
    for (profile, problem) in [("q", "failed"), ("none", "cannot be run")] {
        let run = cloud.info(profile);
        assert_eq!(run.code, 2);
        assert!(
            run.stderr.contains("`credential_process`") && run.stderr.contains(problem),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn a_person_has_signed_in() {
    let cloud = Cloud::new(
        "[profile p]\nsso_session = x\nsso_account_id = 123\nsso_role_name = reader\nregion = eu-north-1\n\
         [sso-session x]\nsso_region = eu-west-1\nsso_start_url = https://example.test/start\n",
    );
    let login = cloud.info("p");
    assert_eq!(login.code, 2);
    assert!(login.stderr.contains("run `aws sso login --profile p`"), "{}", login.stderr);
    let keys = r#"{"roleCredentials": {"accessKeyId": "AKIASSO", "secretAccessKey": "concealed", "sessionToken": "brief",
                  "expiration": 4102444800000}}"#;
    cloud.server.put("federation/credentials", keys.into(), "first");
    let token = |until| format!(r#"{{"accessToken": "bearer", "expiresAt": "{until}"}}"#);
    let file = ".aws/sso/cache/11f6ad8ec52a2984abaafd7c3b516503785c2072.json";
    cloud.bench.file(file, token("2020-06-17T10:02:08Z").as_bytes());
    let expired = cloud.info("p");
    assert!(expired.stderr.contains("has expired"), "{}", expired.stderr);
    cloud.bench.file(file, token("2099-06-17T10:02:08Z").as_bytes());
    let _earlier = cloud.asked();
    let run = cloud.info("p").clean();
    assert_eq!(run.json()["files"][0]["pages"][0]["width"], 70);
    let asked = cloud.asked();
    let (login, reads): (Vec<_>, Vec<_>) =
        asked.iter().partition(|head| head.contains("/federation/credentials"));
    assert_eq!(login.len(), 1, "{asked:?}");
    assert!(
        login[0].contains("role_name=reader&account_id=123")
            && login[0].contains("x-amz-sso_bearer_token: bearer")
    );
    assert!(!reads.is_empty() && reads.iter().all(|head| head.contains("credential=akiasso/")), "{asked:?}");
}

#[test]
fn a_role_is_assumed() {
    let cloud = Cloud::new(
        "[profile p]\nrole_arn = arn:aws:iam::123:role/reader\nsource_profile = keys\nregion = eu-north-1\nexternal_id = e\n\
         [profile keys]\naws_access_key_id = AKIASOURCE\naws_secret_access_key = concealed\n",
    );
    let refused = cloud.info("p");
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("cannot assume the role arn:aws:iam::123:role/reader"),
        "{}",
        refused.stderr
    );
    let answer = "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>AKIAROLE</AccessKeyId>\
                  <SecretAccessKey>concealed</SecretAccessKey><SessionToken>brief</SessionToken>\
                  <Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>";
    cloud.server.put("", answer.into(), "first");
    let _earlier = cloud.asked();
    cloud.info("p").clean();
    let asked = cloud.asked();
    let (role, reads): (Vec<_>, Vec<_>) = asked.iter().partition(|head| head.contains("action=assumerole"));
    assert_eq!(role.len(), 1, "{asked:?}");
    assert!(role[0].contains("credential=akiasource/") && role[0].contains("/sts/aws4_request"), "{role:?}");
    assert!(role[0].contains("externalid=e"), "{role:?}");
    assert!(!reads.is_empty() && reads.iter().all(|head| head.contains("credential=akiarole/")), "{asked:?}");
    assert!(!asked.concat().contains("concealed"));
}
