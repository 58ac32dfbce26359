//! x
#[test]
fn x() {
    let v: serde_json::Value = serde_saphyr::from_str("a: {b: [1, x]}").unwrap();
    for c in trellis_api::crd::own().iter().chain(&trellis_api::crd::kai()) {
        let y = serde_saphyr::to_string(c).unwrap();
        println!("{} {}", c.spec.names.kind, y.len());
    }
    println!("{v}");
}
