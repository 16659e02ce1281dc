//! Formats and parses byte counts, such as `1.5 KiB`.

/// Formats a number of bytes: `1536` becomes `1.5 KiB`.
pub fn human(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let mut value = bytes as f64;
    let mut unit = "B";
    for next in UNITS {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    format!("{value:.1} {unit}")
}

/// Parses a number of bytes: `2GiB`, `512 MiB`, `1.5GB` or a plain number. Returns `None` for other text.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits)?;
    let (base, power) = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => (1.0, 0),
        "k" | "kib" => (1024.0, 1),
        "m" | "mib" => (1024.0, 2),
        "g" | "gib" => (1024.0, 3),
        "t" | "tib" => (1024.0, 4),
        "kb" => (1000.0, 1),
        "mb" => (1000.0, 2),
        "gb" => (1000.0, 3),
        "tb" => (1000.0, 4),
        _ => return None,
    };
    let bytes = number.parse::<f64>().ok()? * f64::powi(base, power);
    // 2^53: a double cannot hold every integer above it, and no memory is that large.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 2^53, checked")]
    (0.0..=9_007_199_254_740_992.0).contains(&bytes).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::{human, parse};

    #[test]
    fn sizes_are_parsed_with_and_without_units() {
        assert_eq!(parse("2GiB"), Some(2 << 30));
        assert_eq!(parse(" 1.5 kb "), Some(1500));
        assert_eq!(parse("4096"), Some(4096));
        assert_eq!(parse("64m"), Some(64 << 20));
        for bad in ["", "GiB", "-1", "1.2.3", "5 apples", "99999999 TiB"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn units_step_at_1024() {
        assert_eq!(human(1023), "1023 B");
        assert_eq!(human(1536), "1.5 KiB");
        assert_eq!(human(u64::MAX), "16.0 EiB");
    }
}
