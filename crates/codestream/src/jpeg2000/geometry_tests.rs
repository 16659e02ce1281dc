//! Tests geometry and orders against the definitions of the standard, by counting.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test; small numbers made here")]

use super::geometry::{TileComponent, places, tile_component};
use super::markers::{Holding, Parameters};
use super::memory::Memory;
use super::progression::{Order, Place, Volume, walk};
use super::size::Size;
use super::{Band, Rect};

struct Case {
    size: Size,
    parameters: Parameters,
}

fn numbers(seed: &mut u64, below: u32) -> u32 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    u32::try_from(*seed >> 40).unwrap() % below
}

/// Returns a picture with two components, and tiles and precincts of random size and position.
fn case(seed: &mut u64) -> Case {
    let mut n = |below: u32| numbers(seed, below);
    let (x0, y0) = (n(40), n(40));
    let area = Rect { x0, y0, x1: x0 + 1 + n(60), y1: y0 + 1 + n(60) };
    let (left, top) = (n(x0 + 1), n(y0 + 1));
    let (width, height) = (x0 - left + 1 + n(50), y0 - top + 1 + n(50));
    let mut body = vec![0, 0];
    let fields = [area.x1, area.y1, area.x0, area.y0, width, height, left, top];
    fields.iter().for_each(|field| body.extend(field.to_be_bytes()));
    let (dx, dy) = (1 + n(3), 1 + n(3));
    body.extend([0, 2, 7, 1, 1, 7, u8::try_from(dx).unwrap(), u8::try_from(dy).unwrap()]);
    let size = Size::read(&body).unwrap();
    let mut parameters = Parameters::default();
    let levels = u8::try_from(n(5)).unwrap();
    let mut cod = vec![1, 0, 0, 1, 0, levels, u8::try_from(n(3)).unwrap(), u8::try_from(n(3)).unwrap(), 0, 1];
    for level in 0..=levels {
        let least = u32::from(level != 0);
        let (x, y) = (least + n(5), least + n(5));
        cod.push(u8::try_from(y << 4 | x).unwrap());
    }
    parameters.read_cod(&cod).unwrap();
    parameters.read_qcd(&[0x40; 20], &mut Memory::new(1000)).unwrap();
    Case { size, parameters }
}

#[test]
fn code_blocks_tile_planes() {
    let mut seed = 7;
    for _ in 0..300 {
        let Case { size, parameters } = case(&mut seed);
        let none = Parameters::default();
        let holding = Holding { main: &parameters, tile: &none };
        for tile in 0..size.tiles() {
            let rect = size.tile(tile);
            for component in 0..2 {
                let parts = tile_component(&size, rect, &holding, component, 0).unwrap();
                let whole = parts.resolutions.last().unwrap().rect;
                let mut covered = vec![0; whole.width() as usize * whole.height() as usize];
                for resolution in &parts.resolutions {
                    for (precinct, band) in (0..resolution.count())
                        .flat_map(|p| resolution.bands.iter().map(move |band| (p, band)))
                    {
                        let grid = resolution.grid(u32::try_from(precinct).unwrap(), band);
                        for (column, row) in (0..grid.high).flat_map(|r| (0..grid.wide).map(move |c| (c, r)))
                        {
                            let block = grid.block(column, row);
                            assert!(!block.is_empty());
                            for y in block.y0..block.y1 {
                                for x in block.x0..block.x1 {
                                    let (x, y) = (band.x + x - band.rect.x0, band.y + y - band.rect.y0);
                                    assert!(x < resolution.rect.width() && y < resolution.rect.height());
                                    covered[(y * whole.width() + x) as usize] += 1;
                                }
                            }
                        }
                    }
                    // Bands have the sizes of the two halves of a wavelet step.
                    for band in &resolution.bands {
                        let odd = |x0: u32, x1: u32| (x0..x1).filter(|x| x % 2 == 1).count();
                        let all = |x0: u32, x1: u32| (x0..x1).len();
                        let Rect { x0, y0, x1, y1 } = resolution.rect;
                        let (width, height) = match band.band {
                            Band::Ll => (all(x0, x1), all(y0, y1)),
                            Band::Hl => (odd(x0, x1), all(y0, y1) - odd(y0, y1)),
                            Band::Lh => (all(x0, x1) - odd(x0, x1), odd(y0, y1)),
                            Band::Hh => (odd(x0, x1), odd(y0, y1)),
                        };
                        assert_eq!(
                            (band.rect.width() as usize, band.rect.height() as usize),
                            (width, height)
                        );
                    }
                }
                assert!(covered.iter().all(|&count| count == 1));
            }
        }
    }
}

