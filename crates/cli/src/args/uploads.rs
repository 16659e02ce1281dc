//! `strile uploads`.

use super::RemoteArgs;
use super::values::parse_hours;
use clap::Args;
use std::time::Duration;

/// List unfinished uploads to a bucket, and remove them.
///
/// An upload that was killed leaves no object, but its parts take space until they are removed. `strile convert` to the same URL
/// removes what an earlier one left; this command does it for all objects below a prefix. Uploads of other programs are listed
/// and kept, unless --all is given. Only S3 has such a list: unfinished uploads to Google Cloud Storage and Azure expire after a
/// week.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile uploads s3://bucket/scenes/
  strile uploads s3://bucket/scenes/ --remove
  strile uploads s3://bucket/dem.tif --remove --older-than 0

Exit status: 0 done; 1 some uploads could not be removed, which are listed; 2 an error.")]
pub struct UploadsArgs {
    /// Prefix of object URLs: a bucket, a folder in it, or an object
    #[arg(value_name = "URL")]
    pub prefix: String,
    /// Remove the uploads
    #[arg(long)]
    pub remove: bool,
    /// Leave out uploads begun within this many hours: they may be under way
    #[arg(long, value_name = "HOURS", default_value = "24", value_parser = parse_hours)]
    pub older_than: Duration,
    /// Remove uploads of other programs, too
    #[arg(long, requires = "remove")]
    pub all: bool,
    #[command(flatten)]
    pub remote: RemoteArgs,
}
