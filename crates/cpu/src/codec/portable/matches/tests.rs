//! Compares the search with a literal implementation of the specification.

use super::*;
use crate::codec::byte_testing::Random;
use strile_engine::portable::deflate_effort;

/// Returns match(p) by trying every earlier position, without tables.
fn plain_match(src: &[u8], p: usize, effort: Effort, shape: Shape) -> Match {
    let part_end = src.len().min((p / PART + 1) * PART);
    let most = MOST.min(part_end - p);
    let before = |p: usize| {
        let wanted = key(src, p)?;
        (p.saturating_sub(WINDOW)..p).rev().find(|&q| key(src, q) == Some(wanted))
    };
    let mut candidates = Vec::new();
    if effort.depth == 0 {
        candidates.extend(p.checked_sub(1));
        candidates.extend(p.checked_sub(shape.unit).filter(|_| shape.unit <= WINDOW));
    } else {
        let mut at = p;
        while let Some(next) =
            before(at).filter(|q| p - q <= WINDOW && candidates.len() < effort.depth as usize)
        {
            candidates.push(next);
            at = next;
        }
        candidates.extend(p.checked_sub(shape.row).filter(|_| shape.row <= WINDOW));
    }
    let mut best = NOTHING;
    for candidate in candidates {
        let length = (0..most).take_while(|i| src[candidate + i] == src[p + i]).count();
        if length > best.length {
            best = Match { length, distance: p - candidate };
        }
        if length >= effort.nice as usize {
            break;
        }
    }
    if best.length < LEAST { NOTHING } else { best }
}

fn plain_steps(src: &[u8], start: usize, end: usize, effort: Effort, shape: Shape) -> Vec<Step> {
    let gain =
        |m: Match| 3 * i64::try_from(m.length).unwrap() - i64::from(usize::BITS - m.distance.leading_zeros());
    let mut steps = Vec::new();
    let (mut p, mut literals) = (start, 0);
    while p < end {
        let found = plain_match(src, p, effort, shape);
        let ahead = if p + 1 < end { plain_match(src, p + 1, effort, shape) } else { NOTHING };
        let gives_way = effort.lazy && ahead.length > 0 && gain(ahead) > gain(found) + 4;
        if found.length > 0 && !gives_way {
            let (length, distance) = (found.length.try_into().unwrap(), found.distance.try_into().unwrap());
            steps.push(Step { literals, length, distance });
            (p, literals) = (p + found.length, 0);
        } else {
            (p, literals) = (p + 1, literals + 1);
        }
    }
    if literals > 0 {
        steps.push(Step { literals, length: 0, distance: 0 });
    }
    steps
}

fn assert_as_said(src: &[u8], effort: Effort, shape: Shape) {
    let mut tables = Matches::boxed();
    let mut search = tables.search(src, effort, shape);
    let mut start = 0;
    while let Some(part) = search.next_part() {
        let end = start + part.bytes.len();
        assert_eq!(part.last, end == src.len());
        assert_eq!(part.bytes, &src[start..end]);
        assert_eq!(
            part.steps,
            plain_steps(src, start, end, effort, shape),
            "{effort:?} {shape:?} part at {start}"
        );
        start = end;
    }
    assert_eq!(start, src.len());
}

#[test]
fn steps_are_those_of_the_specification() {
    let mut random = Random::new(1);
    for round in 0..60 {
        let len = 1 + random.below(3000);
        let src = random.image_like(len);
        let level = 1 + round % 12;
        let shape = Shape { row: 1 + random.below(200), unit: 1 + random.below(8) };
        assert_as_said(&src, deflate_effort(level), shape);
    }
}

#[test]
fn parts_and_windows_end_where_they_should() {
    // Repeated words at the window's edge and across the ends of parts.
    let mut random = Random::new(2);
    let mut src = random.image_like(PART + 700);
    let piece: Vec<u8> = (0..40).map(|i| i * 6 + 3).collect();
    for at in [300, PART - 20, PART + 300] {
        src[at..at + 40].copy_from_slice(&piece);
    }
    assert_as_said(&src, Effort { depth: 2, nice: 64, lazy: true }, Shape { row: WINDOW, unit: WINDOW });
    assert_as_said(&src, Effort { depth: 0, nice: 258, lazy: true }, Shape { row: 64, unit: WINDOW });
    assert_as_said(&src, Effort { depth: 0, nice: 258, lazy: true }, Shape { row: 64, unit: WINDOW + 1 });
}

#[test]
fn tables_forget_the_block_before() {
    let mut random = Random::new(3);
    let src: Vec<u8> = (0..500).map(|_| (random.next() >> 56) as u8).collect();
    let mut tables = Matches::boxed();
    for _ in 0..2 {
        let mut search = tables.search(&src, deflate_effort(6), Shape { row: 100, unit: 1 });
        let part = search.next_part().unwrap();
        assert_eq!(part.steps, [Step { literals: 500, length: 0, distance: 0 }]);
        assert!(search.next_part().is_none());
    }
}

/// The example of the specification.
#[test]
fn runs_and_the_row_above() {
    let src = [[7; 9].as_slice(), &[8], &[7; 8]].concat();
    let steps = |depth| {
        let effort = Effort { depth, nice: 128, lazy: true };
        let mut tables = Matches::boxed();
        let mut search = tables.search(&src, effort, Shape { row: 10, unit: 1 });
        let steps = search.next_part().unwrap().steps.iter();
        steps.map(|step| (step.literals, step.length, step.distance)).collect::<Vec<_>>()
    };
    assert_eq!(steps(0), [(1, 8, 1), (2, 7, 1)]);
    assert_eq!(steps(1), [(1, 8, 1), (1, 8, 10)]);
}
