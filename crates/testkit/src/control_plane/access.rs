//! How clients reach the control plane: where, with which certificate, as whom.

use std::fs;
use std::path::{Path, PathBuf};

use kube::config::AuthInfo;
use kube::{Client, Config};
use serde_json::json;

use super::options::{TokenUser, token_file};
use crate::{Error, Result};

/// The address, the certificate and the administrator's token, with the files that hold them.
#[derive(Debug)]
pub(super) struct Access {
    pub(super) port: u16,
    pub(super) admin_token: String,
    /// Where the API server puts its certificate and the key of that.
    pub(super) certificates: PathBuf,
    /// Signs the tokens of service accounts.
    pub(super) signing_key: PathBuf,
    /// Verifies them: of an elliptic key in PKCS#8, the API server does not see the public half by itself.
    pub(super) verifying_key: PathBuf,
    pub(super) tokens: PathBuf,
    pub(super) kubeconfig: PathBuf,
}

impl Access {
    /// Writes the files that the programs read into `folder`.
    pub(super) fn prepare(folder: &Path, port: u16, users: &[TokenUser]) -> Result<Self> {
        let key = rcgen::KeyPair::generate().map_err(Error::Key)?;
        let (signing, verifying) = (key.serialize_pem(), key.public_key_pem());
        // Other users of the machine can reach the port; what they cannot do is guess a key.
        let admin_token = super::hash(&signing);
        let access = Self {
            port,
            admin_token,
            certificates: folder.join("certificates"),
            signing_key: folder.join("service-account.key"),
            verifying_key: folder.join("service-account.pub"),
            tokens: folder.join("tokens.csv"),
            kubeconfig: folder.join("kubeconfig"),
        };
        let mut all_users = vec![access.admin()];
        all_users.extend_from_slice(users);
        let files = [
            (&access.signing_key, signing),
            (&access.verifying_key, verifying),
            (&access.tokens, token_file(&all_users)),
            (&access.kubeconfig, access.kubeconfig()),
        ];
        for (path, text) in files {
            fs::write(path, text).map_err(Error::path("write", path))?;
        }
        Ok(access)
    }

    fn admin(&self) -> TokenUser {
        TokenUser {
            token: self.admin_token.clone(),
            user: "admin".to_owned(),
            groups: vec!["system:masters".to_owned()],
        }
    }

    pub(super) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// The certificate of the API server with the authority that it made up to sign it.
    pub(super) fn ca(&self) -> PathBuf {
        self.certificates.join("apiserver.crt")
    }

    /// JSON, which every reader of YAML takes.
    fn kubeconfig(&self) -> String {
        let name = "trellis-test";
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": name, "cluster": { "server": self.url(), "certificate-authority": self.ca() } }],
            "users": [{ "name": name, "user": { "token": self.admin_token } }],
            "contexts": [{ "name": name, "context": { "cluster": name, "user": name } }],
            "current-context": name,
        });
        format!("{config:#}\n")
    }

    /// What a client with this token is made from; the environment has no say, so a proxy of the user stays out.
    pub(super) fn config(&self, token: &str) -> Config {
        let url = self.url().parse().expect("a loopback address with a port is a URI");
        let mut config = Config::new(url);
        config.root_cert_file = Some(self.ca());
        config.auth_info = AuthInfo { token: Some(token.to_owned().into()), ..AuthInfo::default() };
        config
    }
}

/// A client tied to the runtime that calls this.
pub(super) fn client(config: Config) -> Result<Client> {
    Client::try_from(config).map_err(|error| Error::Client(Box::new(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_names_the_server_its_certificate_and_the_administrator() {
        let folder = tempfile::tempdir().unwrap();
        let access = Access::prepare(folder.path(), 6443, &[]).unwrap();
        let config = kube::config::Kubeconfig::read_from(&access.kubeconfig).unwrap();
        let cluster = config.clusters[0].cluster.as_ref().unwrap();
        assert_eq!(cluster.server.as_deref(), Some("https://127.0.0.1:6443"));
        assert_eq!(cluster.certificate_authority.as_deref(), access.ca().to_str());
        let tokens = fs::read_to_string(&access.tokens).unwrap();
        assert_eq!(tokens, format!("\"{}\",\"admin\",\"admin\",\"system:masters\"\n", access.admin_token));
    }
}
