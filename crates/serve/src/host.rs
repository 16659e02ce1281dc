//! Host names that a server answers to: prevents a page of another site from reaching it under its own name (DNS
//! rebinding).

use crate::answer::Refusal;
use http::HeaderMap;
use http::StatusCode;
use std::net::IpAddr;

/// Names allowed in the Host header, in addition to addresses and `localhost`.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    names: Vec<String>,
}

impl Hosts {
    pub(crate) fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self { names: names.into_iter().map(|name| name.to_ascii_lowercase()).collect() }
    }

    /// Refuses a request for another host.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let mut all = headers.get_all(http::header::HOST).iter();
        let host = match (all.next(), all.next()) {
            (Some(host), None) => host.to_str().ok(),
            _ => None,
        };
        match host.is_some_and(|host| self.is_allowed(host)) {
            true => Ok(()),
            false => Err(Refusal::new(
                StatusCode::MISDIRECTED_REQUEST,
                "this server does not answer to the Host of the request; `--allowed-host NAME` allows one",
            )),
        }
    }

    fn is_allowed(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or(""),
            None => host.split(':').next().unwrap_or(""),
        };
        // An address cannot be rebound.
        name.parse::<IpAddr>().is_ok()
            || name == "localhost"
            || name.ends_with(".localhost")
            || self.names.iter().any(|own| own == name || own == "*")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_and_known_names_are_answered() {
        let hosts = Hosts::new(["Lab.example.org".to_owned()]);
        for good in
            ["127.0.0.1:8000", "localhost", "LOCALHOST:1", "[::1]:80", "lab.example.org:8000", "10.0.0.1"]
        {
            assert!(hosts.is_allowed(good), "{good}");
        }
        for bad in ["evil.org", "localhost.evil.org", "", "127.0.0.1.evil.org", "[evil", "example.org", ":80"]
        {
            assert!(!hosts.is_allowed(bad), "{bad}");
        }
        assert!(hosts.check(&HeaderMap::new()).is_err());
    }
}
