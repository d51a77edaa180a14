//! What configurations are drawn from.

/// Prefixes of routes: nested, at edges, over connected networks, and the groups.
pub(super) const PREFIXES_V4: [&str; 18] = [
    "198.18.0.0/15",
    "198.18.0.0/24",
    "198.18.0.128/25",
    "198.18.0.200/32",
    "198.19.255.0/24",
    "0.0.0.0/0",
    "0.0.0.0/1",
    "172.16.0.0/12",
    "172.16.9.0/29",
    "203.0.113.0/24",
    "10.0.0.128/25",
    "10.1.0.128/25",
    "10.2.0.3/32",
    "10.0.0.0/8",
    "10.9.0.0/16",
    "192.0.2.0/24",
    "100.64.0.0/10",
    "224.0.0.0/4",
];
pub(super) const PREFIXES_V6: [&str; 13] = [
    "2001:db8::/32",
    "2001:db8:1::/48",
    "2001:db8:1:2::/64",
    "2001:db8:1:2::80/121",
    "2001:db8::5/128",
    "::/0",
    "2000::/3",
    "fd00:9::/32",
    "fd00:1::/96",
    "fd00:1::8/125",
    "fd00:0:0:1::/64",
    "fd00::/16",
    "64:ff9b::/96",
];
/// MTUs of routes: of one way, of several alike, of nexthop objects and groups.
pub(super) const ROUTE_MTUS: [&str; 4] = [" mtu 1300", " mtu 1400", " mtu lock 1400", " mtu 1600"];
/// Types of routes that are not forwarded by.
pub(super) const TYPES: [&str; 4] = ["blackhole", "unreachable", "prohibit", "throw"];
/// Settings of an interface, or of all, and their values. `{}` is the interface.
pub(super) const SETTINGS: [(&str, &[&str]); 56] = [
    ("ipv4.conf.{}.forwarding", &["0", "1"]),
    ("ipv4.conf.{}.rp_filter", &["0", "1", "2"]),
    ("ipv4.conf.{}.rp_filter", &["1", "2"]),
    ("ipv4.conf.{}.accept_local", &["0", "1"]),
    ("ipv4.conf.{}.send_redirects", &["0", "1"]),
    ("ipv4.conf.{}.shared_media", &["0", "1"]),
    ("ipv4.conf.{}.bc_forwarding", &["0", "1"]),
    ("ipv4.conf.{}.accept_source_route", &["0", "1"]),
    ("ipv4.conf.{}.accept_redirects", &["0", "1"]),
    ("ipv4.conf.{}.drop_gratuitous_arp", &["0", "1"]),
    ("ipv4.conf.{}.drop_unicast_in_l2_multicast", &["0", "1"]),
    ("ipv4.conf.{}.route_localnet", &["0", "1"]),
    ("ipv4.conf.{}.proxy_arp", &["0", "1"]),
    ("ipv4.conf.{}.arp_ignore", &["1", "2", "8"]),
    ("ipv4.conf.{}.arp_announce", &["1", "2"]),
    ("ipv4.conf.{}.arp_filter", &["0", "1"]),
    ("ipv4.conf.{}.bootp_relay", &["0", "1"]),
    ("ipv4.conf.{}.log_martians", &["0", "1"]),
    ("ipv4.conf.{}.disable_policy", &["0", "1"]),
    ("ipv4.conf.{}.disable_xfrm", &["0", "1"]),
    ("ipv4.conf.{}.src_valid_mark", &["0", "1"]),
    ("ipv4.conf.{}.promote_secondaries", &["0", "1"]),
    ("ipv4.conf.{}.ignore_routes_with_linkdown", &["0", "1"]),
    ("ipv6.conf.{}.disable_ipv6", &["0", "1"]),
    ("ipv6.conf.{}.forwarding", &["0", "1"]),
    ("ipv6.conf.{}.force_forwarding", &["0", "1"]),
    ("ipv6.conf.{}.accept_source_route", &["0", "1", "-1"]),
    ("ipv6.conf.{}.accept_redirects", &["0", "1"]),
    ("ipv6.conf.{}.seg6_enabled", &["0", "1"]),
    ("ipv6.conf.{}.rpl_seg_enabled", &["0", "1"]),
    ("ipv6.conf.{}.ioam6_enabled", &["0", "1"]),
    ("ipv6.conf.{}.proxy_ndp", &["0", "1"]),
    ("ipv6.conf.{}.hop_limit", &["9", "64"]),
    ("ipv6.conf.{}.disable_policy", &["0", "1"]),
    ("ipv6.conf.{}.drop_unsolicited_na", &["0", "1"]),
    ("ipv6.conf.{}.drop_unicast_in_l2_multicast", &["0", "1"]),
    ("ipv6.conf.{}.ignore_routes_with_linkdown", &["0", "1"]),
    ("ipv4.ip_forward", &["0", "1"]),
    ("ipv4.ip_forward_use_pmtu", &["0", "1"]),
    ("ipv4.ip_forward_update_priority", &["0", "1"]),
    ("ipv4.ip_no_pmtu_disc", &["1", "3"]),
    ("ipv4.ip_early_demux", &["0", "1"]),
    ("ipv4.ip_default_ttl", &["64", "200"]),
    ("ipv4.fwmark_reflect", &["0", "1"]),
    ("ipv4.icmp_errors_use_inbound_ifaddr", &["0", "1"]),
    ("ipv4.icmp_echo_ignore_all", &["0", "1"]),
    ("ipv6.icmp.echo_ignore_all", &["0", "1"]),
    ("ipv6.flowlabel_reflect", &["0", "3"]),
    ("ipv6.auto_flowlabels", &["0", "1"]),
    ("ipv4.fib_multipath_hash_policy", &["0", "1", "2", "3"]),
    ("ipv6.fib_multipath_hash_policy", &["0", "1", "2", "3"]),
    ("ipv4.fib_multipath_hash_policy", &["3"]),
    ("ipv4.fib_multipath_hash_fields", &["1", "2", "55", "1987"]),
    ("ipv6.fib_multipath_hash_policy", &["3"]),
    ("ipv6.fib_multipath_hash_fields", &["1", "8", "63", "1987"]),
    ("ipv4.fib_multipath_use_neigh", &["0", "1"]),
];
/// What else the kernel does to forwarded packets: each line is one chain and rule.
pub(super) const RULES: [&str; 26] = [
    "ip filter forward priority 0|ip daddr 198.18.0.0/16 drop",
    "ip filter forward priority 0|ip daddr 10.1.0.0/24 reject",
    "ip filter prerouting priority -300|ip saddr 10.0.0.0/25 drop",
    "ip filter prerouting priority -150|meta mark set 7",
    "ip nat prerouting priority -100|ip daddr 198.18.0.0/24 dnat to 10.2.0.3",
    "ip route output priority -150|meta mark set 7",
    "ip6 filter forward priority 0|ip6 daddr 2001:db8::/33 drop",
    "ip6 filter forward priority 0|reject",
    "ip6 filter input priority 0|drop",
    "ip6 filter prerouting priority -300|ip6 hoplimit 64 drop",
    "inet filter forward priority 0|meta l4proto udp drop",
    "inet filter forward priority 0|counter",
    "inet filter forward priority 0|ip ttl set 9",
    "inet filter forward priority 0; policy drop|meta l4proto tcp accept",
    "inet filter forward priority 0|ct state invalid drop",
    "inet filter prerouting priority 0|fib saddr . iif oif missing drop",
    "inet filter postrouting priority 100|oifname r1 drop",
    "inet filter input priority 0|drop",
    "inet filter output priority 0|meta l4proto icmp drop",
    "inet filter ingress device r0 priority 0|ip ttl 64 drop",
    "arp filter input priority 0|counter",
    "bridge filter forward priority 0|drop",
    "netdev filter ingress device r0 priority 0|meta protocol ip drop",
    "netdev filter ingress device r0 priority 0|ip daddr 198.18.0.0/24 fwd to r2",
    "netdev filter ingress device r2 priority 0|drop",
    "netdev filter egress device r1 priority 0|ip daddr 198.18.0.0/25 drop",
];
/// The same by the tables of old.
pub(super) const LEGACY_RULES: [&str; 15] = [
    "iptables-legacy -t filter -A FORWARD -d 198.18.0.0/16 -j DROP",
    "iptables-legacy -t filter -A FORWARD -p udp -j REJECT",
    "iptables-legacy -t filter -A FORWARD -m conntrack --ctstate INVALID -j DROP",
    "iptables-legacy -t filter -P FORWARD DROP",
    "iptables-legacy -t filter -A INPUT -j DROP",
    "iptables-legacy -t raw -A PREROUTING -s 10.0.0.0/25 -j DROP",
    "iptables-legacy -t nat -A PREROUTING -d 198.18.0.0/24 -j DNAT --to-destination 10.2.0.3",
    "iptables-legacy -t mangle -A PREROUTING -m rpfilter --invert -j DROP",
    "iptables-legacy -t mangle -A FORWARD -j TTL --ttl-set 9",
    "iptables-legacy -t mangle -A POSTROUTING -o r1 -j DROP",
    "ip6tables-legacy -t filter -A FORWARD -d 2001:db8::/33 -j DROP",
    "ip6tables-legacy -t filter -A FORWARD -j REJECT",
    "ip6tables-legacy -t filter -P FORWARD DROP",
    "ip6tables-legacy -t raw -A PREROUTING -m hl --hl-eq 64 -j DROP",
    "ip6tables-legacy -t mangle -A FORWARD -j HL --hl-set 9",
];
pub(super) const POLICY_RULES: [&str; 14] = [
    "ip rule add from 10.0.0.0/25 lookup 100 pref 90",
    "ip rule add to 198.18.0.0/24 lookup 100 pref 91",
    "ip rule add iif r0 blackhole pref 92",
    "ip rule add fwmark 7 prohibit pref 93",
    "ip rule add tos 0x10 lookup 100 pref 94",
    "ip rule add iif r0 lookup 100 pref 96",
    "ip rule add not from 10.0.0.0/25 unreachable pref 97",
    "ip rule add ipproto udp dport 53 lookup 100 pref 98",
    "ip rule add from all lookup main suppress_prefixlength 0 pref 99",
    "ip rule add to 10.1.0.0/24 goto 32767 pref 100",
    "ip rule add lookup 100 pref 40000",
    "ip -6 rule add to 2001:db8::/32 unreachable pref 95",
    "ip -6 rule add from fd00::/64 lookup 100 pref 96",
    "ip -6 rule add iif r0 blackhole pref 97",
];
/// `IPsec` policies and queueing disciplines.
pub(super) const TREATMENTS: [&str; 10] = [
    "ip xfrm policy add dir fwd src 10.0.0.0/24 dst 198.18.0.0/15 action block",
    "ip xfrm policy add dir fwd src 10.9.0.0/24 dst 198.18.0.0/15 action block",
    "ip xfrm policy add dir fwd src 10.0.0.0/24 dst 198.18.0.0/15 dev r2 action block",
    "ip xfrm policy add dir fwd src fd00::/64 dst 2001:db8::/32 action block",
    "ip xfrm policy add dir out src 10.0.0.0/24 dst 198.18.0.0/15 action block",
    "ip xfrm policy add dir in src 10.0.0.0/24 dst 10.0.0.1/32 action block",
    "ip xfrm policy setdefault fwd block",
    "tc qdisc add dev r1 root tbf rate 1gbit burst 64kbit latency 50ms",
    "tc qdisc add dev r1 root handle 1: htb default 1;\
     tc class add dev r1 parent 1: classid 1:1 htb rate 1gbit burst 1mbit",
    "tc qdisc add dev r0 ingress",
];
/// A filter's program that takes everything.
pub(super) const EVERYTHING: &str = "1,6 0 0 4294967295";
/// One that takes everything but IPv6 from a link-local address.
pub(super) const NOT_FROM_LINK_LOCAL: &str =
    "6,40 0 0 12,21 0 2 34525,40 0 0 22,21 1 0 65152,6 0 0 4294967295,6 0 0 0";
