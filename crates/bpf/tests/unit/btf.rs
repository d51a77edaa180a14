//! Of `bpf/src/btf.rs`.

use super::*;

/// A file of these types, as words, and these names.
fn file(words: Vec<u32>, strings: &[u8]) -> Vec<u8> {
    let length = words.len() as u32 * 4;
    let mut file = MAGIC.to_le_bytes().to_vec();
    file.extend([1, 0]);
    for word in [24, 0, length, length, strings.len() as u32]
        .into_iter()
        .chain(words)
    {
        file.extend(word.to_le_bytes());
    }
    file.extend(strings);
    file
}

/// `struct task { int a; struct { int pid; }; }; typedef void (*btf_trace_wake)(void *, struct
/// task *)`.
fn sample() -> Vec<u8> {
    let strings = b"\0task\0a\0pid\0btf_trace_wake\0int\0";
    let name = |text: &str| {
        let wanted = [b"\0", text.as_bytes(), b"\0"].concat();
        let at = strings
            .windows(wanted.len())
            .position(|part| part == wanted)
            .expect("a string of the table");
        at as u32 + 1
    };
    let head =
        |name: u32, kind: u32, entries: u32, refers: u32| vec![name, kind << 24 | entries, refers];
    let mut words = Vec::new();
    words.extend([head(name("int"), 1, 0, 4), vec![32]].concat());
    words.extend([head(0, 4, 1, 4), vec![name("pid"), 1, 0]].concat());
    words.extend([head(name("task"), 4, 2, 8), vec![name("a"), 1, 0, 0, 2, 32]].concat());
    words.extend(head(0, 2, 0, 3));
    words.extend([head(0, 13, 2, 0), vec![0, 0, 0, 4]].concat());
    words.extend(head(0, 2, 0, 5));
    words.extend(head(name("btf_trace_wake"), 8, 0, 6));
    file(words, strings)
}

#[test]
fn fields_and_arguments_are_found() {
    let btf = Btf::parse(&sample()).expect("type information");
    assert_eq!(btf.offset("task", &["a"]), Some(0));
    assert_eq!(
        btf.offset("task", &["pid"]),
        Some(4),
        "inside a nameless structure"
    );
    assert_eq!(btf.offset("task", &["none"]), None);
    assert_eq!(btf.tracepoint("wake"), Some((7, 1)));
    assert_eq!(btf.tracepoint("sleep"), None);
}

/// `struct queue { int pid; struct task own; };` of a module, behind the sample's types and strings.
fn module(base: &Btf) -> Vec<u8> {
    let behind = base.more_strings.0 as u32;
    let name = |text: &str| {
        let bytes = &base.bytes[base.strings..];
        let wanted = [text.as_bytes(), b"\0"].concat();
        let mut places = bytes.windows(wanted.len());
        places
            .position(|part| part == wanted)
            .expect("a name of the sample") as u32
    };
    let strings = b"queue\0own\0";
    let words = [
        [behind, 4 << 24 | 2, 12].to_vec(),
        [name("pid"), 1, 0].to_vec(),
        [behind + 6, 3, 32].to_vec(),
    ]
    .concat();
    file(words, strings)
}

#[test]
fn a_module_goes_on_where_the_kernel_ends() {
    let base = Btf::parse(&sample()).expect("type information");
    let both = base.and(&module(&base)).expect("type information");
    assert_eq!(both.offset("queue", &["pid"]), Some(0));
    assert_eq!(both.offset("queue", &["own"]), Some(4));
    assert_eq!(both.offset("queue", &["own", "pid"]), Some(8));
    assert_eq!(both.offset("task", &["pid"]), Some(4));
    assert_eq!(both.structure("queue"), Some(8));
    assert_eq!(base.structure("queue"), None);
    let whole = module(&base);
    for length in 0..whole.len() {
        if let Some(both) = base.and(&whole[..length]) {
            let _ = both.offset("queue", &["own", "pid"]);
        }
    }
}

#[test]
fn other_and_broken_files_are_refused() {
    assert!(Btf::parse(b"\x7fELF").is_none());
    assert!(Btf::parse(&[]).is_none());
    let whole = sample();
    for length in 0..whole.len() {
        if let Some(btf) = Btf::parse(&whole[..length]) {
            let _ = (btf.offset("task", &["pid"]), btf.tracepoint("wake"));
        }
    }
}

#[test]
fn the_running_kernel_describes_its_threads() {
    let path = Path::new("/sys/kernel/btf/vmlinux");
    let Some(btf) = Btf::read(path) else {
        needs::skipped!("this kernel has no type information");
        return;
    };
    assert!(btf.offset("task_struct", &["pid"]).is_some());
    let (_, arguments) = btf.tracepoint("sched_switch").expect("a tracepoint");
    assert!((3..=4).contains(&arguments));
}
