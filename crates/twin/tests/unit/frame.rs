use super::*;
use crate::case;

#[test]
fn most_frames_are_valid_and_numbered() {
    let (mut dice, scene) = (
        Dice::new(1),
        Scene::of(&["ip addr add 10.0.0.1/24".to_owned()]),
    );
    let macs = Macs {
        host: [2; 6],
        router: [4; 6],
    };
    let mut valid = 0;
    for number in 0..1000 {
        let frame = draw(&mut dice, &scene, &[], &[macs], number);
        assert!(frame.len() <= LONGEST + 340);
        let packet = &frame[ETHERNET..];
        valid += u32::from(
            case::number(&frame) == Some(number)
                && (wire::ipv4::check(packet).is_ok() || wire::ipv6::check(packet).is_ok()),
        );
    }
    assert!(valid > 400, "{valid}");
}
