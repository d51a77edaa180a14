//! What has no announcement and no dump: legacy iptables tables, and services of IPVS. The old
//! interfaces are spoken here as `iptables-legacy` and `ipvsadm` speak them, which a machine may
//! lack; so may its kernel, and the guest of [`super::kernels`] has both.

use std::io;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketType, socket};

use super::forwarding::mode;
use super::lab::{Lab, Router, is_root, wait_for};

/// `IPT_SO_GET_INFO` of both families, upon which the kernel loads the table that is named; size of
/// `struct ipt_getinfo`.
const GET_INFO: libc::c_int = 64;
const INFO: usize = 84;
/// `IP_VS_SO_SET_ADD`; size of `struct ip_vs_service_user`.
const ADD_SERVICE: libc::c_int = 64 + 1024 + 64 + 2;
const SERVICE: usize = 44;

/// Has the kernel load the table `filter` for a family, in the calling thread's namespace.
fn load_filter(family: AddressFamily, level: libc::c_int) -> io::Result<()> {
    let raw = rustix::net::ipproto::RAW;
    let socket = socket(family, SocketType::RAW, Some(raw))?;
    let mut info = [0_u8; INFO];
    info[..6].copy_from_slice(b"filter");
    let mut length = INFO as libc::socklen_t;
    // SAFETY: the pointers are to `info`, whose size `length` gives, and to `length`; both live.
    let result = unsafe {
        let place = info.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), level, GET_INFO, place, &raw mut length)
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Adds a service of IPVS: TCP, 10.1.0.1, port 80, round robin.
fn add_service() -> io::Result<()> {
    let raw = rustix::net::ipproto::RAW;
    let socket = socket(AddressFamily::INET, SocketType::RAW, Some(raw))?;
    let mut service = [0_u8; SERVICE];
    service[0] = libc::IPPROTO_TCP as u8;
    service[4..8].copy_from_slice(&[10, 1, 0, 1]);
    service[8..10].copy_from_slice(&80_u16.to_be_bytes());
    service[16..18].copy_from_slice(b"rr");
    service[40..].fill(0xff);
    let (level, length) = (libc::IPPROTO_IP, SERVICE as libc::socklen_t);
    // SAFETY: the pointer is to `service`, whose size is given and which lives during the call.
    let result = unsafe {
        let place = service.as_ptr().cast();
        libc::setsockopt(socket.as_raw_fd(), level, ADD_SERVICE, place, length)
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Does this kernel do it?
fn does(lab: &Lab, what: &str, act: impl FnOnce() -> io::Result<()> + Send) -> bool {
    let done = lab.r.enter(act).unwrap();
    if let Err(error) = &done {
        needs::skipped!("this kernel has no {what}: {error}");
    }
    done.is_ok()
}

/// Does the router forward it itself?
fn is_ours(lab: &Lab, router: &Router, address: &str) -> bool {
    let before = router.forwarded();
    assert!(lab.ping(address), "{address}");
    router.forwarded() > before
}

const V4: &str = "10.1.0.2";
const V6: &str = "2001:db8:1::2";

#[test]
fn legacy_tables_leave_their_family_to_the_kernel() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let mut router = lab.run(&["r0", "r1"], mode());
    lab.wait_for_fast_path(&router, &[V4, V6]);
    let load = || load_filter(AddressFamily::INET, libc::IPPROTO_IP);
    if !does(&lab, "legacy iptables tables", load) {
        return;
    }
    // A kernel that lists who is at its hooks says it so.
    let said = |router: &Router, words: [&str; 2]| {
        let left = router.left_to_kernel();
        left.iter()
            .any(|what| words.iter().any(|word| what.contains(word)))
    };
    let words4 = ["loaded: filter (iptables-legacy-save)", "ipt_do_table"];
    wait_for("the table", 6, || said(&router, words4));
    assert!(!is_ours(&lab, &router, V4) && is_ours(&lab, &router, V6));
    let load = || load_filter(AddressFamily::INET6, libc::IPPROTO_IPV6);
    if does(&lab, "legacy ip6tables tables", load) {
        let words6 = ["loaded: filter (ip6tables-legacy-save)", "ip6t_do_table"];
        wait_for("the other table", 6, || said(&router, words6));
        assert!(!is_ours(&lab, &router, V6));
        assert_eq!(router.state("r0"), "kept by the kernel");
    }
    assert!(router.log().contains("remove it, or --bypass-netfilter"));
    drop(router);
    let options = [mode(), &["--bypass-netfilter"]].concat();
    let router = lab.run(&["r0", "r1"], &options);
    lab.wait_for_fast_path(&router, &[V4, V6]);
}

#[test]
fn services_of_ipvs_leave_everything_to_the_kernel() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let mut router = lab.run(&["r0", "r1"], mode());
    lab.wait_for_fast_path(&router, &[V4, V6]);
    if !does(&lab, "IPVS", add_service) {
        return;
    }
    wait_for("the service", 6, || {
        let left = router.left_to_kernel();
        left.iter()
            .any(|what| what.contains("IPVS has 1 services") || what.contains("ip_vs"))
    });
    assert!(!is_ours(&lab, &router, V4));
    assert!(router.log().contains("remove it, or --bypass-netfilter"));
}
