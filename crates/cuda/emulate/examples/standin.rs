//! Builds the stand-ins for the driver and cuFile and prints their folder, for `LD_LIBRARY_PATH`.

fn main() -> Result<(), String> {
    println!("{}", strile_emulate::StandIn::build()?.display());
    Ok(())
}
