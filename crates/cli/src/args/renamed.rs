//! Former names of options. They still work, with a warning that names the new one.

use std::ffi::{OsStr, OsString};

/// Commands that had the former options, and commands with which they are tried.
const COMMANDS: [&str; 7] = ["dump", "convert", "warp", "info", "compare", "view", "serve"];

/// Replaces former options after the name of the command, at `first`. Returns one warning per option.
pub(super) fn replace(words: &mut Vec<OsString>, first: usize) -> Vec<String> {
    let command = words.get(first).and_then(|word| word.to_str()).unwrap_or_default().to_owned();
    if !COMMANDS.contains(&command.as_str()) {
        return Vec::new();
    }
    let writes = command == "convert" || command == "warp";
    let mut warnings = Vec::new();
    let mut at = first + 1;
    while let Some(word) = words.get(at).filter(|word| *word != "--") {
        let text = word.to_str().unwrap_or_default();
        let (name, joined) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let value = joined.or_else(|| words.get(at + 1).and_then(|value| value.to_str()));
        let new = match (name, value) {
            // Overviews were counted from 0; now 0 is full resolution.
            ("--overview", Some(value)) => value
                .parse()
                .ok()
                .and_then(|level: u32| level.checked_add(1))
                .map(|level| format!("--level={level}")),
            ("--device", Some(value)) if writes => Some(format!("--encode-on={value}")),
            ("--device", Some(value)) => Some(format!("--decode-on={value}")),
            _ => None,
        };
        if let Some(new) = new {
            let value = value.unwrap_or_default().to_owned();
            let mut replaced = vec![OsString::from(&new)];
            if name == "--device" && writes {
                // The former option also applied to decoding.
                replaced.push(OsString::from(format!("--decode-on={value}")));
            }
            let shown: Vec<String> =
                replaced.iter().map(|word| word.to_string_lossy().replace('=', " ")).collect();
            warnings.push(format!("{name} {value} is now {}", shown.join(" ")));
            let last = if joined.is_some() { at } else { at + 1 };
            let count = replaced.len();
            words.splice(at..=last, replaced);
            at += count - 1;
        }
        at += 1;
    }
    warnings
}

/// Returns whether warnings are suppressed.
pub(super) fn is_quiet(words: &[OsString]) -> bool {
    words.iter().any(|word| word == OsStr::new("-q") || word == OsStr::new("--quiet"))
}
