//! Spoils JSON, to find what code does with objects that no user would write.

use serde_json::{Value, json};

/// Random numbers that cost next to nothing: a hundred thousand objects are to be spoiled (SplitMix64).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `n`, which is at least 1.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        let n = u64::try_from(n.max(1)).unwrap_or(u64::MAX);
        usize::try_from(z % n).unwrap_or(0)
    }

    fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// Spoils an object in one to four places, with parts of another one among them.
pub fn mutate(object: &mut Value, other: &Value, dice: &mut Dice) {
    for _ in 0..=dice.below(4) {
        let n = dice.below(size(object));
        mutate_node(node(object, n), other, dice);
    }
}

/// Numbers at which something could overflow, wrap or be cut off.
const NUMBERS: [f64; 6] = [0.5, -1.5, 1e308, -1e308, 4_294_967_296.0, 9_007_199_254_740_993.0];
const INTEGERS: [i64; 11] =
    [0, -1, 1, 100_001, 2_147_483_647, -2_147_483_648, 2_147_483_648, 4_294_967_295, i64::MAX, i64::MIN, 1_000_000_007];
const TEXTS: [&str; 14] =
    ["", " ", "é", "名前", "\u{0}", "a\u{301}", "🦀🦀", "-", ".", "A_b", "0", "null", "a.b/c/d", "\u{202e}rtl"];

fn mutate_node(node: &mut Value, other: &Value, dice: &mut Dice) {
    match dice.below(12) {
        0 => *node = Value::Null,
        1 => *node = wrong_type(node, dice),
        2 => *node = (*dice.of(&INTEGERS)).into(),
        3 => *node = (*dice.of(&NUMBERS)).into(),
        4 => *node = (*dice.of(&TEXTS)).into(),
        5 => *node = "x".repeat(*dice.of(&[63, 64, 253, 254, 4_000])).into(),
        6 | 7 => match node {
            Value::Object(fields) if !fields.is_empty() => {
                let key = fields.keys().nth(dice.below(fields.len())).cloned().unwrap_or_default();
                fields.remove(&key);
            }
            Value::Array(items) if !items.is_empty() => drop(items.remove(dice.below(items.len()))),
            other => *other = json!([]),
        },
        8 => match node {
            Value::Array(items) if !items.is_empty() => items.push(dice.of(items).clone()),
            other => *other = json!([other, other]),
        },
        9 => {
            let mut other = other.clone();
            let n = dice.below(size(&other));
            std::mem::swap(node, self::node(&mut other, n));
        }
        10 => match node {
            Value::Object(fields) => drop(fields.insert((*dice.of(&TEXTS)).to_owned(), json!({ "unknown": [1] }))),
            other => *other = json!({ "packDomain": "rack", "name": other }),
        },
        _ => {
            // A field moves to where it does not belong.
            let n = dice.below(size(node));
            let part = self::node(node, n).take();
            *node = part;
        }
    }
}

fn wrong_type(node: &Value, dice: &mut Dice) -> Value {
    let others = [json!(true), json!("text"), json!(7), json!([]), json!({}), json!([[[[]]]]), json!({ "": null })];
    let same = |other: &Value| std::mem::discriminant(other) == std::mem::discriminant(node);
    let others: Vec<Value> = others.into_iter().filter(|other| !same(other)).collect();
    dice.of(&others).clone()
}

/// The number of values in a value, itself included.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

/// The `n`th of them.
fn node(value: &mut Value, n: usize) -> &mut Value {
    let Some(mut n) = n.checked_sub(1) else { return value };
    // Finds the child that holds it, and counts on from there.
    let mut holds = |child: &Value| {
        let size = size(child);
        let found = n < size;
        n -= if found { 0 } else { size };
        found
    };
    match value {
        Value::Array(items) => match items.iter().position(&mut holds) {
            Some(i) => node(&mut items[i], n),
            None => unreachable!("the number is below the size"),
        },
        Value::Object(fields) => match fields.values().position(&mut holds) {
            Some(i) => node(fields.values_mut().nth(i).expect("just counted"), n),
            None => unreachable!("the number is below the size"),
        },
        scalar => scalar,
    }
}
