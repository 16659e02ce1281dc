//! Blocks requests to this machine and to private networks.
//!
//! URLs often come from untrusted sources, and a reader that follows one must not give access to services that only
//! this machine can reach. All services and redirects are checked here: [`Guard`] resolves names, and the connection
//! goes to the address that it checked; addresses in URLs are checked before a request.

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use url::{Host, Url};

/// Error: a host is on this machine or in a private network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateHost {
    /// Host as in the URL.
    pub host: String,
    /// Address that it resolves to.
    pub address: IpAddr,
}

impl fmt::Display for PrivateHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, address } = self;
        write!(f, "the host '{host}' is {address}, on this machine or in a private network")?;
        f.write_str("; turn `deny_private_hosts` off to permit it")
    }
}

impl std::error::Error for PrivateHost {}

/// Resolves names only to public Internet addresses.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    /// Hosts that may have any address.
    pub(crate) allowed: Arc<[String]>,
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            // One private address among public ones is refused too.
            for address in &found {
                guard.check(&host, address.ip())?;
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

impl Guard {
    /// Refuses a URL whose host is a private address.
    pub(crate) fn check_url(&self, url: &Url) -> Result<(), PrivateHost> {
        match url.host() {
            Some(Host::Ipv4(address)) => self.check(&address.to_string(), address.into()),
            Some(Host::Ipv6(address)) => self.check(&address.to_string(), address.into()),
            Some(Host::Domain(_)) | None => Ok(()),
        }
    }

    fn check(&self, host: &str, address: IpAddr) -> Result<(), PrivateHost> {
        match is_public(address) || self.allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(host)) {
            true => Ok(()),
            false => Err(PrivateHost { host: host.to_owned(), address }),
        }
    }
}

/// Refuses a host that is on this machine or in a private network. For foreign transports, which resolve the name
/// again: those of this crate connect to the checked address.
pub fn check_host(host: &str) -> io::Result<()> {
    let guard = Guard { allowed: Arc::new([]) };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    for address in (bare, 0).to_socket_addrs()? {
        guard
            .check(host, address.ip())
            .map_err(|refused| io::Error::new(io::ErrorKind::PermissionDenied, refused))?;
    }
    Ok(())
}

/// Returns whether an address is public: not loopback, private, link-local, shared (CGNAT), multicast, reserved or
/// documentation, and not an IPv6 address that embeds such an IPv4 address (mapped, NAT64, 6to4, Teredo).
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let denied = matches!(
        (a, b, c),
        (0 | 10 | 127, ..)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (192, 168, _)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
            | (224.., ..)
    );
    !denied
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match (a, b) {
        // Mapped addresses and the NAT64 prefix reach an IPv4 address.
        (0, 0) if (c, d, e, f) == (0, 0, 0, 0xffff) => v4(g, h),
        (0x64, 0xff9b) if (c, d, e, f) == (0, 0, 0, 0) => v4(g, h),
        // 6to4.
        (0x2002, _) => v4(b, c),
        // Teredo, other assignments to protocols, documentation.
        (0x2001, 0..0x200 | 0xdb8) | (0x3fff, 0..0x1000) => false,
        // Global unicast; everything else is local, shared, multicast or reserved.
        (0x2000..0x4000, _) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_other_transports_are_checked() {
        for host in ["127.0.0.1", "localhost", "::1", "[::1]", "10.0.0.1", "64:ff9b::a00:1"] {
            let error = check_host(host).unwrap_err();
            assert!(error.get_ref().is_some_and(|inner| inner.is::<PrivateHost>()), "{host}: {error}");
        }
        assert!(check_host("8.8.8.8").is_ok());
    }

    #[test]
    fn public_addresses_and_others() {
        for public in [
            "8.8.8.8",
            "1.1.1.1",
            "100.63.0.1",
            "172.32.0.1",
            "2606:4700::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for private in [
            "0.0.0.0",
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "198.18.0.1",
            "192.0.2.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
            "2001:0:808:808::1",
            "2001:db8::1",
            "5f00::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }

    #[test]
    fn addresses_in_urls_are_checked_however_they_are_written() {
        let guard = Guard { allowed: [].into() };
        for url in [
            "http://127.0.0.1/a",
            "http://0x7f.1/a",
            "http://2130706433/a",
            "http://[::1]/a",
            "http://[::ffff:10.0.0.1]:80/a",
        ] {
            assert!(guard.check_url(&Url::parse(url).unwrap()).is_err(), "{url}");
        }
        assert!(guard.check_url(&Url::parse("http://93.184.215.14/a").unwrap()).is_ok());
    }
}
