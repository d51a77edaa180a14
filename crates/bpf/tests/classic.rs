//! Filters: what is read, what is refused, and that the kernel's translation says what we say.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use bpf::classic::{Bytes, Filter, Instruction, translate};
use bpf::map::Map;
use bpf::sys::{self, Hook, MapDefinition, TYPE_ARRAY, run_dry};

/// `tcp port 443`, as tcpdump 4.99 prints it.
const PORT_443: &str = "16
40 0 0 12
21 0 4 34525
48 0 0 20
21 0 11 6
40 0 0 54
21 8 9 443
21 0 8 2048
48 0 0 23
21 0 6 6
40 0 0 20
69 4 0 8191
177 0 0 14
72 0 0 14
21 0 1 443
6 0 0 262144
6 0 0 0
";
const SNAP: u16 = 96;
/// In front of the frame's bytes: how many there are, and the frame's length.
const FRONT: usize = 8;

fn port_443() -> Filter {
    PORT_443.parse().unwrap()
}

/// TCP over IPv4 from port 443.
fn frame() -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14] = 0x45;
    frame[23] = 6;
    frame[34..36].copy_from_slice(&443_u16.to_be_bytes());
    frame
}

#[test]
fn a_filter_of_tcpdump_passes_what_it_describes() {
    let filter = port_443();
    assert_eq!(filter.instructions().len(), 16);
    let frame = frame();
    assert!(filter.passes(&frame, 60));
    let changed = |at: usize, to: u8| {
        let mut frame = frame.clone();
        frame[at] = to;
        frame
    };
    assert!(!filter.passes(&changed(35, 0), 60));
    assert!(!filter.passes(&changed(23, 17), 60));
    assert!(
        !filter.passes(&changed(21, 1), 60),
        "a fragment has no ports"
    );
    assert!(!filter.passes(&frame[..35], 60), "no bytes, no match");
}

#[test]
fn what_is_no_filter_is_refused_with_the_reason() {
    let refused = |text: &str| text.parse::<Filter>().unwrap_err();
    for (text, why) in [
        ("", "begins with the number"),
        ("tcpdump: syntax error", "begins with the number"),
        ("2\n6 0 0 0\n", "2 instructions are announced"),
        ("1\n6 0 0\n", "four numbers"),
        ("1\n40 0 0 12\n", "leads behind the end"),
        ("2\n21 0 1 12\n6 0 0 0\n", "leads behind the end"),
        ("2\n5 0 0 4294967295\n6 0 0 0\n", "leads behind the end"),
        ("2\n65535 0 0 0\n6 0 0 0\n", "captured frame can answer"),
        // The kernel's own: the interface (SKF_AD_IFINDEX).
        (
            "2\n32 0 0 4294963208\n6 0 0 0\n",
            "captured frame can answer",
        ),
        ("2\n52 0 0 0\n6 0 0 0\n", "captured frame can answer"),
        ("2\n96 0 0 16\n6 0 0 0\n", "captured frame can answer"),
    ] {
        let said = refused(text);
        assert!(said.contains(why), "{text:?}: {said}");
    }
    let long = vec![
        Instruction {
            code: 6,
            then: 0,
            otherwise: 0,
            k: 0
        };
        1025
    ];
    assert!(Filter::new(long).unwrap_err().contains("1 to 1024"));
}

/// A filter in the kernel, run by hand.
struct InKernel {
    map: Map,
    program: OwnedFd,
}

/// One eBPF instruction.
fn one(code: u8, registers: u8, offset: i16, immediate: i32) -> sys::Instruction {
    sys::Instruction {
        code,
        registers,
        offset,
        immediate,
    }
}

fn load(mut code: Vec<sys::Instruction>, filter: &Filter, bytes: Bytes) -> OwnedFd {
    code.extend(translate(filter, SNAP, bytes).unwrap());
    let mut log = vec![0; 1 << 16];
    let loaded = sys::program_load(Hook::Xdp, "filter", &code, "GPL", 0, 0, &mut log);
    loaded.unwrap_or_else(|error| panic!("{error}: {filter:?}\n{}", String::from_utf8_lossy(&log)))
}

/// A filter that reads the frame itself.
fn on_frames(filter: &Filter) -> OwnedFd {
    let code = vec![
        // r2 = the end, r1 = the beginning, r3 = what is between
        one(0x61, 0x12, 4, 0),
        one(0x61, 0x11, 0, 0),
        one(0xbf, 0x23, 0, 0),
        one(0x1f, 0x13, 0, 0),
        one(0x85, 0x10, 0, 1),
        one(0x95, 0, 0, 0),
    ];
    load(code, filter, Bytes::Frame)
}

