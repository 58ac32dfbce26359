//! What names may look like, and what is said of those that do not.

/// Rules for names of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// `example.com`
    Subdomain,
    /// `my-name`
    Label,
    /// Whatever fits into a path.
    Segment,
}

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with \
                     an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
                     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
                         and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
                         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const QUALIFIED: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
                         character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                         '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and \
                     end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
                     '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
                          'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const ENV_NAME: &str =
    "a valid environment variable name must consist only of printable ASCII characters other than '='";

/// What is wrong with a name by its rule. A name that is to be completed may end in a dash.
pub fn faults(rule: Rule, name: &str, to_be_completed: bool) -> Vec<String> {
    // What follows the dash is fine, so the dash is judged as part of it.
    let masked;
    let name = if to_be_completed && rule != Rule::Segment && name.len() > 1 && name.ends_with('-') {
        masked = format!("{}a", &name[..name.len() - 2]);
        &masked
    } else {
        name
    };
    match rule {
        Rule::Subdomain => subdomain(name, "characters"),
        Rule::Label => label(name, "characters"),
        Rule::Segment => segment(name, to_be_completed),
    }
}

/// What is wrong with a DNS subdomain; lengths are counted in this unit's words.
pub fn subdomain(name: &str, unit: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if name.len() > 253 {
        faults.push(format!("must be no more than 253 {unit}"));
    }
    if !name.split('.').all(is_label) {
        faults.push(SUBDOMAIN.to_owned());
    }
    faults
}

/// What is wrong with a DNS label.
pub fn label(name: &str, unit: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if name.len() > 63 {
        faults.push(format!("must be no more than 63 {unit}"));
    }
    if !is_label(name) {
        faults.push(if name.split('.').all(is_label) { "must not contain dots".to_owned() } else { LABEL.to_owned() });
    }
    faults
}

fn segment(name: &str, prefix: bool) -> Vec<String> {
    if !prefix && (name == "." || name == "..") {
        return vec![format!("may not be '{name}'")];
    }
    ["/", "%"].iter().filter(|sign| name.contains(**sign)).map(|sign| format!("may not contain '{sign}'")).collect()
}

fn is_label(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.bytes().all(|byte| plain(byte) || byte == b'-')
        && name.bytes().next().is_some_and(plain)
        && name.bytes().last().is_some_and(plain)
}

fn is_qualified(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
        && name.bytes().last().is_some_and(|byte| byte.is_ascii_alphanumeric())
}

/// What is wrong with a key of labels, annotations, taints: an optional prefix and a name.
pub fn qualified(key: &str) -> Vec<String> {
    keyed(key, "a qualified name")
}

/// What is wrong with the key of a label.
pub fn label_key(key: &str) -> Vec<String> {
    keyed(key, "a valid label key")
}

fn keyed(key: &str, what: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let name = match key.split('/').collect::<Vec<_>>()[..] {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                faults.push("prefix part must be non-empty".to_owned());
            } else {
                faults.extend(subdomain(prefix, "bytes").into_iter().map(|fault| format!("prefix part {fault}")));
            }
            name
        }
        _ => {
            return vec![format!(
                "{what} {QUALIFIED} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        faults.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_qualified(name) {
        faults.push(format!("name part {QUALIFIED}"));
    }
    faults
}

/// What is wrong with the value of a label.
pub fn label_value(value: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if value.len() > 63 {
        faults.push("must be no more than 63 bytes".to_owned());
    }
    if !value.is_empty() && !is_qualified(value) {
        faults.push(VALUE.to_owned());
    }
    faults
}

/// What is wrong with a key of a config map or secret.
pub fn config_key(key: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if key.len() > 253 {
        faults.push("must be no more than 253 bytes".to_owned());
    }
    if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)) {
        faults.push(CONFIG_KEY.to_owned());
    }
    match key {
        "." => faults.push("must not be '.'".to_owned()),
        ".." => faults.push("must not be '..'".to_owned()),
        key if key.starts_with("..") => faults.push("must not start with '..'".to_owned()),
        _ => {}
    }
    faults
}

/// What is wrong with the name of an environment variable.
pub fn env_name(name: &str) -> Vec<String> {
    let fits = !name.is_empty() && name.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=');
    if fits { Vec::new() } else { vec![ENV_NAME.to_owned()] }
}

/// What is wrong with the name of a port.
pub fn port_name(name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if name.len() > 15 {
        faults.push("must be no more than 15 characters".to_owned());
    }
    if !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-') {
        faults.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        faults.push("must contain at least one letter (a-z)".to_owned());
    }
    if name.contains("--") {
        faults.push("must not contain consecutive hyphens".to_owned());
    }
    if name.starts_with('-') || name.ends_with('-') {
        faults.push("must not begin or end with a hyphen".to_owned());
    }
    faults
}

/// What is wrong with the number of a port.
pub fn port_number(number: i64) -> Vec<String> {
    if (1..=65535).contains(&number) { Vec::new() } else { vec!["must be between 1 and 65535, inclusive".to_owned()] }
}
