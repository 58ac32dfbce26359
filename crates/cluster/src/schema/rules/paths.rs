//! Paths in definitions, such as `.spec.replicas` and `['a.b'].c`: where the fault of a rule is, and what selectors may name.

use super::super::Schema;

/// The path as it stands in messages, and what the schema says of the place; the error says what is wrong with it.
pub(crate) fn field_path<'a>(path: &str, schema: &'a Schema, brackets: bool) -> Result<(String, &'a Schema), String> {
    const NOWHERE: &str = "does not refer to a valid field";
    let mut place = schema;
    let mut out = String::new();
    let mut tokens = tokens(path).into_iter();
    while let Some(token) = tokens.next() {
        let mut next = || tokens.next().ok_or_else(|| "unexpected end of JSON path".to_owned());
        let name = match token.as_str() {
            "." => next()?,
            "[" if !brackets => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let text = next()?;
                let inside = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
                let inside = inside.ok_or_else(|| format!("expected single quoted string but got {text}"))?;
                let end = next()?;
                if end != "]" {
                    return Err(format!("expected ] but got {end}"));
                }
                inside.replace("\\'", "'").replace("\\\\", "\\")
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        if place.properties.is_empty() {
            place = place.additional.as_ref().ok_or(NOWHERE)?;
            out.push_str(&format!("[{name}]"));
        } else {
            place = place.properties.get(&name).ok_or(NOWHERE)?;
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(&name);
        }
    }
    Ok((out, place))
}

/// Points and brackets, and what stands between them.
fn tokens(path: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for char in path.chars() {
        if quoted {
            quoted = char != '\'' || word.ends_with('\\');
            word.push(char);
        } else if matches!(char, '.' | '[' | ']') {
            if !word.is_empty() {
                tokens.push(std::mem::take(&mut word));
            }
            tokens.push(char.to_string());
        } else {
            quoted = char == '\'' && word.is_empty();
            word.push(char);
        }
    }
    if !word.is_empty() {
        tokens.push(word);
    }
    tokens
}
