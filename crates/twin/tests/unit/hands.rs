use super::*;

#[test]
fn an_address_goes_when_the_kernel_has_finished_with_those_before() {
    let lines = [
        "ip addr add 10.0.0.1/24 dev r0",
        "ip addr add fd00::9/64 dev r0 nodad noprefixroute",
        "ip addr del fd00::9/64 dev r0 noprefixroute",
        "ip link set dev r1 down",
        "ip link set dev r1 up",
        "sysctl net.ipv6.conf.r0.forwarding=0",
    ];
    let lines = lines.map(str::to_owned);
    let groups: Vec<_> = groups(&lines).map(<[String]>::len).collect();
    assert_eq!(groups, [2, 1, 2, 1]);
    assert!(!is_slow(&lines[0]) && is_slow(&lines[1]) && !is_slow(&lines[2]));
}
