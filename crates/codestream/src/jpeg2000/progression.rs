//! The order of a tile's packets (ISO 15444-1, B.12): five orders of layers, resolutions, components and positions, and
//! changes between them.
//!
//! Instead of stepping over the reference grid, the precincts of a tile are sorted by the position at which such a walk
//! would find them.

use super::fields::Fields;
use strile_engine::BlockFault;

/// A progression order: L is for layers, R for resolutions, C for components and P for positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Lrcp,
    Rlcp,
    Rpcl,
    Pcrl,
    Cprl,
}

impl Order {
    pub(super) fn read(value: u8) -> Result<Self, BlockFault> {
        Ok(match value {
            0 => Self::Lrcp,
            1 => Self::Rlcp,
            2 => Self::Rpcl,
            3 => Self::Pcrl,
            4 => Self::Cprl,
            other => return Err(BlockFault::corrupt(format!("JPEG 2000: progression order {other}"))),
        })
    }
}

/// The packets of one progression order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Volume {
    pub(super) order: Order,
    /// First resolution, and the one after the last.
    pub(super) resolutions: (u8, u8),
    pub(super) components: (u16, u16),
    /// The layer after the last.
    pub(super) layers: u16,
}

impl Volume {
    /// Reads an entry of a POC segment; `None` if it is truncated.
    pub(super) fn read(fields: &mut Fields<'_>, components: usize) -> Option<Result<Self, BlockFault>> {
        let first_resolution = fields.u8()?;
        let first_component = fields.component(components)?;
        let layers = fields.u16()?;
        let end_resolution = fields.u8()?;
        let end_component = match fields.component(components)? {
            0 => u16::MAX,
            end => end,
        };
        let order = fields.u8()?;
        Some(Order::read(order).map(|order| Self {
            order,
            resolutions: (first_resolution, end_resolution),
            components: (first_component, end_component),
            layers,
        }))
    }
}

/// Sorting keys of a precinct.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) component: u16,
    pub(super) resolution: u8,
    /// Position on the reference grid at which a walk finds it.
    pub(super) x: u32,
    pub(super) y: u32,
}

/// Calls `visit` for each packet of a volume with the index of its precinct and its layer. `places` are sorted by
/// component, then resolution, then row by row. Packets of earlier volumes are visited again. `order` becomes the list
/// of places in visiting order; it must have room for them all.
pub(super) fn walk<E>(
    volume: &Volume,
    places: &[Place],
    order: &mut Vec<u32>,
    mut visit: impl FnMut(usize, u16) -> Result<(), E>,
) -> Result<(), E> {
    let (resolutions, components) = (volume.resolutions, volume.components);
    let within = |place: &Place| {
        (resolutions.0..resolutions.1).contains(&place.resolution)
            && (components.0..components.1).contains(&place.component)
    };
    order.clear();
    order.extend((0_u32..).zip(places).filter(|(_, place)| within(place)).map(|(index, _)| index));
    let place = |index: u32| places.get(index as usize).copied().unwrap_or_default();
    let key = |&index: &u32| {
        let Place { component, resolution, x, y } = place(index);
        match volume.order {
            Order::Lrcp | Order::Rlcp => (u16::from(resolution), 0, 0, index),
            Order::Rpcl => (u16::from(resolution), y, x, index),
            Order::Pcrl => (0, y, x, index),
            Order::Cprl => (component, y, x, index),
        }
    };
    order.sort_unstable_by_key(key);
    let mut round = |list: &[u32]| -> Result<(), E> {
        (0..volume.layers)
            .try_for_each(|layer| list.iter().try_for_each(|&index| visit(index as usize, layer)))
    };
    match volume.order {
        Order::Lrcp => round(order),
        Order::Rlcp => {
            order.chunk_by(|&a, &b| place(a).resolution == place(b).resolution).try_for_each(round)
        }
        Order::Rpcl | Order::Pcrl | Order::Cprl => order.chunks(1).try_for_each(round),
    }
}