/// Returns the packets of a position order, in the steps of B.12.1.3 to B.12.1.5 over the reference grid.
fn stepped(case: &Case, tile: Rect, parts: &[TileComponent<'_>], order: Order) -> Vec<(u16, u8, u32)> {
    let found = std::cell::RefCell::new(Vec::new());
    let visit = |x: u32, y: u32, c: u16, r: u8| {
        let part = &parts[usize::from(c)];
        let Some(resolution) = part.resolutions.get(usize::from(r)) else { return };
        if resolution.count() == 0 {
            return;
        }
        let stated = case.size.components[usize::from(c)];
        let shift = u32::from(part.coding.levels - r);
        let (px, py) = part.coding.precinct(r);
        let Rect { x0, y0, .. } = resolution.rect;
        let at = |value: u32, d: u8, p: u8, edge: u32, first: u32| {
            let (value, step) = (u64::from(value), u64::from(d) << (u32::from(p) + shift));
            value.is_multiple_of(step)
                || value == u64::from(edge)
                    && !(u64::from(first) << shift).is_multiple_of(1 << (u32::from(p) + shift))
        };
        if at(y, stated.dy, py, tile.y0, y0) && at(x, stated.dx, px, tile.x0, x0) {
            let cell = |value: u32, d: u8, p: u8, first: u32| {
                (value.div_ceil(u32::from(d) << shift) >> p) - (first >> p)
            };
            let k = cell(x, stated.dx, px, x0) + resolution.precincts.0 * cell(y, stated.dy, py, y0);
            found.borrow_mut().push((c, r, k));
        }
    };
    let grid = || (tile.y0..tile.y1).flat_map(|y| (tile.x0..tile.x1).map(move |x| (x, y)));
    match order {
        Order::Rpcl => (0..9).for_each(|r| {
            grid().for_each(|(x, y)| (0..2).for_each(|c| visit(x, y, c, r)));
        }),
        Order::Pcrl => grid().for_each(|(x, y)| (0..2).for_each(|c| (0..9).for_each(|r| visit(x, y, c, r)))),
        _ => (0..2).for_each(|c| grid().for_each(|(x, y)| (0..9).for_each(|r| visit(x, y, c, r)))),
    }
    found.into_inner()
}

#[test]
fn orders_of_places_are_those_of_a_walk_over_the_grid() {
    let mut seed = 3;
    for _ in 0..100 {
        let case = case(&mut seed);
        let none = Parameters::default();
        let holding = Holding { main: &case.parameters, tile: &none };
        for tile in 0..case.size.tiles().min(6) {
            let rect = case.size.tile(tile);
            let parts: Vec<_> =
                (0..2).map(|c| tile_component(&case.size, rect, &holding, c, 0).unwrap()).collect();
            let mut list: Vec<Place> = Vec::new();
            let mut names = Vec::new();
            for (c, part) in (0..).zip(&parts) {
                for r in 0..=part.coding.levels {
                    let first = list.len();
                    list.extend(places(&case.size, rect, c, part, r));
                    names.extend((0_u32..).take(list.len() - first).map(|k| (c, r, k)));
                }
            }
            for order in [Order::Rpcl, Order::Pcrl, Order::Cprl] {
                let volume = Volume { order, resolutions: (0, 33), components: (0, 2), layers: 1 };
                let mut found = Vec::new();
                walk(&volume, &list, &mut Vec::new(), |index, _| {
                    found.push(names[index]);
                    Ok::<_, ()>(())
                })
                .unwrap();
                assert_eq!(found, stepped(&case, rect, &parts, order), "{order:?}");
            }
        }
    }
}
