//! ZSTD by the portable encoder: a frame with one block per part (`portable/spec.md`, "ZSTD").

use super::matches::{Part, Shape, Step};
use super::{zstd_literals, zstd_sequences};
use crate::codec::Workspace;
use crate::codec::workspace::out_of_memory;
use strile_engine::BlockFault;
use strile_engine::portable::{PART, zstd_effort};

/// Magic number; a content size of 4 bytes and no checksum; a window of 128 KiB.
const HEADER: [u8; 6] = [0x28, 0xB5, 0x2F, 0xFD, 0x80, 0x38];
const HEADER_LEN: u64 = 10;
const BLOCK_HEADER: [u8; 3] = [0; 3];
/// An empty last block.
const EMPTY: [u8; 3] = [1, 0, 0];

/// Block types.
const RAW: usize = 0;
const REPEATED: usize = 1;
const COMPRESSED: usize = 2;

/// Returns the maximum bytes `encode` can append: all parts raw.
pub(in crate::codec) fn bound(len: usize) -> u64 {
    let headers = (len.div_ceil(PART).max(1) as u64).saturating_mul(BLOCK_HEADER.len() as u64);
    (len as u64).saturating_add(headers).saturating_add(HEADER_LEN)
}

/// Appends the frame of `src`.
pub(in crate::codec) fn encode(
    src: &[u8],
    dst: &mut Vec<u8>,
    level: i32,
    shape: Shape,
    workspace: &mut Workspace,
) -> Result<(), BlockFault> {
    let Ok(len) = u32::try_from(src.len()) else {
        return Err(BlockFault::unsupported("portable encoders take blocks below 4 GiB"));
    };
    let most = usize::try_from(bound(src.len())).unwrap_or(usize::MAX);
    dst.try_reserve(most).map_err(|_| out_of_memory(most, "an encoded block"))?;
    dst.extend_from_slice(&HEADER);
    dst.extend_from_slice(&len.to_le_bytes());
    let (mut literals, mut sequences) = (Vec::new(), Vec::new());
    let mut search = workspace.matches().search(src, zstd_effort(level), shape);
    while let Some(part) = search.next_part() {
        gather(&part, &mut literals, &mut sequences);
        append(&part, &literals, &sequences, dst);
    }
    if src.is_empty() {
        dst.extend_from_slice(&EMPTY);
    }
    Ok(())
}

/// Collects the literals and the sequences of a part.
fn gather(part: &Part<'_>, literals: &mut Vec<u8>, sequences: &mut Vec<Step>) {
    literals.clear();
    sequences.clear();
    let mut rest = part.bytes;
    for step in part.steps {
        let (plain, behind) = rest.split_at_checked(step.literals as usize).unwrap_or_default();
        literals.extend_from_slice(plain);
        rest = behind.get(step.length as usize..).unwrap_or_default();
        match sequences.last_mut() {
            _ if step.length == 0 => {}
            // The last match only ended because of the maximum match length.
            Some(last) if step.literals == 0 && step.distance == last.distance => last.length += step.length,
            _ => sequences.push(*step),
        }
    }
}

/// Appends the block of a part, the shortest of three kinds.
fn append(part: &Part<'_>, literals: &[u8], sequences: &[Step], dst: &mut Vec<u8>) {
    let start = dst.len();
    dst.extend_from_slice(&BLOCK_HEADER);
    let content = dst.len();
    let (kind, size) = match part.bytes {
        [first, _, ..] if part.bytes.iter().all(|byte| byte == first) => {
            dst.push(*first);
            (REPEATED, part.bytes.len())
        }
        bytes => {
            zstd_literals::append(literals, dst);
            zstd_sequences::append(sequences, dst);
            let size = dst.len() - content;
            if size < bytes.len() {
                (COMPRESSED, size)
            } else {
                dst.truncate(content);
                dst.extend_from_slice(bytes);
                (RAW, bytes.len())
            }
        }
    };
    let header = usize::from(part.last) | kind << 1 | size << 3;
    for (byte, value) in dst.iter_mut().skip(start).zip(header.to_le_bytes()).take(BLOCK_HEADER.len()) {
        *byte = value;
    }
}

#[cfg(test)]
mod tests;
