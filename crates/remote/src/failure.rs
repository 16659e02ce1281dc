//! A failed request, and whether to retry it.

use crate::client::Unencrypted;
use crate::guard::PrivateHost;
use std::error::Error;
use std::io;
use std::time::Duration;

/// One failed request.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: io::Error,
    pub(crate) then: Then,
}

/// Action after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// Retrying would not help.
    GiveUp,
    /// Retry, after the delay that the server states.
    Retry(Option<Duration>),
    /// Retry, with fewer requests at once.
    SlowDown(Option<Duration>),
}

impl Failure {
    pub(crate) fn last(kind: io::ErrorKind, text: impl Into<String>) -> Self {
        Self { error: io::Error::new(kind, text.into()), then: Then::GiveUp }
    }

    pub(crate) fn brief(kind: io::ErrorKind, text: impl Into<String>) -> Self {
        Self { error: io::Error::new(kind, text.into()), then: Then::Retry(None) }
    }

    pub(crate) fn changed() -> Self {
        Self::last(
            io::ErrorKind::StaleNetworkFileHandle,
            "the object has changed since it was opened: open it again",
        )
    }

    /// Returns the failure of a request without an answer, or whose body broke. The text contains no URLs.
    pub(crate) fn transport(error: &(dyn Error + 'static)) -> Self {
        let mut chain = Vec::new();
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(refused) = inside::<PrivateHost>(error) {
                let error = io::Error::new(io::ErrorKind::PermissionDenied, refused.clone());
                return Self { error, then: Then::GiveUp };
            }
            if inside::<Unencrypted>(error).is_some() {
                return Self::last(io::ErrorKind::InvalidInput, Unencrypted.to_string());
            }
            chain.push(error);
            next = error.source();
        }
        let system = chain.iter().find_map(|error| error.downcast_ref::<io::Error>());
        let timed_out = chain.iter().any(|error| {
            error
                .downcast_ref::<reqwest::Error>()
                .is_some_and(|error| error.is_timeout() && !error.is_builder())
        });
        let kind = match system {
            _ if timed_out => io::ErrorKind::TimedOut,
            Some(error) if error.kind() != io::ErrorKind::Other => error.kind(),
            _ => io::ErrorKind::ConnectionAborted,
        };
        // The innermost error says what happened; the outer ones repeat it in more general words.
        let text = match (system, chain.last()) {
            _ if timed_out => "no connection within `connect_timeout`".to_owned(),
            (Some(error), _) => error.to_string(),
            (None, Some(error)) => error.to_string(),
            (None, None) => "the connection failed".to_owned(),
        };
        let unresolved = chain.iter().any(|error| error.to_string() == "dns error");
        if unresolved && !text.contains("Temporary") {
            let text = format!("cannot find the host ({text}); check the address and the network");
            return Self::last(io::ErrorKind::HostUnreachable, text);
        }
        Self::brief(kind, text)
    }
}

/// Returns the error of that type, or the error inside of a system error.
fn inside<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let inside = || error.downcast_ref::<io::Error>().and_then(|error| error.get_ref()?.downcast_ref());
    error.downcast_ref().or_else(inside)
}