impl InKernel {
    fn load(filter: &Filter) -> Self {
        let map = Map::create(
            MapDefinition {
                name: "bytes".to_owned(),
                kind: TYPE_ARRAY,
                key_size: 4,
                value_size: (FRONT + usize::from(SNAP)) as u32,
                entries: 1,
                ..MapDefinition::default()
            },
            None,
        )
        .unwrap();
        let code = vec![
            // r6 = the value; r2, r3 = its first words; r1 = behind them
            one(0x18, 0x26, 0, map.as_fd().as_raw_fd()),
            one(0, 0, 0, 0),
            one(0x61, 0x62, 0, 0),
            one(0x61, 0x63, 4, 0),
            one(0xbf, 0x61, 0, 0),
            one(0x07, 1, 0, i32::try_from(FRONT).unwrap()),
            one(0x85, 0x10, 0, 1),
            one(0x95, 0, 0, 0),
        ];
        let program = load(code, filter, Bytes::Copied);
        Self { map, program }
    }

    fn passes(&self, bytes: &[u8], length: u32) -> bool {
        let mut value = [0xee; FRONT + SNAP as usize];
        value[..4].copy_from_slice(&(bytes.len() as u32).to_ne_bytes());
        value[4..8].copy_from_slice(&length.to_ne_bytes());
        value[8..8 + bytes.len()].copy_from_slice(bytes);
        self.map.set(0_u32, &value).unwrap();
        run_dry(self.program.as_fd(), &[0; 14], 0, 1)
            .unwrap()
            .verdict
            != 0
    }
}

/// A simple generator: the same programs in every run.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((self.0 >> 33) % u64::from(bound)) as u32
    }

    /// Any instruction, of which those behind it are `left`.
    fn instruction(&mut self, left: u32) -> Instruction {
        const CODES: [u16; 44] = [
            0x00, 0x01, 0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0x60, 0x61, 0x80, 0x81, 0xb1, 0x02,
            0x03, 0x04, 0x0c, 0x14, 0x1c, 0x24, 0x2c, 0x34, 0x3c, 0x44, 0x4c, 0x54, 0x5c, 0x64,
            0x6c, 0x74, 0x7c, 0x84, 0x94, 0x9c, 0xa4, 0xac, 0x05, 0x15, 0x1d, 0x25, 0x2d, 0x35,
            0x45, 0x07,
        ];
        let code = CODES[self.below(CODES.len() as u32) as usize];
        let k = match code {
            0x02 | 0x03 | 0x60 | 0x61 => self.below(16),
            0x05 => self.below(left.min(4)),
            0x64 | 0x74 => self.below(32),
            0x34 | 0x94 => 1 + self.below(50),
            0x20..=0x50 | 0xb1 => self.below(110),
            _ if self.below(2) == 0 => self.below(70),
            _ => self.below(u32::MAX),
        };
        Instruction {
            code,
            then: self.below(left.min(4)) as u8,
            otherwise: self.below(left.min(4)) as u8,
            k,
        }
    }

    fn filter(&mut self) -> Filter {
        let count = 2 + self.below(30);
        let mut all: Vec<_> = (0..count).map(|at| self.instruction(count - at)).collect();
        all.push(Instruction {
            code: 0x16,
            then: 0,
            otherwise: 0,
            k: 0,
        });
        Filter::new(all).unwrap()
    }
}

#[test]
fn the_kernel_says_of_each_frame_what_we_say() {
    if !needs::root("for eBPF") {
        return;
    }
    let known = InKernel::load(&port_443());
    for kept in [20, 35, 36, 60] {
        let passes = port_443().passes(&frame()[..kept], 60);
        assert_eq!(known.passes(&frame()[..kept], 60), passes, "{kept}");
    }
    let mut drawn = Drawn(7);
    let (mut passed, mut refused) = (0, 0);
    for _ in 0..400 {
        let filter = drawn.filter();
        let in_kernel = InKernel::load(&filter);
        let on_frames = on_frames(&filter);
        for _ in 0..6 {
            let length = drawn.below(2000);
            let kept = drawn.below(u32::from(SNAP) + 1) as usize;
            let bytes: Vec<u8> = (0..kept).map(|_| drawn.below(64) as u8).collect();
            let ours = filter.passes(&bytes, length);
            let theirs = in_kernel.passes(&bytes, length);
            assert_eq!(theirs, ours, "{filter:?} of {bytes:?}, {length}");
            // Whoever runs a program by hand has no shorter frames.
            if kept >= 14 {
                let ours = filter.passes(&bytes, kept as u32);
                let verdict = run_dry(on_frames.as_fd(), &bytes, 0, 1).unwrap().verdict;
                assert_eq!(verdict != 0, ours, "{filter:?} of the frame {bytes:?}");
            }
            *(if ours { &mut passed } else { &mut refused }) += 1;
        }
    }
    assert!(
        passed > 300 && refused > 300,
        "{passed} passed, {refused} did not"
    );
}
