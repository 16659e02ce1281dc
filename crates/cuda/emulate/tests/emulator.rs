//! The emulation finds what it is for: planted errors of every kind, and right kernels give right results.
#![allow(clippy::unwrap_used, reason = "tests")]

use strile_emulate::{Emulator, Limits, Module, Poisoned};

#[derive(Clone, Copy)]
#[repr(C)]
struct Args {
    data: u64,
    count: u32,
    which: u32,
}

fn module() -> &'static Module {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("cpp/selftest.cu");
    Emulator::module_at(&source).unwrap()
}

fn words(buffer: &[u8]) -> Vec<u32> {
    buffer.chunks_exact(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect()
}

/// Runs planted error `which` on 64 words of zeros.
fn wrong(which: u32, count: u32, seed: u64) -> Result<Vec<u32>, String> {
    let mut data = Poisoned::from_bytes(&[0; 256], seed);
    let args = Args { data: data.address(), count, which };
    let limits = Limits { steps: 100_000, seconds: 2 };
    module().launch_within(limits, "wrong", (1, 1), 64, &args, seed)?;
    data.check()?;
    Ok(words(&data))
}

#[test]
fn prefix_sum_by_shuffles() {
    for seed in Emulator::seeds() {
        let input: Vec<u32> = (0..200).map(|i| i * 7 % 13).collect();
        let bytes: Vec<u8> = input.iter().flat_map(|w| w.to_le_bytes()).collect();
        let mut data = Poisoned::from_bytes(&bytes, seed);
        let args = Args { data: data.address(), count: 200, which: 0 };
        module().launch("scan", (1, 1), 256, &args, seed).unwrap();
        data.check().unwrap();
        let mut sum = 0;
        let expected: Vec<u32> = input.iter().map(|v| (sum += v, sum).1).collect();
        assert_eq!(words(&data), expected, "seed {seed}");
    }
}

#[test]
fn collectives_of_a_warp() {
    for seed in Emulator::seeds() {
        let data = Poisoned::new(32 * 32, seed);
        let args = Args { data: data.address(), count: 0, which: 0 };
        module().launch("votes", (1, 1), 32, &args, seed).unwrap();
        let found = words(&data);
        for lane in 0..32u32 {
            let at = lane as usize * 8;
            let down = if lane % 16 < 12 { lane + 4 } else { lane };
            let half = if lane < 16 { 0xFFFF } else { 0xAAAA_0000 };
            let expected = [0x4924_9249, 1, 0, 0xF << (lane / 4 * 4), 50, down, lane ^ 3, half];
            assert_eq!(found[at..at + 8], expected, "lane {lane}, seed {seed}");
        }
    }
}

#[test]
fn named_barriers_hand_over() {
    for seed in Emulator::seeds() {
        let data = Poisoned::new(16 * 32 * 4, seed);
        let args = Args { data: data.address(), count: 0, which: 0 };
        module().launch("named", (3, 2), 96, &args, seed).unwrap();
        let expected: Vec<u32> = (0..16).flat_map(|i| (0..32).map(move |l| i * 100 + 31 - l)).collect();
        assert_eq!(words(&data), expected, "seed {seed}");
    }
}

#[test]
fn a_flag_set_by_another_thread() {
    for seed in Emulator::seeds() {
        let data = Poisoned::from_bytes(&[0; 8], seed);
        let args = Args { data: data.address(), count: 0, which: 0 };
        module().launch("flag", (1, 1), 64, &args, seed).unwrap();
        assert_eq!(words(&data), [1, 64]);
    }
}

#[test]
fn what_cannot_go_on_is_an_error_that_says_where() {
    for seed in Emulator::seeds() {
        for (which, expected) in [
            (0, "divergent barrier: lanes of warp 0"),
            (1, "deadlock"),
            (2, "exited"),
            (7, "no end in sight"),
        ] {
            let said = wrong(which, 0, seed).unwrap_err();
            assert!(
                said.contains(expected) && said.contains("kernel wrong, block (0, 0)"),
                "{which}: {said}"
            );
            assert!(which == 7 || said.contains("selftest.cu") || said.contains("lines"), "{which}: {said}");
        }
    }
}

#[test]
fn a_loop_without_a_rendezvous_is_ended() {
    let said = wrong(8, 0, 0).unwrap_err();
    assert!(said.contains("time is up") && said.contains("thread"), "{said}");
    assert!(wrong(4, 0, 1).is_ok(), "the module can be used again");
}

#[test]
fn races_and_uninitialised_shared_memory_differ_between_seeds() {
    for which in [3, 4] {
        let results: std::collections::HashSet<Vec<u32>> =
            Emulator::seeds().map(|seed| wrong(which, 0, seed).unwrap()).collect();
        assert!(results.len() > 8, "{which}: {} different results", results.len());
    }
}

#[test]
fn undefined_behaviour_is_an_error_that_names_the_line() {
    let said = wrong(9, 1, 3).unwrap_err();
    assert!(said.contains("misaligned") && said.contains("selftest.cu:"), "{said}");
    let said = wrong(10, 0, 3).unwrap_err();
    assert!(said.contains("shift") && said.contains("selftest.cu:"), "{said}");
    let said = wrong(6, 64, 3).unwrap_err();
    assert!(said.contains("index outside its array"), "{said}");
}

#[test]
fn memory_that_is_not_there() {
    if strile_emulate::sanitized() {
        return; // AddressSanitizer ends the process with a report
    }
    for seed in Emulator::seeds() {
        let said = wrong(11, 0, seed).unwrap_err();
        assert!(said.contains("memory fault") && said.contains("thread"), "{said}");
    }
}

#[test]
fn launches_that_cannot_be() {
    let args = Args { data: 0, count: 0, which: 99 };
    let module = module();
    assert!(
        module.launch("nothing", (1, 1), 32, &args, 0).unwrap_err().contains("has no kernel nothing, only")
    );
    assert!(module.launch("wrong", (1, 1), 65, &args, 0).unwrap_err().contains("cannot be launched"));
    assert!(module.launch("wrong", (1, 1), 32, &0u32, 0).unwrap_err().contains("takes 16 bytes"));
    assert!(Emulator::module("no such kernels").unwrap_err().contains("no such kernels.cu"));
}

#[test]
fn launches_from_many_threads() {
    std::thread::scope(|scope| {
        for seed in 0..4 {
            scope.spawn(move || {
                for _ in 0..20 {
                    let data = Poisoned::new(32 * 32, seed);
                    let args = Args { data: data.address(), count: 0, which: 0 };
                    module().launch("votes", (2, 1), 32, &args, seed).unwrap();
                    assert_eq!(words(&data)[0], 0x4924_9249);
                }
            });
        }
    });
}

/// A write past a buffer: the guard tells, or under AddressSanitizer a process that dies with a report.
#[test]
fn an_access_past_the_end_is_found() {
    if !strile_emulate::sanitized() {
        assert!(wrong(5, 64, 0).unwrap_err().contains("after a buffer of 256 bytes"));
        return;
    }
    if let Ok(which) = std::env::var("STRILE_OVERRUN") {
        let _ = wrong(which.parse().unwrap(), 64, 0);
        return;
    }
    for which in ["5", "12"] {
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", "an_access_past_the_end_is_found"]).env("STRILE_OVERRUN", which);
        let output = again.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("AddressSanitizer"), "{which}: {said}");
    }
}
