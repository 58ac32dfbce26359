//! The command lines of the programs.

use std::path::Path;

use super::Options;
use super::access::Access;

/// What a cluster does by itself when objects are deleted or owned, and nothing that needs real nodes.
const CONTROLLERS: &str = "garbage-collector-controller,namespace-controller,serviceaccount-controller,\
                           horizontal-pod-autoscaler-controller,pod-garbage-collector-controller,disruption-controller";

pub(super) fn etcd(data: &Path, client_port: u16, peer_port: u16) -> Vec<String> {
    let (client, peer) = (format!("http://127.0.0.1:{client_port}"), format!("http://127.0.0.1:{peer_port}"));
    vec![
        flag("data-dir", data.display()),
        flag("listen-client-urls", &client),
        flag("advertise-client-urls", &client),
        flag("listen-peer-urls", &peer),
        flag("initial-advertise-peer-urls", &peer),
        flag("initial-cluster", format!("default={peer}")),
        // Durability is not what is tested, and waiting for disks would be most of the time.
        "--unsafe-no-fsync".to_owned(),
    ]
}

pub(super) fn api_server(access: &Access, etcd_port: u16, options: &Options) -> Vec<String> {
    // Nobody runs here who lifts the not-ready taint of new nodes, nor, without controllers, who makes service accounts.
    let admission =
        if options.controller_manager { "TaintNodesByCondition" } else { "ServiceAccount,TaintNodesByCondition" };
    let mut flags = vec![
        flag("etcd-servers", format!("http://127.0.0.1:{etcd_port}")),
        flag("bind-address", "127.0.0.1"),
        // Otherwise it looks for an address of the machine that others can reach, which a machine without network lacks.
        flag("advertise-address", "127.0.0.1"),
        // An endpoint may not be a loopback address.
        flag("endpoint-reconciler-type", "none"),
        flag("secure-port", access.port),
        flag("cert-dir", access.certificates.display()),
        flag("service-cluster-ip-range", "10.0.0.0/24"),
        flag("service-account-issuer", "https://kubernetes.default.svc"),
        flag("service-account-key-file", access.verifying_key.display()),
        flag("service-account-signing-key-file", access.signing_key.display()),
        flag("token-auth-file", access.tokens.display()),
        flag("authorization-mode", "RBAC"),
        flag("runtime-config", "api/all=true"),
        flag("allow-privileged", true),
        flag("disable-admission-plugins", admission),
    ];
    flags.extend_from_slice(&options.api_server_flags);
    flags
}

pub(super) fn controller_manager(access: &Access, options: &Options) -> Vec<String> {
    let mut flags = vec![
        flag("kubeconfig", access.kubeconfig.display()),
        flag("leader-elect", false),
        flag("secure-port", 0),
        flag("service-account-private-key-file", access.signing_key.display()),
        flag("root-ca-file", access.ca().display()),
        flag("controllers", CONTROLLERS),
    ];
    flags.extend_from_slice(&options.controller_manager_flags);
    flags
}

fn flag(name: &str, value: impl std::fmt::Display) -> String {
    format!("--{name}={value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_admission(options: &Options, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        let access = Access::prepare(folder.path(), 1, &[]).unwrap();
        let flags = api_server(&access, 2, options);
        assert!(flags.contains(&flag("disable-admission-plugins", expected)), "{flags:?}");
        assert!(options.api_server_flags.iter().all(|added| flags.contains(added)), "{flags:?}");
    }

    #[test]
    fn pods_need_a_service_account_only_where_somebody_makes_them() {
        check_admission(&Options::with_controllers(), "TaintNodesByCondition");
        check_admission(&Options::api_only().api_server_flag("--v=4"), "ServiceAccount,TaintNodesByCondition");
    }
}
