//! The wire format of protobuf: numbered fields, one after the other.

use std::fmt;

/// What stands in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// A number of varying length.
    Varint(u64),
    /// Text, bytes or another message.
    Bytes(&'a [u8]),
    /// Eight bytes.
    Fixed64,
    /// Four bytes.
    Fixed32,
}

/// Why bytes cannot be read, in the words of a real server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// They end too early.
    End,
    /// A number is too large.
    Overflow,
    /// A field has a type that does not exist any more.
    Group(String, u64),
    /// A field has another type than it should.
    WrongType(String, u8),
    /// Messages nest too deep.
    TooDeep,
    /// What a field holds cannot be read.
    Content(String),
}

impl Fault {
    /// A field, by its name in JSON, that has another type than it should.
    pub fn wrong_type(name: &str, item: Item<'_>) -> Self {
        let kind = match item {
            Item::Varint(_) => 0,
            Item::Fixed64 => 1,
            Item::Bytes(_) => 2,
            Item::Fixed32 => 5,
        };
        let mut letters = name.chars();
        let name = match (name, letters.next()) {
            ("metadata", _) => "ObjectMeta".to_owned(),
            (_, Some(first)) => first.to_uppercase().chain(letters).collect(),
            (_, None) => String::new(),
        };
        Self::WrongType(name, kind)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End => out.write_str("unexpected EOF"),
            Self::Overflow => out.write_str("proto: integer overflow"),
            Self::Group(message, 4) => write!(out, "proto: {message}: wiretype end group for non-group"),
            Self::Group(_, kind) => write!(out, "proto: illegal wireType {kind}"),
            Self::WrongType(name, kind) => write!(out, "proto: wrong wireType = {kind} for field {name}"),
            Self::TooDeep => out.write_str("proto: messages nest too deep"),
            Self::Content(why) => out.write_str(why),
        }
    }
}

/// Reads a message field by field.
pub struct Reader<'a> {
    message: &'a str,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Starts on the bytes of a message; its name is for complaints.
    pub fn new(message: &'a str, bytes: &'a [u8]) -> Self {
        Self { message, rest: bytes }
    }

    /// Whether everything was read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next field: its number and what stands in it.
    pub fn next(&mut self) -> Result<Option<(u64, Item<'a>)>, Fault> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let item = match tag & 7 {
            0 => Item::Varint(self.varint()?),
            1 => self.take(8).map(|_| Item::Fixed64)?,
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| Fault::End)?;
                Item::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Item::Fixed32)?,
            kind => return Err(Fault::Group(self.message.to_owned(), kind)),
        };
        Ok(Some((tag >> 3, item)))
    }

    /// A number: seven bits in each byte, the lowest first.
    pub fn varint(&mut self) -> Result<u64, Fault> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(Fault::End)?;
            self.rest = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Fault::Overflow)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Fault::End)?;
        self.rest = rest;
        Ok(taken)
    }
}