/// Filters at tc, of kinds that the kernel may lack too. `{}` is another link. The programs drop
/// IPv4 to 198.18.0.0/16, IPv6 to `2001::/16`, and everything.
pub(super) const FILTERS: [&str; 14] = [
    "bpf da bytecode \"6,40 0 0 12,21 0 3 2048,40 0 0 30,21 0 1 50706,6 0 0 2,6 0 0 4294967295\"",
    "bpf da bytecode \"6,40 0 0 12,21 0 3 34525,40 0 0 38,21 0 1 8193,6 0 0 2,6 0 0 4294967295\"",
    "bpf da bytecode \"1,6 0 0 2\"",
    "bpf bytecode \"1,6 0 0 4294967295\" action mirred egress redirect dev {}",
    "bpf bytecode \"1,6 0 0 4294967295\" action mirred egress mirror dev {}",
    "protocol ip u32 match ip dst 198.18.0.0/16 action mirred egress redirect dev {}",
    "protocol ip u32 match u8 64 0xff at 8 action mirred egress mirror dev {}",
    "protocol ip u32 match ip src 10.0.0.0/25 flowid 1:1",
    "protocol ipv6 u32 match ip6 dst 2001:db8::/32 action mirred egress redirect dev {}",
    "protocol ipv6 u32 match ip6 src fd00::/64 action mirred egress mirror dev {}",
    "protocol arp u32 match u32 0 0 action mirred egress redirect dev {}",
    "protocol ip u32 match ip dst 198.18.0.0/16 action drop",
    "protocol ipv6 flower dst_ip 2001:db8::/32 action drop",
    "matchall action drop",
];
/// What is done to links; members of a bridge and links whose address changes.
pub(super) const LINKS: [&str; 6] = [
    "ip link add name br0 type bridge;ip link set br0 up;ip addr add 10.7.0.1/24 dev br0;\
     ip link set r2 master br0",
    "ip link add name br0 type bridge;ip link set br0 up;ip addr add 10.7.0.1/24 dev br0;\
     ip link set r0 master br0",
    "ip link set dev r1 address 02:00:00:00:09:09",
    "ip link set dev r0 address 02:00:00:00:09:08",
    "ip link set dev r2 arp off",
    "ip link set dev r0 promisc on",
];
/// Routes of types and with properties that are rare.
pub(super) const RARE_ROUTES: [&str; 22] = [
    "ip route replace broadcast 198.18.6.255/32 dev r1",
    "ip route replace multicast 224.0.0.0/4 dev r1",
    "ip route replace 198.18.8.0/24 via 10.2.0.3 dev r2 src 10.2.0.1",
    "ip route replace 198.18.9.0/24 via 10.1.0.2 dev r1 advmss 900 initcwnd 4",
    "ip route replace 198.18.12.0/24 dev r2 scope link",
    "ip route replace 203.0.113.0/24 via 10.2.0.3 dev r2 table default",
    "ip route replace throw 203.0.113.0/24;ip route replace 203.0.113.0/25 via 10.2.0.3 table 253",
    "ip route replace blackhole 198.18.15.0/24 metric 5;\
     ip route replace 198.18.15.0/24 via 10.1.0.2 dev r1 metric 6",
    "ip route replace 198.18.15.0/24 via 10.1.0.2 dev r1 metric 5;\
     ip route replace prohibit 198.18.15.0/24 metric 6;ip route del 198.18.15.0/24 metric 5",
    "ip route replace 198.18.16.0/24 encap seg6 mode encap segs 2001:db8:1::9 dev r1",
    "ip route replace 198.18.16.0/24 mtu 1400 encap seg6 mode encap segs 2001:db8:1::9 dev r1",
    "ip route replace 2001:db8:9::/48 mtu 1400 encap seg6 mode inline segs fd00:2::3 dev r2",
    "ip route replace 2001:db8:9::/48 encap seg6 mode encap segs fd00:2::3 dev r2",
    "ip route replace 2001:db8:9::/48 encap seg6 mode inline segs fd00:2::3 dev r2",
    "ip route replace 2001:db8:a::/48 from fd00::/64 via fd00:2::3 dev r2",
    "ip route replace 2001:db8:a::/48 via fd00:1::3 dev r1;\
     ip route replace 2001:db8:a::/48 from fd00::/121 via fd00:2::3 dev r2",
    "ip route replace anycast 2001:db8:b::7/128 dev r1",
    "ip route replace local 2001:db8:c::/64 dev lo",
    "ip route replace 2001:db8:d::/48 via fe80::2 dev r2 pref high",
    "ip route replace 2001:db8:d::/48 via fd00:1::2 dev r1 expires 600",
    "ip route replace 2001:db8:d::/48 via fd00:1::2 dev r1 hoplimit 9",
    "ip route replace 2001:db8:e::/48 via fd00:2::4 dev r2 onlink",
];
/// Routes to the router itself, after which a bed cannot be used any more.
pub(super) const LOCAL_ROUTES: [&str; 3] = [
    "ip route replace local 198.18.5.0/24 dev lo",
    "ip route replace local 198.18.7.7/32 dev r1 table local",
    "ip route replace local 198.18.6.0/24 dev lo table main",
];
/// A VLAN of a link, and who is there.
pub(super) const VLAN: &str = "ip link add link {} name {}.5 type vlan id 5;ip link set {}.5 up;\
     ip addr add 10.5.0.1/24 dev {}.5;ip addr add fd00:5::1/64 dev {}.5 nodad;\
     ip neigh replace 10.5.0.2 lladdr 02:00:00:00:00:77 dev {}.5 nud permanent;\
     ip neigh replace fd00:5::2 lladdr 02:00:00:00:00:77 dev {}.5 nud permanent;\
     ip route replace 100.64.0.0/10 via 10.5.0.2;ip route replace 64:ff9b::/96 via fd00:5::2";
