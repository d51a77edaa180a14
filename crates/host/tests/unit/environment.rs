use super::*;

#[test]
fn processor_names_of_several_kinds() {
    assert_eq!(
        cpu_model("processor\t: 0\nmodel name\t: Fast 9000\n"),
        "Fast 9000"
    );
    assert_eq!(cpu_model("Processor\t: ARMv7\n"), "ARMv7");
    assert_eq!(cpu_model(""), std::env::consts::ARCH);
    assert_eq!(memory("MemTotal:       16 kB\n"), 16 << 10);
}
