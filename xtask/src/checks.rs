//! Checks of the command line with other readers and writers: scripts of `xtask/python`, run in parallel in a separate
//! environment.

use crate::failure::Failure;
use crate::process::{self, Ended};
use crate::ran::TestsRan;
use crate::venv;
use crate::workspace::Workspace;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Scripts that count their own cases; the program is their argument. The slowest come first.
const COUNTING: [&str; 9] = [
    "check_written",
    "check_overviews",
    "check_crs",
    "check_translate",
    "check_cog_verdicts",
    "check_vrt",
    "check_convert",
    "check_doors",
    "check_kept",
];

/// Builds the program and runs all scripts, as many at once as there are cores.
pub fn run(workspace: &Workspace, ran: &mut TestsRan) -> Result<(), Failure> {
    let python = venv::CHECKS.python(workspace)?;
    process::show(process::cargo(&workspace.root).args(["build", "--workspace", "--bin", "strile"]))?;
    let program = workspace.target.join("debug/strile");
    let script = |name: &str| {
        let mut command = Command::new(&python);
        command.current_dir(&workspace.root).arg("-B").arg(format!("xtask/python/{name}.py"));
        command
    };
    let ended = process::show_and_keep(script("compare_readers").arg("--strile").arg(&program))?;
    ran.add_python(&ended.lines);
    let mut all = ended.success;
    for (name, ended) in COUNTING.iter().zip(beside_each_other(&COUNTING, |name| {
        process::show_some_and_keep(script(name).arg(&program), |_| false)
    })) {
        let ended = ended?;
        all &= ran.add_counted(name, &ended.lines) && ended.success;
    }
    if all { Ok(()) } else { Err(Failure::new("a Python check reports failures")) }
}

/// Runs work for each name on as many threads as there are cores. Shows the lines of each as it ends, and returns all
/// in the order of the names.
fn beside_each_other(
    names: &[&str],
    work: impl Fn(&str) -> Result<Ended, Failure> + Sync,
) -> Vec<Result<Ended, Failure>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(names.len());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(name) = names.get(at) else { break };
                    let ended = work(name);
                    let mut done = done.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    let lines = ended.iter().flat_map(|ended| &ended.lines);
                    lines.for_each(|line| eprintln!("{name}: {line}"));
                    done.push((at, ended));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, ended)| ended).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_names() {
        let names = ["slow", "b", "c", "d"];
        let ended = beside_each_other(&names, |name| {
            if name == "slow" {
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            if name == "c" {
                return Err(Failure::new("c does not start"));
            }
            Ok(Ended { success: true, lines: vec![name.to_owned()] })
        });
        let lines: Vec<_> =
            ended.iter().map(|ended| ended.as_ref().ok().map(|e| e.lines[0].as_str())).collect();
        assert_eq!(lines, [Some("slow"), Some("b"), None, Some("d")]);
    }
}
