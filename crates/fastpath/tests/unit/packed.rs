/// Every byte comes out again, of the longest and of the one that most ports run.
#[test]
fn objects_are_what_was_compiled() {
    for (packed, name) in [
        (packed!("captured"), "captured"),
        (packed!("forward"), "forward"),
    ] {
        let path = format!("{}/bpf/built/{name}.bpf.o", env!("CARGO_MANIFEST_DIR"));
        let built = std::fs::read(path).expect("the object in the repository");
        assert!(
            packed.bytes() == built,
            "{name} was unpacked to something else"
        );
        assert!(packed.0.len() < built.len() / 3, "{name} is hardly packed");
    }
}
