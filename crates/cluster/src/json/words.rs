//! What is wrong with a text that is no JSON, in the words of a real server.

/// What is wrong with a text; nothing if it is JSON.
pub fn fault(text: &[u8]) -> Option<String> {
    let mut scan = Scan { text, at: 0 };
    let result = scan.value("looking for beginning of value").and_then(|()| {
        scan.space();
        scan.peek().map_or(Ok(()), |byte| Err(invalid(byte, "after top-level value")))
    });
    result.err()
}

/// What a value is called.
pub fn type_of(value: &serde_json::Value) -> &'static str {
    use serde_json::Value;
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// How deep values may be nested; a real server stops later, and nobody gets there.
const DEEPEST: usize = 10_000;

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
}

fn end() -> String {
    "unexpected end of JSON input".to_owned()
}

fn invalid(byte: u8, place: &str) -> String {
    let shown = match byte {
        b'\'' => "'\\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        _ => {
            let escaped = match char::from(byte) {
                '\n' => "\\n".to_owned(),
                '\r' => "\\r".to_owned(),
                '\t' => "\\t".to_owned(),
                '\\' => "\\\\".to_owned(),
                sign if sign.is_control() && byte < 0x80 => format!("\\x{byte:02x}"),
                sign if sign.is_control() => format!("\\u{byte:04x}"),
                sign => sign.to_string(),
            };
            format!("'{escaped}'")
        }
    };
    format!("invalid character {shown} {place}")
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Any value, kept apart from recursion by a stack of what is open.
    fn value(&mut self, place: &str) -> Result<(), String> {
        let mut open: Vec<u8> = Vec::new();
        let mut place = place;
        loop {
            self.space();
            match self.peek().ok_or_else(end)? {
                b'{' => {
                    self.at += 1;
                    self.space();
                    if self.peek() == Some(b'}') {
                        self.at += 1;
                    } else {
                        open.push(b'{');
                        self.key()?;
                        place = "looking for beginning of value";
                        continue;
                    }
                }
                b'[' => {
                    self.at += 1;
                    self.space();
                    if self.peek() == Some(b']') {
                        self.at += 1;
                    } else {
                        open.push(b'[');
                        place = "looking for beginning of value";
                        continue;
                    }
                }
                b'"' => self.string()?,
                b't' => self.literal("true")?,
                b'f' => self.literal("false")?,
                b'n' => self.literal("null")?,
                b'-' | b'0'..=b'9' => self.number()?,
                other => return Err(invalid(other, place)),
            }
            if open.len() > DEEPEST {
                return Err("exceeded max depth".to_owned());
            }
            if !self.close(&mut open)? {
                return Ok(());
            }
            place = "looking for beginning of value";
        }
    }

    /// What comes after a value: the ends of what it closes, or a comma. Whether another value follows.
    fn close(&mut self, open: &mut Vec<u8>) -> Result<bool, String> {
        while let Some(&kind) = open.last() {
            self.space();
            let byte = self.peek().ok_or_else(end)?;
            self.at += 1;
            match (kind, byte) {
                (b'{', b'}') | (b'[', b']') => drop(open.pop()),
                (b'{', b',') => {
                    self.space();
                    self.key()?;
                    return Ok(true);
                }
                (b'[', b',') => return Ok(true),
                (b'{', other) => return Err(invalid(other, "after object key:value pair")),
                (_, other) => return Err(invalid(other, "after array element")),
            }
        }
        Ok(false)
    }

    fn key(&mut self) -> Result<(), String> {
        match self.peek().ok_or_else(end)? {
            b'"' => self.string()?,
            other => return Err(invalid(other, "looking for beginning of object key string")),
        }
        self.space();
        match self.peek().ok_or_else(end)? {
            b':' => self.at += 1,
            other => return Err(invalid(other, "after object key")),
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), String> {
        self.at += 1;
        loop {
            let byte = self.peek().ok_or_else(end)?;
            self.at += 1;
            match byte {
                b'"' => return Ok(()),
                b'\\' => self.escape()?,
                0..0x20 => return Err(invalid(byte, "in string literal")),
                _ => {}
            }
        }
    }

    fn escape(&mut self) -> Result<(), String> {
        let byte = self.peek().ok_or_else(end)?;
        self.at += 1;
        match byte {
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => Ok(()),
            b'u' => {
                for _ in 0..4 {
                    let digit = self.peek().ok_or_else(end)?;
                    if !digit.is_ascii_hexdigit() {
                        return Err(invalid(digit, "in \\u hexadecimal character escape"));
                    }
                    self.at += 1;
                }
                Ok(())
            }
            other => Err(invalid(other, "in string escape code")),
        }
    }

    fn literal(&mut self, word: &str) -> Result<(), String> {
        for expected in word.bytes() {
            let byte = self.peek().ok_or_else(end)?;
            if byte != expected {
                return Err(invalid(byte, &format!("in literal {word} (expecting '{}')", char::from(expected))));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Result<(), String> {
        if self.peek() == Some(b'-') {
            self.at += 1;
            self.digit("in numeric literal")?;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits();
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digit("after decimal point in numeric literal")?;
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digit("in exponent of numeric literal")?;
            self.digits();
        }
        Ok(())
    }

    fn digit(&self, place: &str) -> Result<(), String> {
        match self.peek().ok_or_else(end)? {
            byte if byte.is_ascii_digit() => Ok(()),
            other => Err(invalid(other, place)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(fault(text.as_bytes()).unwrap_or_default(), expected, "{text}");
        assert_eq!(expected.is_empty(), serde_json::from_str::<serde_json::Value>(text).is_ok(), "{text}");
    }

    #[test]
    fn faults_are_told_as_a_real_server_tells_them() {
        for fine in [r#"{"a":[1,-0.5e+3,"x\n\u00e9"],"b":{},"c":[]} "#, "null", " true"] {
            check(fine, "");
        }
        check("{", "unexpected end of JSON input");
        check(r#"{"a":"#, "unexpected end of JSON input");
        check("", "unexpected end of JSON input");
        check("not json", "invalid character 'o' in literal null (expecting 'u')");
        check("{} more", "invalid character 'm' after top-level value");
        check("{}{}", "invalid character '{' after top-level value");
        check("[1 2]", "invalid character '2' after array element");
        check(r#"{"a" 1}"#, "invalid character '1' after object key");
        check(r#"{"a":1 "b"}"#, "invalid character '\"' after object key:value pair");
        check("{a:1}", "invalid character 'a' looking for beginning of object key string");
        check("[,]", "invalid character ',' looking for beginning of value");
        check("\"a\tb\"", "invalid character '\\t' in string literal");
        check(r#""\q""#, "invalid character 'q' in string escape code");
        check("-x", "invalid character 'x' in numeric literal");
        check("1.x", "invalid character 'x' after decimal point in numeric literal");
    }
}
