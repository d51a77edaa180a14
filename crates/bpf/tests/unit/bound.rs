use super::*;

/// `bpf_get_smp_processor_id`, whose call the verifier replaces by several instructions.
const PROCESSOR: i32 = 8;

#[test]
fn a_program_that_the_verifier_enlarges_is_seen() {
    if !needs::root("for eBPF") {
        return;
    }
    let grows = |calls: usize| {
        let mut assembler = Assembler::default();
        for _ in 0..calls {
            assembler.call(PROCESSOR);
        }
        assembler.constant(0, 2);
        let instructions = assembler.finish();
        let (flags, unbound) = (0, 0);
        let program = sys::program_load(
            Hook::Xdp,
            "grows",
            &instructions,
            "GPL",
            flags,
            unbound,
            &mut [],
        );
        has_grown(program.unwrap().as_fd(), &instructions).unwrap()
    };
    assert!(!grows(0));
    assert!(grows(400));
}

#[test]
fn binding_is_forbidden_only_where_constants_are_hidden() {
    if !needs::root("for eBPF") {
        return;
    }
    let harden = fs::read_to_string("/proc/sys/net/core/bpf_jit_harden").unwrap();
    assert_eq!(forbidden().unwrap().is_some(), harden.trim() == "2");
}

#[test]
fn the_kernel_takes_room_out() {
    if !needs::root("for eBPF") {
        return;
    }
    let mut assembler = Assembler::default();
    assembler.constant(0, 2);
    let end = assembler.finish();
    for count in [0, 1, 2, 3, 100] {
        let instructions = [room(count), end.clone()].concat();
        assert_eq!(
            instructions.len(),
            [count, 0][usize::from(count < 3)] + end.len()
        );
        let program =
            sys::program_load(Hook::Xdp, "room", &instructions, "GPL", 0, 0, &mut []).unwrap();
        let left = sys::program_bytes(program.as_fd()).unwrap() as usize;
        let first = usize::from(count >= 3);
        assert_eq!(
            left,
            (end.len() + first) * size_of::<Instruction>(),
            "{count}"
        );
    }
}

#[test]
fn a_program_ends_on_the_same_page_with_what_stands_in_front() {
    let pages = |bytes: usize| bytes.div_ceil(PAGE);
    for others in 1..2_000 {
        for room in [0, 5, 3_156] {
            let given = beside_an_edge(room, others);
            assert!(given >= room);
            let bytes = (given + others) * size_of::<Instruction>();
            assert_eq!(pages(bytes), pages(bytes + FRONT), "{others} and {room}");
        }
    }
}
