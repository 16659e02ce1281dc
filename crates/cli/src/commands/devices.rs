//! `strile devices`.

use crate::args::DevicesArgs;
use crate::failure::{Failure, Outcome};
use crate::json::print_json;
use crate::output::print;
use serde_json::json;
use strile::Context;

pub fn run(args: &DevicesArgs) -> Result<Outcome, Failure> {
    if args.calibrate {
        let path = strile::device::calibrate(&Context::default())?;
        match args.json {
            true => print_json(&json!({ "constants": path.display().to_string() }))?,
            false => print(&format!("constants of this machine are in {}", path.display()))?,
        }
        return Ok(Outcome::Clean);
    }
    let devices = strile::device::devices();
    if args.json {
        let list: Vec<_> = devices
            .iter()
            .map(|device| {
                json!({
                    "name": device.name,
                    "description": device.description,
                    "usable": device.usable,
                    "compute_capability": device.gpu.as_ref().map(|gpu| pair(gpu.capability)),
                    "memory_free": device.gpu.as_ref().and_then(|gpu| gpu.memory_free),
                    "memory_total": device.gpu.as_ref().map(|gpu| gpu.memory_total),
                    "driver_cuda": device.gpu.as_ref().map(|gpu| pair(gpu.driver)),
                })
            })
            .collect();
        print_json(&json!({ "devices": list }))?;
    } else {
        let width = devices.iter().map(|device| device.name.len()).max().unwrap_or(0);
        let lines = devices.iter().map(|device| {
            let usable = if device.usable { "usable    " } else { "not usable" };
            format!("{:<width$}  {usable}  {}", device.name, device.description)
        });
        print(&lines.collect::<Vec<_>>().join("\n"))?;
    }
    Ok(Outcome::Clean)
}

fn pair((major, minor): (u32, u32)) -> String {
    format!("{major}.{minor}")
}
