//! Runs a program with hard limits on address space and time, and measures its memory.
#![expect(unsafe_code, reason = "wait4 tells what one child took, and the standard library has no such call")]

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Limits of a program.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of address space, enforced by the system.
    pub address_space: u64,
    /// Wall time, after which it is killed.
    pub time: Duration,
}

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    /// Exit status; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Peak of resident memory in bytes. At least that of the program that started it.
    pub peak: u64,
    /// Wall time.
    pub took: Duration,
    /// Whether it was killed after the time limit.
    pub timed_out: bool,
    /// Start of its standard error.
    pub stderr: String,
}

/// Runs a program without standard input; its standard output is dropped.
#[expect(clippy::zombie_processes, reason = "`wait` waits for it")]
pub fn run(program: &Command, limits: Limits) -> Ended {
    // A shell sets the limit, then becomes the program.
    let kilobytes = limits.address_space >> 10;
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -v {kilobytes}; exec \"$@\"")).arg("sh");
    command.arg(program.get_program()).args(program.get_args());
    if let Some(folder) = program.get_current_dir() {
        command.current_dir(folder);
    }
    command.envs(program.get_envs().filter_map(|(key, value)| Some((key, value?))));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let begin = Instant::now();
    let mut child = command.spawn().expect("sh is there");
    let mut stderr = child.stderr.take().expect("piped");
    let said = std::thread::spawn(move || {
        let mut said = Vec::new();
        let _cut_off = stderr.by_ref().take(1 << 16).read_to_end(&mut said);
        let _rest = std::io::copy(&mut stderr, &mut std::io::sink());
        String::from_utf8_lossy(&said).into_owned()
    });
    let mut timed_out = false;
    let (status, peak) = loop {
        if let Some(ended) = wait(child.id()) {
            break ended;
        }
        if !timed_out && begin.elapsed() > limits.time {
            timed_out = true;
            let _gone = child.kill();
        }
        std::thread::sleep(Duration::from_millis(3));
    };
    let took = begin.elapsed();
    Ended {
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        peak,
        took,
        timed_out,
        stderr: said.join().unwrap_or_default(),
    }
}

/// Returns the status of a child and its peak memory, if it has ended.
fn wait(id: u32) -> Option<(i32, u64)> {
    let mut status = 0;
    // SAFETY: a struct of numbers; all zeros is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both places are local and outlive the call.
    let ended = unsafe { libc::wait4(id as libc::pid_t, &raw mut status, libc::WNOHANG, &raw mut usage) };
    assert!(ended >= 0, "wait4 fails for a child of ours");
    (ended > 0).then_some((status, (usage.ru_maxrss as u64) << 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_hold_and_memory_is_measured() {
        let limits = Limits { address_space: 1 << 30, time: Duration::from_secs(60) };
        let shell_within = |script: &str, limits: Limits| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            run(&command, limits)
        };
        let shell = |script: &str| shell_within(script, limits);
        let good = shell("echo out; echo told >&2; exit 3");
        assert_eq!(
            (good.code, good.signal, good.timed_out, good.stderr.as_str()),
            (Some(3), None, false, "told\n")
        );
        assert!(good.peak > 1 << 18 && good.peak < 1 << 28, "{}", good.peak);
        let slow = shell_within("sleep 20", Limits { time: Duration::from_secs(1), ..limits });
        assert!(slow.timed_out && slow.signal.is_some());
        // 64 MiB in the shell's own memory.
        let large = shell("a=$(head -c 67108864 /dev/zero | tr '\\0' a); echo ${#a}");
        assert!(large.peak > 60 << 20, "{}", large.peak);
        let small = Limits { address_space: 40 << 20, ..limits };
        let refused = shell_within("a=$(head -c 67108864 /dev/zero | tr '\\0' a)", small);
        assert!(refused.code != Some(0));
    }
}
