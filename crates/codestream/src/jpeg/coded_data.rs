//! The entropy-coded bytes of a scan: their end, their restart markers, and the bytes without stuffing (T.81, B.1.1.5:
//! a zero after every 0xFF).

use std::io::BufRead as _;

/// Bytes of a scan that are coded without a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Bytes, without stuffing.
    pub len: u32,
    /// The number of the restart marker behind it; `None` behind the last.
    pub restart: Option<u8>,
}

/// A run of bytes up to a marker or a stuffed byte.
enum Run {
    /// The run's last byte is data, 0xFF; a zero after it was skipped.
    Stuffed,
    /// A restart marker of this number, which is skipped.
    Restart(u8),
    /// Another marker, or the end.
    End,
}

/// Passes the next run of `rest` to `take`, without the 0xFF of markers and fill.
fn next_run(rest: &mut &[u8], mut take: impl FnMut(&[u8])) -> Run {
    let from = *rest;
    // Reading from memory cannot fail; the search is the library's fast one.
    let len = rest.skip_until(0xFF).unwrap_or(0);
    let run = from.get(..len).unwrap_or_default();
    let Some((&0xFF, before)) = run.split_last() else {
        take(run);
        return Run::End;
    };
    let fill = rest.iter().take_while(|&&byte| byte == 0xFF).count();
    let after = rest.get(fill..).unwrap_or_default();
    match after.split_first() {
        Some((0, data)) => {
            take(run);
            *rest = data;
            Run::Stuffed
        }
        Some((&marker @ 0xD0..=0xD7, data)) => {
            take(before);
            *rest = data;
            Run::Restart(marker - 0xD0)
        }
        _ => {
            take(before);
            // From the 0xFF of the marker on.
            *rest = from.get(before.len()..).unwrap_or_default();
            Run::End
        }
    }
}

/// Returns the end of the entropy-coded data from `start` on: the first marker other than RST0 to RST7, or the end.
pub fn end(src: &[u8], start: usize) -> usize {
    let mut rest = src.get(start..).unwrap_or_default();
    while !matches!(next_run(&mut rest, |_| {}), Run::End) {}
    src.len() - rest.len()
}

/// Returns the intervals of the data from `start` on and the end of the data; `None` past 2^32 bytes.
pub fn intervals(src: &[u8], start: usize) -> Option<(Vec<Interval>, usize)> {
    let mut rest = src.get(start..).unwrap_or_default();
    let mut found = Vec::new();
    let mut len = 0;
    loop {
        let run = next_run(&mut rest, |bytes| len += bytes.len());
        let restart = match run {
            Run::Stuffed => continue,
            Run::Restart(number) => Some(number),
            Run::End => None,
        };
        found.push(Interval { len: u32::try_from(len).ok()?, restart });
        len = 0;
        if restart.is_none() {
            return Some((found, src.len() - rest.len()));
        }
    }
}

/// Writes the bytes of all intervals of `data` to `into`, one after the other without markers and stuffing; returns how
/// many fit.
pub fn copy(data: &[u8], into: &mut [u8]) -> usize {
    let mut rest = data;
    let mut at = 0;
    loop {
        let run = next_run(&mut rest, |bytes| {
            let room = into.get_mut(at..).unwrap_or_default();
            let len = bytes.len().min(room.len());
            if let (Some(room), Some(bytes)) = (room.get_mut(..len), bytes.get(..len)) {
                room.copy_from_slice(bytes);
            }
            at += len;
        });
        if matches!(run, Run::End) {
            return at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two restarts, a stuffed 0xFF, fill bytes before a marker and before a zero, EOI.
    const DATA: &[u8] =
        &[1, 2, 0xFF, 0, 3, 0xFF, 0xD0, 4, 0xFF, 0xFF, 0xD1, 5, 0xFF, 0xFF, 0, 6, 0xFF, 0xFF, 0xD9, 7];

    #[test]
    fn intervals_are_cut_at_restart_markers() {
        let interval = |len, restart| Interval { len, restart };
        let (found, end) = intervals(DATA, 0).unwrap();
        assert_eq!(found, [interval(4, Some(0)), interval(1, Some(1)), interval(3, None)]);
        assert_eq!((end, super::end(DATA, 0)), (16, 16));
        let mut into = [0; 8];
        assert_eq!(copy(DATA, &mut into), 8);
        assert_eq!(into, [1, 2, 0xFF, 3, 4, 5, 0xFF, 6]);
        assert_eq!(copy(DATA, &mut into[..5]), 5);
    }

    #[test]
    fn data_may_end_anywhere() {
        for len in 0..DATA.len() {
            let (found, end) = intervals(&DATA[..len], 0).unwrap();
            let mut into = [0; 20];
            let copied: usize = found.iter().map(|interval| interval.len as usize).sum();
            assert_eq!(copy(&DATA[..len], &mut into), copied, "{len}");
            assert!(end <= len && end == super::end(&DATA[..len], 0), "{len}");
        }
        assert_eq!(intervals(DATA, 100), Some((vec![Interval { len: 0, restart: None }], DATA.len())));
    }
}
