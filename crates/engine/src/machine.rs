//! The memory that this process may use: physical memory, cgroups and resource limits.
//!
//! A limit that cannot be read is ignored. Files that do not exist are skipped, so the same code handles cgroup v1, v2
//! and a mix of them, inside and outside of containers.

use std::path::{Component, Path, PathBuf};

/// Folders with information about the system; replaced in tests.
#[derive(Debug, Clone)]
pub(crate) struct Roots {
    /// `/proc`.
    pub(crate) proc: PathBuf,
    /// `/sys/fs/cgroup`.
    pub(crate) cgroup: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self { proc: "/proc".into(), cgroup: "/sys/fs/cgroup".into() }
    }
}

/// Limit if nothing is known.
const UNKNOWN: u64 = 4 << 30;

/// Returns the limit of calls without one of their own: three quarters of the least of
/// - physical memory,
/// - the limits of the process's cgroup and of all its ancestors,
/// - `RLIMIT_AS` and `RLIMIT_DATA` less what the process uses already.
pub(crate) fn default_limit(roots: &Roots) -> u64 {
    let limits = [physical(roots), cgroups(roots), resources(roots)];
    limits.into_iter().flatten().min().map_or(UNKNOWN, |bytes| bytes / 4 * 3)
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

fn physical(roots: &Roots) -> Option<u64> {
    kilobytes(&read(roots.proc.join("meminfo"))?, "MemTotal:")
}

/// Returns the value of a line such as `MemTotal:  16777216 kB`, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the least limit of the process's cgroups and of all their ancestors.
fn cgroups(roots: &Roots) -> Option<u64> {
    let lines = read(roots.proc.join("self/cgroup"))?;
    lines.lines().filter_map(|line| cgroup(roots, line)).min()
}

/// Returns the least limit for one line of `/proc/self/cgroup`: hierarchy, controllers and path, separated by colons.
fn cgroup(roots: &Roots, line: &str) -> Option<u64> {
    let mut parts = line.splitn(3, ':');
    let (hierarchy, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let (tops, files): (&[&str], &[&str]) = match hierarchy {
        // Version 2; mixed with version 1, it is mounted in a folder of its own.
        "0" if controllers.is_empty() => (&["", "unified"], &["memory.max", "memory.high"]),
        _ if controllers.split(',').any(|name| name == "memory") => {
            (&["memory", controllers], &["memory.limit_in_bytes"])
        }
        _ => return None,
    };
    // A container may see its own cgroup as the top: missing folders are skipped on the way up. A path outside of the
    // process's namespace begins with `..`.
    let path: PathBuf =
        Path::new(path).components().filter(|part| matches!(part, Component::Normal(_))).collect();
    let folders = path.ancestors().flat_map(|folder| tops.iter().map(move |top| Path::new(top).join(folder)));
    let files = folders.flat_map(|folder| files.iter().map(move |file| folder.join(file)));
    // The word `max` (no limit) does not parse as a number.
    files.filter_map(|file| read(roots.cgroup.join(file))?.trim().parse().ok()).min()
}

/// Returns what the resource limits leave: their soft values less what the process uses now.
fn resources(roots: &Roots) -> Option<u64> {
    let (limits, status) = (read(roots.proc.join("self/limits"))?, read(roots.proc.join("self/status"))?);
    let left = |limit: &str, taken: &str| {
        let line = limits.lines().find_map(|line| line.strip_prefix(limit))?;
        let soft = line.split_whitespace().next()?.parse::<u64>().ok()?;
        Some(soft.saturating_sub(kilobytes(&status, taken).unwrap_or(0)))
    };
    let (space, data) = (left("Max address space", "VmSize:"), left("Max data size", "VmData:"));
    space.into_iter().chain(data).min()
}

#[cfg(test)]
mod tests;
