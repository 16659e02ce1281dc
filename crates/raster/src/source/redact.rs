//! URLs for display: without user info, query and fragment, which may hold credentials and signatures.

/// Returns `text` with every URL in it cut to scheme, host and path. Other text stays as it is.
///
/// ```
/// let told = strile::io::redacted("https://me:secret@host/a.tif?X-Amz-Signature=1f: 403 Forbidden");
/// assert_eq!(told, "https://host/a.tif: 403 Forbidden");
/// ```
pub fn redacted(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        shown.push_str(before);
        shown.push_str("://");
        rest = after;
        let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
        if !before.ends_with(is_scheme) {
            continue;
        }
        let end = after.find(ends_url).unwrap_or(after.len());
        let (url, more) = after.split_at(end);
        let authority_end = url.find(['/', '?', '#']).unwrap_or(url.len());
        let (authority, path) = url.split_at(authority_end);
        shown.push_str(authority.rsplit_once('@').map_or(authority, |(_, host)| host));
        match path.find(['?', '#']) {
            None => shown.push_str(path),
            Some(at) => {
                let (path, secret) = path.split_at(at);
                shown.push_str(path);
                // The sentence continues after the URL.
                let kept = secret.trim_end_matches([':', ',', '.', ';', ')', ']', '}']).len();
                shown.push_str(secret.get(kept..).unwrap_or_default());
            }
        }
        rest = more;
    }
    shown.push_str(rest);
    shown
}

fn ends_url(c: char) -> bool {
    c.is_whitespace() || "\"'`<>".contains(c)
}

#[cfg(test)]
mod tests {
    use super::redacted;

    #[test]
    fn credentials_are_left_out_wherever_a_url_stands() {
        for (given, shown) in [
            ("plain text, 3:4 //x ://", "plain text, 3:4 //x ://"),
            ("/data/a?b.tif", "/data/a?b.tif"),
            ("https://host/a.tif", "https://host/a.tif"),
            ("https://host/a.tif?sig=abc", "https://host/a.tif"),
            ("https://host?sig=abc", "https://host"),
            ("s3://key:se@cret@bucket/a@b.tif#t=1", "s3://bucket/a@b.tif"),
            ("(https://u:p@h/x?token=1)", "(https://h/x)"),
            ("404, url='https://h/x?sig=1, 2'", "404, url='https://h/x, 2'"),
            ("simplecache::https://u:p@h/x?sv=1 and ftp://a:b@h/y", "simplecache::https://h/x and ftp://h/y"),
            ("/vsicurl/https://u:p@h/x.tif?sig=1", "/vsicurl/https://h/x.tif"),
            ("https://h/ä?ü=é: no", "https://h/ä: no"),
        ] {
            assert_eq!(redacted(given), shown);
        }
    }
}
