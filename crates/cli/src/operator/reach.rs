//! How an API server reaches the webhooks: by the Service of the cluster that we run in, by a URL, or not at all.

use anyhow::{Result, bail};
use trellis_api::names;
use trellis_api::settings::Address;
use trellis_operator::webhooks::Reach;

use super::exactly;
use crate::args::OperatorArgs;

/// The port of the Service, whatever port stands behind it.
const SERVICE_PORT: u16 = 443;

/// Where webhooks listen, and by what they are reached.
#[derive(Debug, PartialEq)]
pub struct Plan {
    pub listen: Address,
    way: Way,
}

#[derive(Debug, PartialEq)]
enum Way {
    Service,
    Url(String),
    /// By the port that is listened on, from the same machine.
    Loopback,
}

impl Plan {
    /// How they are reached once the port is known.
    pub fn reach(&self, namespace: &str, port: u16) -> Reach {
        match &self.way {
            Way::Service => {
                Reach::Service { namespace: namespace.to_owned(), name: names::OPERATOR.to_owned(), port: SERVICE_PORT }
            }
            Way::Url(url) => Reach::Url(url.clone()),
            Way::Loopback => Reach::Url(format!("https://127.0.0.1:{port}")),
        }
    }
}

/// Nothing, if there are to be no webhooks. An API server that cannot reach them refuses every set, so nothing is guessed for one on
/// another machine.
pub fn plan(args: &OperatorArgs, configured: &Address, in_cluster: bool, is_local: bool) -> Result<Option<Plan>> {
    if args.no_webhooks {
        return Ok(None);
    }
    let way = match &args.webhook_url {
        Some(url) if !url.starts_with("https://") => bail!("`--webhook-url {url}`: must begin with https://"),
        Some(url) => Way::Url(url.clone()),
        None if in_cluster => Way::Service,
        None if is_local => Way::Loopback,
        None => bail!(
            "the API server is on another machine, and it is not known how it reaches the webhooks\nhint: say it with `--webhook-url \
             https://HOST:PORT`, or do without them with `--no-webhooks`"
        ),
    };
    let listen = match args.listen_webhooks {
        Some(address) => exactly(address),
        None if way == Way::Loopback => Address { host: "127.0.0.1".to_owned(), port: configured.port },
        None => configured.clone(),
    };
    Ok(Some(Plan { listen, way }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Args, Command};
    use clap::Parser as _;

    /// What follows from arguments on an API (in our cluster, or on our machine): the address that is listened on, and the way.
    fn check(arguments: &str, (in_cluster, is_local): (bool, bool), expected: Result<Option<(&str, &str)>, &str>) {
        let line = format!("trellis operator --config c.yaml {arguments}");
        let Command::Operator(args) = Args::parse_from(line.split_whitespace()).command else {
            panic!("another command")
        };
        let configured = Address { host: String::new(), port: 2750 };
        let found = plan(&args, &configured, in_cluster, is_local);
        let found =
            found.map(|plan| plan.map(|plan| (plan.listen.to_string(), format!("{:?}", plan.reach("ours", 7)))));
        match (found, expected) {
            (Ok(found), Ok(expected)) => {
                let expected = expected.map(|(listen, reach)| (listen.to_owned(), reach.to_owned()));
                assert_eq!(found, expected, "{arguments}");
            }
            (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{arguments}: {error}"),
            (found, expected) => panic!("{arguments}: {found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn webhooks_are_reached_as_the_surroundings_allow() {
        let service = r#"Service { namespace: "ours", name: "trellis-operator", port: 443 }"#;
        let loopback = r#"Url("https://127.0.0.1:7")"#;
        let (cluster, local, remote) = ((true, false), (false, true), (false, false));
        check("", cluster, Ok(Some((":2750", service))));
        check("--listen-webhooks 10.0.0.1:9", cluster, Ok(Some(("10.0.0.1:9", service))));
        check("", local, Ok(Some(("127.0.0.1:2750", loopback))));
        check("--listen-webhooks 127.0.0.1:0", local, Ok(Some(("127.0.0.1:0", loopback))));
        check("", remote, Err("--webhook-url"));
        let url = r#"Url("https://me:1")"#;
        for around in [cluster, local, remote] {
            check("--no-webhooks", around, Ok(None));
            check("--webhook-url https://me:1", around, Ok(Some((":2750", url))));
            check("--webhook-url http://me:1", around, Err("must begin with https://"));
        }
    }
}
