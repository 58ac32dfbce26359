//! What a test may ask of its control plane.

/// What runs, and who may talk to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether the controller manager runs too: garbage collection, namespace deletion, service accounts, pod garbage
    /// collection, disruption budgets and horizontal pod autoscaling.
    pub controller_manager: bool,
    /// Users besides the administrator, for tests of what a lesser user may do; RBAC decides what that is.
    pub users: Vec<TokenUser>,
    /// Flags added to those of the API server, such as `--feature-gates=…`.
    pub api_server_flags: Vec<String>,
    /// Flags added to those of the controller manager. Lists add up: `--controllers=node-lifecycle-controller,taint-eviction-controller`
    /// adds the two that act on lost nodes, which are left out by default since they give up every node that sends no heartbeats.
    pub controller_manager_flags: Vec<String>,
}

/// A user known to the API server by a bearer token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenUser {
    /// What the user's client sends, for [`ControlPlane::client_for`](super::ControlPlane::client_for).
    pub token: String,
    /// The name RBAC subjects use.
    pub user: String,
    /// The groups RBAC subjects use.
    pub groups: Vec<String>,
}

impl Options {
    /// An API server with its etcd and nothing else: nothing happens there but what the test does itself.
    pub fn api_only() -> Self {
        Self::default()
    }

    /// An API server with the controllers that make owner references and namespaces behave as on a cluster.
    pub fn with_controllers() -> Self {
        Self { controller_manager: true, ..Self::default() }
    }

    /// Adds a user.
    #[must_use]
    pub fn user(mut self, token: &str, user: &str, groups: &[&str]) -> Self {
        let groups = groups.iter().map(|&group| group.to_owned()).collect();
        self.users.push(TokenUser { token: token.to_owned(), user: user.to_owned(), groups });
        self
    }

    /// Adds a flag of the API server.
    #[must_use]
    pub fn api_server_flag(mut self, flag: &str) -> Self {
        self.api_server_flags.push(flag.to_owned());
        self
    }

    /// Adds a flag of the controller manager.
    #[must_use]
    pub fn controller_manager_flag(mut self, flag: &str) -> Self {
        self.controller_manager_flags.push(flag.to_owned());
        self
    }
}

/// The file of `--token-auth-file`: token, name, id and groups as comma-separated values.
pub(super) fn token_file(users: &[TokenUser]) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let line = |user: &TokenUser| {
        let fields = [&user.token, &user.user, &user.user, &user.groups.join(",")];
        fields.map(|field| quoted(field)).join(",") + "\n"
    };
    users.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_become_lines_of_comma_separated_values() {
        let options = Options::api_only().user("t1", "ann", &["a", "b"]).user("t2", "a \"b\"", &[]);
        assert_eq!(
            token_file(&options.users),
            "\"t1\",\"ann\",\"ann\",\"a,b\"\n\"t2\",\"a \"\"b\"\"\",\"a \"\"b\"\"\",\"\"\n"
        );
    }
}
