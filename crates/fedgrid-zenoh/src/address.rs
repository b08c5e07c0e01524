//! Where a process is reached: `host:port`, with an IPv6 host in brackets.

use crate::error::{Error, Result};

/// Refuses what nobody could call.
pub fn check(whose: &str, address: &str) -> Result<()> {
    let wrong = |expected: &str| {
        Err(Error::Input(format!("{whose} has the address '{address}', expected {expected}")))
    };
    let Some((host, port)) = address.rsplit_once(':') else {
        return wrong("host:port, such as 192.0.2.10:7447");
    };
    if !port.parse::<u16>().is_ok_and(|port| port > 0) {
        return wrong("a port from 1 to 65535 after the colon");
    }
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_name = !host.is_empty() && host.chars().all(is_plain);
    if is_name || inner.is_some_and(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok()) {
        return Ok(());
    }
    wrong("a host of letters, digits, '-', '_' and '.', or an IPv6 address in brackets")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_nobody_could_call_are_refused() {
        let port = "a port from 1 to 65535";
        let host = "a host of letters";
        for (address, expected) in [
            ("example.org", "host:port"),
            ("example.org:65536", port),
            ("example.org:0", port),
            ("example.org:", port),
            ("my host:7447", host),
            (":7447", host),
            ("::1:7447", host),
            ("[::1:7447", host),
        ] {
            let refused = check("site 'east'", address).unwrap_err().to_string();
            assert!(refused.contains(expected) && refused.contains(address), "{refused}");
        }
        for address in
            ["127.0.0.1:1", "relay.example.org:65535", "[2001:db8::1]:7447", "my_host-1:80"]
        {
            assert!(check("site 'east'", address).is_ok(), "{address}");
        }
    }
}
