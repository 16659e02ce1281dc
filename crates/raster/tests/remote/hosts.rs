//! Which hosts are asked, and what they are told.

use crate::{assert_same, hasty, open, server, whole};
use strile::Cancel;
use strile::io::{RemoteOptions, RemoteSink, UploadOptions};
use testkit::Fault;

#[test]
fn private_hosts_are_refused_by_option() {
    let (server, _) = server(64);
    let port = server.url("").rsplit(':').next().unwrap().trim_end_matches('/').to_owned();
    server.counts();
    for host in ["127.0.0.1", "localhost", "[::1]", "0x7f.1", "[::ffff:127.0.0.1]", "169.254.169.254"] {
        let url = format!("http://{host}:{port}/a.tif");
        let error = open(&url, hasty().deny_private_hosts(true)).err().unwrap().to_string();
        assert!(error.contains("private network"), "{host}: {error}");
    }
    assert_eq!(server.counts().connections, 0, "no packet reached the server");
}

/// What a redirect leads to is checked as what the caller names.
#[test]
fn a_redirect_to_a_private_host_is_refused() {
    let (server, _) = server(64);
    let options = || hasty().deny_private_hosts(true).allowed_private_host("127.0.0.1");
    drop(open(&server.url("a.tif"), options()).unwrap());
    for host in ["localhost", "127.0.0.2", "[::1]", "169.254.169.254"] {
        let to = server.url("a.tif").replace("127.0.0.1", host);
        server.fail(move |_, _| Some(Fault::Redirect(to.clone())));
        server.counts();
        let error = open(&server.url("a.tif"), options()).err().unwrap().to_string();
        assert!(error.contains("private network"), "{host}: {error}");
        assert_eq!(server.counts().requests, 1);
    }
}

/// Buckets at an endpoint pass the same guard.
#[test]
fn private_endpoints_are_refused_too() {
    let (server, _) = server(64);
    for scheme in ["s3", "gs", "az"] {
        let options =
            hasty().anonymous(true).allow_http(true).endpoint(server.url("")).deny_private_hosts(true);
        let options =
            if scheme == "az" { options.setting("azure_storage_account_name", "me") } else { options };
        let error = open(&format!("{scheme}://bucket/a.tif"), options).err().unwrap().to_string();
        assert!(error.contains("private network"), "{scheme}: {error}");
    }
    assert_eq!(server.counts().connections, 0);
}

#[test]
fn redirects_are_followed_once_per_file_and_not_to_plain_files() {
    let (server, bytes) = server(512);
    let to = server.url("a.tif");
    let location = to.clone();
    server.fail(move |_, head| head.contains("/moved.tif").then(|| Fault::Redirect(location.clone())));
    let dataset = open(&server.url("moved.tif"), hasty()).unwrap();
    assert_eq!(server.counts().requests, 2);
    assert_same(&dataset, &bytes, &whole());
    let counts = server.counts();
    assert!(counts.log.iter().all(|head| head.contains("/a.tif")), "{:#?}", counts.log);
    for (to, told) in
        [("file:///etc/passwd", "neither to http"), ("http://[", "no URL"), ("/loop.tif", "redirects")]
    {
        server.fail(move |_, _| Some(Fault::Redirect(to.to_owned())));
        let error = open(&server.url("loop.tif"), hasty()).err().unwrap().to_string();
        assert!(error.contains(told), "{to}: {error}");
    }
}

/// A header of the caller may be a secret, which is that of one host.
#[test]
fn headers_do_not_follow_a_redirect_to_another_host() {
    let (first, _) = server(64);
    let (second, _) = server(64);
    let to = second.url("a.tif");
    first.fail(move |_, _| Some(Fault::Redirect(to.clone())));
    let url = first.url("a.tif").replace("http://", "http://me:concealed@");
    let options = hasty().header("X-Api-Key", "concealed");
    drop(open(&url, options).unwrap());
    let head = first.counts().log.join("").to_ascii_lowercase();
    assert!(
        head.contains("x-api-key: concealed") && head.contains("authorization: basic bwu6y29uy2vhbgvk"),
        "{head}"
    );
    let head = second.counts().log.join("");
    assert!(!head.contains("concealed") && !head.to_ascii_lowercase().contains("authorization"), "{head}");
}

