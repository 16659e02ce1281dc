//! The page, embedded in the program.

use crate::answer::{Answer, set, text_answer};
use http::StatusCode;

/// Returns a file of the page.
pub(super) fn file(name: &str) -> Option<Answer> {
    let (kind, bytes): (_, &'static [u8]) = match name {
        "" | "index.html" => ("text/html; charset=utf-8", include_bytes!("../../page/dist/index.html")),
        "app.js" => ("text/javascript; charset=utf-8", include_bytes!("../../page/dist/app.js")),
        "app.css" => ("text/css; charset=utf-8", include_bytes!("../../page/dist/app.css")),
        _ => return None,
    };
    let mut answer = text_answer(kind, bytes);
    set(&mut answer, "cache-control", "no-cache");
    if name == "app.css" {
        // A notebook on another port requests it to check whether the server can be reached.
        set(&mut answer, "cross-origin-resource-policy", "cross-origin");
    }
    Some(answer)
}

/// Redirects to the page: its paths are relative to its own, which ends in `/`.
pub(super) fn moved(token: &str) -> Answer {
    let mut answer = text_answer("text/plain; charset=utf-8", "");
    *answer.status_mut() = StatusCode::PERMANENT_REDIRECT;
    set(&mut answer, "location", &format!("{token}/"));
    answer
}
