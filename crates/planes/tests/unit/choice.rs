use super::*;

#[test]
fn another_device_is_no_kvm() {
    let null = File::options()
        .read(true)
        .write(true)
        .open("/dev/null")
        .unwrap();
    let why = answers(&null).unwrap_err();
    assert!(why.contains("no KVM device"), "{why}");
}

#[test]
fn a_choice_says_why() {
    let choice = Choice {
        kind: Kind::UserModeLinux,
        reason: "KVM cannot be used: /dev/kvm: not found".to_owned(),
        no_kvm: Some(String::new()),
    };
    assert_eq!(
        choice.sentence(),
        "Guests are User Mode Linux: KVM cannot be used: /dev/kvm: not found."
    );
    assert_eq!(Choice::forced(Kind::Emulated).no_kvm, None);
}
