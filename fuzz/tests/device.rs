//! A few mutants of every codec with kernels, decoded under the emulator and on the CPU. In a process of its own: from
//! here on the stand-in is the driver.

use fuzz::Plan;
use std::time::Duration;

const PLAN: Plan = Plan { mutants: 20, first: 1 << 32, at_most: Duration::from_secs(4) };

#[test]
fn kernels_say_what_the_cpu_says() {
    let all = fuzz::all();
    let devices: Vec<_> = all.iter().filter(|target| target.is_device()).collect();
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        assert_eq!(devices.len(), 10);
    }
    for target in devices {
        let (tally, failures) = fuzz::run(target, PLAN);
        let told: Vec<String> = failures.iter().map(|f| format!("{}: {}", f.mutant, f.reason)).collect();
        assert!(told.is_empty(), "{}", told.join("\n"));
        println!("{}", tally.row());
        assert!(tally.reached > 0, "{tally:?}");
    }
}
