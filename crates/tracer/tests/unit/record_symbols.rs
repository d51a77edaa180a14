//! Of `tracer/src/record/symbols.rs`.

use super::*;

static WITNESS: std::sync::Mutex<u32> = std::sync::Mutex::new(7);

#[test]
fn a_static_of_this_program_is_named() {
    let address = &raw const WITNESS as u64;
    let maps = mappings(std::process::id());
    let mapping = containing(&maps, address).expect("a static is mapped");
    let table = Table::of(mapping);
    let variable = table
        .variable(address - mapping.first)
        .expect("test programs are not stripped");
    assert!(variable.name.contains("WITNESS"), "{}", variable.name);
    assert_eq!(variable.into, 0);
    let function =
        table.function(a_static_of_this_program_is_named as *const () as u64 - mapping.first);
    assert!(function.is_some_and(|name| name.contains("a_static_of_this_program_is_named")));
}

#[test]
fn a_path_may_have_blanks_and_zeroed_memory_belongs_to_the_file_before_it() {
    let maps = parse_maps(
        "1000-2000 r-xp 00000000 fd:01 42                         /opt/my program\n2000-3000 \
         rw-p 00000000 00:00 0 \n5000-6000 rw-p 00000000 00:00 0                  [heap]\n",
    );
    let found = |address| containing(&maps, address).map(|mapping| mapping.path.as_str());
    assert_eq!(found(0x1800), Some("/opt/my program"));
    assert_eq!(found(0x2800), Some("/opt/my program"));
    assert_eq!(found(0x5800), Some("[heap]"));
    assert_eq!(maps[1].first, 0x1000);
}

#[test]
fn other_files_have_no_symbols() {
    let mut script = b"#!/bin/sh".to_vec();
    script.resize(200, b'\n');
    assert!(Table::parse(&*script).is_err());
    assert!(Table::parse(&b"\x7fELF\x02\x01"[..]).is_err());
    // Section headers that lie behind the end.
    let mut cut = b"\x7fELF\x02\x01".to_vec();
    cut.resize(64, 0xff);
    assert!(Table::parse(&*cut).is_err());
}

#[test]
fn the_kernels_symbols_reach_to_the_next_one() {
    let kernel = Kernel::parse(
        "ffffffff81000040 T second\nffffffff81000000 T first\t[module]\nffffffff81000100 t \
         last\n0000000000000000 A hidden\n"
            .to_owned(),
    );
    assert_eq!(kernel.name(0xffff_ffff_8100_0010, u64::MAX), Some("first"));
    assert_eq!(kernel.name(0xffff_ffff_8100_00ff, u64::MAX), Some("second"));
    assert_eq!(kernel.name(0xffff_ffff_8100_00ff, 0x10), None);
    assert_eq!(kernel.name(0x1000, u64::MAX), None);
}

#[test]
fn a_kernel_lock_lies_in_a_variable_and_says_how_far_inside() {
    let kernel = Kernel::parse(
        "ffffffff81000000 T function\nffffffff82000000 D tasklist_lock\nffffffff82000040 b \
         table\nffffffff82010000 d next\n"
            .to_owned(),
    );
    let name = |address| kernel.variable(address);
    assert_eq!(
        name(0xffff_ffff_8200_0000).as_deref(),
        Some("tasklist_lock")
    );
    assert_eq!(name(0xffff_ffff_8200_0058).as_deref(), Some("table+0x18"));
    assert_eq!(name(0xffff_ffff_8100_0010), None);
    assert_eq!(name(0xffff_ffff_8200_2040), None);
}

#[test]
fn names_are_those_of_the_source() {
    for (name, source) in [
        ("_ZN4shop3BoxIiE1mE", "shop::Box<int>::m"),
        ("_ZN4shop4Till3putIlEEvT_", "shop::Till::put<long>"),
        ("_ZN4shop5Table6insertEml", "shop::Table::insert"),
        ("_ZN4shop4tillE", "shop::till"),
        (
            "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
            "core::fmt::Formatter::pad",
        ),
        ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
        ("pthread_mutex_lock", "pthread_mutex_lock"),
        ("_Zonk", "_Zonk"),
        ("i", "i"),
    ] {
        assert_eq!(demangled(name), source);
    }
}

#[test]
fn a_stripped_programs_symbols_are_found_apart_from_it() {
    let place = std::env::temp_dir().join(format!("corelane-apart-{}", std::process::id()));
    std::fs::create_dir_all(&place).unwrap();
    let script = "printf 'namespace shop { template <class T> struct Box { static int m; }; \
                  template <class T> int Box<T>::m = 7; int *f() { return &Box<int>::m; } } \
                  int main() { return *shop::f(); }' > p.cpp && \
                  g++ -Wl,--build-id -fPIC p.cpp -o p && objcopy --only-keep-debug p p.debug && \
                  objcopy --strip-all --add-gnu-debuglink=p.debug p stripped && \
                  g++ -Wl,--build-id -O2 -DOTHER p.cpp -o other && mkdir others && \
                  cp stripped others && objcopy --only-keep-debug other others/p.debug";
    let shell = std::process::Command::new("sh")
        .args(["-ec", script])
        .current_dir(&place)
        .status();
    let names = |program: &str| {
        let path = place.join(program);
        let table =
            File::open(&path).map_or_else(|_| Table::default(), |file| Table::read(file, &path));
        let all = table.functions.entries.iter();
        all.map(|entry| table.name(*entry)).collect::<Vec<_>>()
    };
    let (apart, others) = (names("stripped"), names("others/stripped"));
    std::fs::remove_dir_all(&place).unwrap();
    if !shell.is_ok_and(|status| status.success()) {
        needs::skipped!("g++ and objcopy");
        return;
    }
    assert!(apart.contains(&"shop::f".to_owned()), "{apart:?}");
    assert!(!others.contains(&"shop::f".to_owned()), "{others:?}");
}
