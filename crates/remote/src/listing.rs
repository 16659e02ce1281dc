//! Lists the objects of a bucket with a prefix.

use crate::client::{Head, Web};
use crate::failure::{Failure, Then};
use crate::fetch::until_cancelled;
use crate::host::host_of;
use crate::options::RemoteOptions;
use crate::place::{Place, Service};
use crate::profile::{self, Profile};
use crate::runtime;
use crate::store::{azure_of, gcs_of, s3_of, unsent, without_url};
use crate::tries::Tries;
use http::{Extensions, StatusCode};
use object_store::list::{PaginatedListOptions, PaginatedListResult, PaginatedListStore};
use std::io;
use std::sync::mpsc;
use strile_engine::Cancel;
use tokio::time::timeout;

/// Keys per answer; the maximum of stores.
const PAGE: usize = 1000;
/// Maximum number of answers: a bucket may have too many keys to wait for.
const PAGES: usize = 100;

/// Objects of a bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    /// Keys, sorted.
    pub keys: Vec<String>,
    /// Whether there are more objects than listed.
    pub is_cut: bool,
}

/// Lists the objects of a bucket whose URLs begin with `prefix` and whose keys are `wanted`: at most `most`, of the first
/// 100,000 keys.
///
/// Plain HTTP has no list of objects.
pub fn list(
    prefix: &str,
    wanted: fn(&str) -> bool,
    most: usize,
    options: &RemoteOptions,
    cancel: &Cancel,
) -> io::Result<Listing> {
    let (place, prefix) = Place::parse_prefix(prefix, options)?;
    let (options, of_task) = (options.clone(), cancel.clone());
    let (answer, done) = mpsc::channel();
    // Not `block_on`, which panics on a thread of another runtime.
    runtime::handle()?.spawn(async move {
        let listed = until_cancelled(&of_task, pages(&place, &prefix, wanted, most, &options)).await;
        let _nobody_waits = answer.send(listed);
    });
    done.recv().map_err(|_| io::Error::other("a request was dropped"))?
}

async fn pages(
    place: &Place,
    prefix: &str,
    wanted: fn(&str) -> bool,
    most: usize,
    options: &RemoteOptions,
) -> io::Result<Listing> {
    let bucket = bucket_of(place, options)?;
    let host = host_of(&place.host());
    let (mut found, mut token) = (Listing::default(), None);
    for _ in 0..PAGES {
        let mut tries = Tries::new(options, &host);
        let page = loop {
            let patience = options.stall_timeout.min(tries.left());
            let asked = timeout(patience, page(bucket.as_ref(), prefix, token.clone())).await;
            let slow = || Failure::brief(io::ErrorKind::TimedOut, "the store did not answer in time");
            match asked.unwrap_or_else(|_| Err(slow())) {
                Ok(page) => break page,
                Err(failure) => tries.pause(failure, false).await?,
            }
        };
        for object in page.result.objects {
            let key = object.location.as_ref();
            if key.starts_with(prefix) && wanted(key) {
                if found.keys.len() >= most {
                    found.is_cut = true;
                    break;
                }
                found.keys.push(key.to_owned());
            }
        }
        token = page.page_token;
        if token.is_none() || found.is_cut {
            break;
        }
    }
    found.is_cut |= token.is_some();
    found.keys.sort();
    Ok(found)
}

/// Requests one answer.
async fn page(
    bucket: &dyn PaginatedListStore,
    prefix: &str,
    page_token: Option<String>,
) -> Result<PaginatedListResult, Failure> {
    let head = Head::default();
    let mut extensions = Extensions::new();
    // Marks a request for objects, not for credentials.
    extensions.insert(head.clone());
    let options = PaginatedListOptions {
        max_keys: Some(PAGE),
        page_token,
        extensions,
        ..PaginatedListOptions::default()
    };
    let prefix = Some(prefix).filter(|prefix| !prefix.is_empty());
    let answer = bucket.list_paginated(prefix, options).await;
    match (answer, head.take().map(|parts| parts.status)) {
        (Ok(page), _) => Ok(page),
        (Err(error), None) => Err(unsent(&error)),
        (Err(_), Some(status)) => Err(refused(status)),
    }
}

fn refused(status: StatusCode) -> Failure {
    let said = |kind, text: String, then| Failure { error: io::Error::new(kind, text), then };
    match status.as_u16() {
        401 | 403 => said(
            io::ErrorKind::PermissionDenied,
            format!(
                "the store refuses to list it ({status}); name the files, or use credentials that may list"
            ),
            Then::GiveUp,
        ),
        404 => said(io::ErrorKind::NotFound, "the store has no such bucket".into(), Then::GiveUp),
        429 | 503 => said(io::ErrorKind::Other, format!("the store answers {status}"), Then::SlowDown(None)),
        408 | 500 | 502 | 504 => {
            said(io::ErrorKind::Other, format!("the store answers {status}"), Then::Retry(None))
        }
        200..300 => {
            said(io::ErrorKind::InvalidData, "the answer is not a list of objects".into(), Then::GiveUp)
        }
        _ => said(io::ErrorKind::Other, format!("the store answers {status}"), Then::GiveUp),
    }
}

fn bucket_of(place: &Place, options: &RemoteOptions) -> io::Result<Box<dyn PaginatedListStore>> {
    let web = Web::new(options)?;
    let profile = match place.service == Service::S3 && !options.anonymous {
        true => profile::of_user(options)?,
        false => Profile::default(),
    };
    let failed = |error: object_store::Error| {
        let problem = format!("cannot reach the bucket: {}", without_url(&error));
        io::Error::new(io::ErrorKind::InvalidInput, problem)
    };
    Ok(match place.service {
        Service::Http => {
            let problem =
                "plain HTTP has no list of files; name the files, or use a bucket (s3://, gs://, az://)";
            return Err(io::Error::new(io::ErrorKind::Unsupported, problem));
        }
        Service::S3 => {
            Box::new(s3_of(place, options, &profile, &web).and_then(|bucket| bucket.build()).map_err(failed)?)
        }
        Service::Gcs => {
            Box::new(gcs_of(place, options, &web).and_then(|bucket| bucket.build()).map_err(failed)?)
        }
        Service::Azure => {
            Box::new(azure_of(place, options, &web).and_then(|bucket| bucket.build()).map_err(failed)?)
        }
    })
}
