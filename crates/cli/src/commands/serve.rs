//! `strile view` and `strile serve`.

use crate::args::{MosaicArgs, RemoteArgs, ServeArgs, ServerArgs, ViewArgs};
use crate::commands::info;
use crate::failure::{Failure, Outcome};
use crate::input::Session;
use crate::output::print;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use strile::engine::Budget;
use strile_serve::{ServeError, Server, ServerOptions};

/// Shows files in a browser.
pub fn view(args: &ViewArgs, session: &Session) -> Result<Outcome, Failure> {
    let mut options = options(&args.files, (&args.server, &args.mosaic, &args.remote), session)?;
    options.port = args.port;
    options.decode_on = args.decode.decode_on;
    options.exit_with_page = args.exit_with_page;
    options.basemap.clone_from(&args.basemap);
    options.describe = Some(Arc::new(info::described));
    let server = Server::view(&args.files, options).map_err(failed)?;
    let url = server.url();
    print(&url)?;
    if let Some(hint) = ssh_hint(server.address().port()) {
        session.note(&hint);
    }
    if !args.no_open {
        open_browser(&url);
    }
    session.note("Ctrl-C ends it");
    ended(server, session)
}

/// Serves tiles.
pub fn serve(args: &ServeArgs, session: &Session) -> Result<Outcome, Failure> {
    let mut options = options(&args.files, (&args.server, &args.mosaic, &args.remote), session)?;
    options.port = args.port;
    options.decode_on = args.decode.decode_on;
    options.cors.clone_from(&args.cors);
    options.max_age = args.max_age;
    let server = Server::tiles(&args.files, options).map_err(failed)?;
    print(&server.url())?;
    session.note("Ctrl-C ends it");
    ended(server, session)
}

fn failed(error: ServeError) -> Failure {
    Failure::Request(error.to_string(), None)
}

/// Runs a server until it stops. Ctrl-C is the usual end.
fn ended(server: Server, session: &Session) -> Result<Outcome, Failure> {
    server.run(&session.cancel).map_err(failed)?;
    Ok(Outcome::Clean)
}

fn options(
    files: &[PathBuf],
    (server, mosaic, remote): (&ServerArgs, &MosaicArgs, &RemoteArgs),
    session: &Session,
) -> Result<ServerOptions, Failure> {
    // Folders may contain VRTs with remote sources, so options of remote files are always allowed with them.
    let folders = files.iter().filter(|path| !path.is_dir()).map(PathBuf::as_path);
    let open = match files.iter().any(|path| path.is_dir()) {
        true => remote.open_options(folders.chain([std::path::Path::new("folder.vrt")]), &session.cancel)?,
        false => remote.open_options(folders, &session.cancel)?,
    };
    let mut options = ServerOptions::default();
    options.host.clone_from(&server.host);
    options.allowed_hosts.clone_from(&server.host_name);
    options.connections = server.connections;
    options.requests = server.requests;
    options.threads = server.threads;
    if let Some(bytes) = server.memory {
        options.budget = Arc::new(Budget::new(bytes));
    }
    options.open = mosaic.options(open);
    Ok(options)
}

/// Returns a hint on how to reach the page from the user's machine.
fn ssh_hint(port: u16) -> Option<String> {
    let connection = std::env::var("SSH_CONNECTION").ok()?;
    // Client, its port, this machine, its port.
    let here = connection.split_whitespace().nth(2).unwrap_or("HOST");
    let is_address = here.chars().all(|c| c.is_ascii_hexdigit() || ".:%".contains(c));
    let here = if is_address { here } else { "HOST" };
    Some(format!(
        "This is a remote machine. On yours, run `ssh -N -L {port}:127.0.0.1:{port} {here}` and open the address there"
    ))
}

/// Opens a browser, if this session has a screen. Failures are ignored: the address is printed.
fn open_browser(url: &str) {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let program = match () {
        () if cfg!(target_os = "macos") => "open",
        () if cfg!(target_os = "windows") => "explorer",
        () if is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") => "xdg-open",
        () => return,
    };
    let mut command = Command::new(program);
    let _unopened = command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}