/// Routes out of a VRF, and into it.
pub(super) const LEAKS: [&str; 4] = [
    "ip route replace 198.18.0.0/15 dev red",
    "ip route replace 2001:db8::/32 dev red",
    "ip route replace 198.19.255.0/24 table 10 via 10.2.0.3 dev r2 onlink",
    "ip route replace 203.0.113.0/24 via 10.1.0.3 dev r1 onlink",
];
/// More addresses of a port; `{}` is its number.
pub(super) const MORE_ADDRESSES: [&str; 13] = [
    "10.{}.1.1/24 brd + dev r{}",
    "10.{}.0.9/24 dev r{}",
    "10.{}.0.9/24 dev r{} noprefixroute",
    "10.{}.0.9/25 dev r{} metric 50",
    "10.{}.2.1/24 dev r{} scope link",
    "198.18.0.9/32 dev r{}",
    "198.18.0.7/32 dev lo",
    "198.18.0.8/31 dev r{}",
    "192.0.2.1 peer 192.0.2.2/32 dev r{}",
    "2001:db8:1:2::1/64 dev r{} nodad",
    "fd00:{}::9/64 dev r{} nodad noprefixroute",
    "2001:db8:1:3::1/64 dev r{} nodad preferred_lft 0",
    "2001:db8::7/128 dev lo",
];
