use super::*;

#[test]
fn our_guests_are_known_by_their_command_line() {
    let line = "/usr/bin/linux.uml\0umid=corelane-guest-71-1\0mem=64M\0";
    assert_eq!(starter(line), Some(71));
    let line = "qemu-system-x86_64\0-name\0guest=corelane-guest-72-0\0-smp\x001\0";
    assert_eq!(starter(line), Some(72));
    assert_eq!(starter("/usr/bin/linux.uml\0umid=somebody\0"), None);
    assert_eq!(starter("grep\0corelane-guest-71-1\0"), None);
}
