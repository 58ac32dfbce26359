//! Patterns mean what they mean in Go, where the real server is written: `\d`, `\w` and `\s` are ASCII, a bracket inside a class is
//! only a bracket, and a brace that repeats nothing is only a brace. They are rewritten accordingly before they are compiled.

use regex::Regex;

/// Compiles a pattern; the error says in Go's words what is wrong with it.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    Regex::new(&rewritten(pattern)).map_err(|error| words(pattern, &error.to_string()))
}

fn rewritten(pattern: &str) -> String {
    let chars: Vec<char> = pattern.chars().collect();
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut at = 0;
    let mut class = false;
    while let Some(&this) = chars.get(at) {
        let next = chars.get(at + 1).copied();
        match (this, next) {
            ('\\', Some('Q')) if !class => at = literal(&chars, at + 2, &mut out),
            ('\\', Some(next)) => {
                escape(next, class, &mut out);
                at += 2;
            }
            ('[', _) if !class => {
                class = true;
                at = open_class(&chars, at, &mut out);
            }
            ('[', Some(':')) => match named_class(&chars, at) {
                Some(end) => {
                    out.extend(&chars[at..end]);
                    at = end;
                }
                None => {
                    out.push_str("\\[");
                    at += 1;
                }
            },
            (']', _) if class => {
                class = false;
                out.push(']');
                at += 1;
            }
            // What is an operation on classes there is a plain character here.
            ('[' | '&' | '~', _) if class => {
                out.push('\\');
                out.push(this);
                at += 1;
            }
            ('-', Some('-')) if class => {
                out.push_str("\\-");
                at += 1;
            }
            ('{', _) if !class && !repeats(&chars[at..]) => {
                out.push_str("\\{");
                at += 1;
            }
            _ => {
                out.push(this);
                at += 1;
            }
        }
    }
    out
}

/// `[`, `[^` and a closing bracket right behind them, which closes nothing.
fn open_class(chars: &[char], mut at: usize, out: &mut String) -> usize {
    out.push('[');
    at += 1;
    if chars.get(at) == Some(&'^') {
        out.push('^');
        at += 1;
    }
    if chars.get(at) == Some(&']') {
        out.push_str("\\]");
        at += 1;
    }
    at
}

/// Where `[:alpha:]` that starts here ends.
fn named_class(chars: &[char], at: usize) -> Option<usize> {
    let rest = &chars[at + 2..];
    let length = rest.iter().position(|&char| !(char.is_ascii_lowercase() || char == '^'))?;
    (rest.get(length) == Some(&':') && rest.get(length + 1) == Some(&']')).then_some(at + 2 + length + 2)
}

fn escape(char: char, class: bool, out: &mut String) {
    let (plain, inside) = match char {
        'd' => ("[0-9]", "0-9"),
        'D' => ("[^0-9]", "[^0-9]"),
        'w' => ("[0-9A-Za-z_]", "0-9A-Za-z_"),
        'W' => ("[^0-9A-Za-z_]", "[^0-9A-Za-z_]"),
        's' => ("[\\t\\n\\f\\r ]", "\\t\\n\\f\\r "),
        'S' => ("[^\\t\\n\\f\\r ]", "[^\\t\\n\\f\\r ]"),
        'b' if !class => ("(?-u:\\b)", ""),
        'B' if !class => ("(?-u:\\B)", ""),
        _ => {
            // `\<` is a word's edge here and a plain character there.
            if !char.is_ascii_punctuation() || is_meta(char) {
                out.push('\\');
            }
            out.push(char);
            return;
        }
    };
    out.push_str(if class { inside } else { plain });
}

fn is_meta(char: char) -> bool {
    "\\.+*?()|[]{}^$#&-~".contains(char)
}

/// What stands between `\Q` and `\E`.
fn literal(chars: &[char], mut at: usize, out: &mut String) -> usize {
    while let Some(&this) = chars.get(at) {
        if this == '\\' && chars.get(at + 1) == Some(&'E') {
            return at + 2;
        }
        out.push_str(&regex::escape(this.encode_utf8(&mut [0; 4])));
        at += 1;
    }
    at
}

/// Whether `{2}`, `{2,}` or `{2,3}` starts here.
fn repeats(chars: &[char]) -> bool {
    let Some(end) = chars.iter().position(|&char| char == '}') else { return false };
    let inside: String = chars[1..end].iter().collect();
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match inside.split_once(',') {
        None => number(&inside),
        Some((from, to)) => number(from) && (to.is_empty() || number(to)),
    }
}

fn words(pattern: &str, error: &str) -> String {
    let what = if error.contains("unclosed character class") {
        let open = pattern.rfind('[').unwrap_or_default();
        format!("missing closing ]: `{}`", &pattern[open..])
    } else if error.contains("unclosed group") {
        format!("missing closing ): `{pattern}`")
    } else if error.contains("unopened group") {
        format!("unexpected ): `{pattern}`")
    } else if error.contains("repetition operator missing expression") {
        let operator = pattern.find(['*', '+', '?']).unwrap_or_default();
        format!("missing argument to repetition operator: `{}`", &pattern[operator..pattern.len().min(operator + 1)])
    } else if error.contains("look-around") {
        "invalid or unsupported Perl syntax: `(?`".to_owned()
    } else {
        let last = error.lines().last().unwrap_or_default();
        last.strip_prefix("error: ").unwrap_or(last).to_owned()
    };
    format!("error parsing regexp: {what}")
}

#[cfg(test)]
mod tests {
    use super::compile;

    /// Which of the texts match.
    fn check(pattern: &str, matching: &[&str], others: &[&str]) {
        let regex = compile(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        for text in matching {
            assert!(regex.is_match(text), "{pattern} should match {text:?}");
        }
        for text in others {
            assert!(!regex.is_match(text), "{pattern} should not match {text:?}");
        }
    }

    #[test]
    fn patterns_mean_what_they_mean_in_go() {
        check(r"^\d+$", &["12"], &["٣", "a"]);
        check(r"^[\w.-]+$", &["a_b-c.d"], &["é", "a b"]);
        check(r"^\S+$", &["a\u{b}b"], &["a b", "a\tb"]);
        check(r"^[[a]$", &["[", "a"], &["b"]);
        check(r"^[a&&b]$", &["&", "a", "b"], &["c"]);
        check(r"^[]a]$", &["]", "a"], &["b"]);
        check(r"^a{b}$", &["a{b}"], &["ab"]);
        check(r"^a{2,3}$", &["aa", "aaa"], &["a", "aaaa"]);
        check(r"^\<a\>$", &["<a>"], &["a"]);
        check(r"^\Qa.b\E$", &["a.b"], &["axb"]);
        check(r"^[[:alpha:]]+$", &["ab"], &["1"]);
        check(r"\bfoo\b", &["a foo b"], &["afoob"]);
        check(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", &["a-b"], &["-a"]);
    }

    #[test]
    fn faults_in_patterns_are_told_in_go_words() {
        let error = |pattern: &str| compile(pattern).unwrap_err();
        assert_eq!(error("["), "error parsing regexp: missing closing ]: `[`");
        assert_eq!(error("a(b"), "error parsing regexp: missing closing ): `a(b`");
        assert_eq!(error("a)"), "error parsing regexp: unexpected ): `a)`");
        assert_eq!(error("*a"), "error parsing regexp: missing argument to repetition operator: `*`");
    }
}