/// An S3 bucket: path-style at an endpoint, signed with keys that nobody sees.
#[test]
fn a_bucket_is_read_with_signed_requests() {
    let (server, bytes) = server(512);
    server.put("bucket/dir/a%20b.tif", bytes.clone(), "first");
    let options = hasty()
        .endpoint(server.url("").trim_end_matches('/'))
        .allow_http(true)
        .region("eu-north-1")
        .request_payer(true)
        .setting("aws_access_key_id", "AKIA")
        .setting("aws_secret_access_key", "concealed");
    let dataset = open("s3://bucket/dir/a b.tif", options).unwrap();
    assert_same(&dataset, &bytes, &whole());
    let counts = server.counts();
    assert_eq!(counts.heads, 0);
    let first = counts.log[0].to_ascii_lowercase();
    assert!(first.contains("credential=akia/") && first.contains("/eu-north-1/s3/aws4_request"), "{first}");
    assert!(
        first.contains("x-amz-request-payer: requester") && first.contains("range: bytes=0-32767"),
        "{first}"
    );
    assert!(counts.log[1..].iter().all(|head| head.to_ascii_lowercase().contains("if-match: \"first\"")));
    assert!(!counts.log.join("").contains("concealed"));
    assert_eq!(dataset.name(), "s3://bucket/dir/a b.tif");
}

#[test]
fn a_bucket_is_held_to_the_same_rules() {
    let (server, bytes) = server(512);
    server.put("bucket/a.tif", bytes.clone(), "first");
    let options = || hasty().endpoint(server.url("").trim_end_matches('/')).allow_http(true).anonymous(true);
    let told = |error: strile::Error| error.to_string();
    assert!(told(open("s3://bucket/none.tif", options()).err().unwrap()).contains("404"));
    let dataset = open("s3://bucket/a.tif", options()).unwrap();
    assert!(!server.counts().log.join("").to_ascii_lowercase().contains("authorization"));
    for (fault, text) in [
        (Fault::Tag("second".into()), "has changed since it was opened"),
        (Fault::Shifted, "another range than asked for"),
        (Fault::IgnoreRange, "does not serve ranges"),
        (Fault::Status(403), "403"),
    ] {
        server.fail(move |_, _| Some(fault.clone()));
        let error = told(dataset.read(&whole(), &strile::Context::default()).err().unwrap());
        assert!(error.contains(text), "{error}");
    }
    server.counts();
    server.fail(|number, _| [Fault::Status(503), Fault::Cut(1000)].into_iter().nth(number));
    assert_same(&dataset, &bytes, &whole());
}

/// No packet leaves: the address is one of documentation.
#[test]
fn a_bucket_without_tls_has_to_be_allowed() {
    let options = || hasty().endpoint("http://192.0.2.1:9").anonymous(true);
    for url in ["s3://bucket/a.tif", "gs://bucket/a.tif"] {
        let error = open(url, options()).err().unwrap().to_string();
        assert!(error.contains("not encrypted") && error.contains("`allow_http`"), "{error}");
    }
}

#[test]
fn options_without_a_use_are_refused() {
    let told = |url: &str, options: RemoteOptions| open(url, options).err().unwrap().to_string();
    assert!(told("http://127.0.0.1:9/a.tif", hasty().region("x")).contains("`region` does not apply"));
    assert!(told("ftp://127.0.0.1/a.tif", hasty()).contains("expected http, https"));
    let wrong = told("s3://b/a.tif", hasty().region("x").setting("no_such_setting", "concealed"));
    assert!(wrong.contains("no_such_setting") && !wrong.contains("concealed"), "{wrong}");
}

#[test]
fn a_host_without_an_address_is_told_at_once() {
    let begun = std::time::Instant::now();
    for deny in [false, true] {
        let error =
            open("http://no.such.host.invalid/a.tif", hasty().deny_private_hosts(deny)).err().unwrap();
        assert!(
            error.to_string().contains("cannot find the host") || error.to_string().contains("emporary"),
            "{error}"
        );
    }
    assert!(begun.elapsed().as_secs() < 8);
}

/// A write without credentials fails before any work is done, not at its end.
#[test]
fn a_write_without_credentials_does_not_begin() {
    let options = hasty()
        .endpoint("http://127.0.0.1:9")
        .region("eu-north-1")
        .setting("aws_role_arn", "arn:aws:iam::1:role/none")
        .setting("aws_web_identity_token_file", "no-such-folder/token");
    let upload = UploadOptions::new().overwrite(true);
    let begun = RemoteSink::create("s3://bucket/a.tif", &options, &upload, &Cancel::default());
    let told = begun.err().unwrap().to_string();
    assert!(told.contains("cannot get credentials"), "{told}");
}
