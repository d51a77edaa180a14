use super::*;

fn at(address: u32, length: u8, expected: u32, table: u32) -> Line<u32> {
    line(table, Prefix::containing(address, length), 0, expected)
}

#[test]
fn nested_prefixes_become_ranges() {
    let lines = [
        at(0x0A00_0000, 8, 1, 254),
        at(0x0A01_0000, 16, 2, 254),
        at(0x0A01_0000, 24, 1, 254),
    ];
    assert_eq!(
        ranges(&lines),
        [
            (0, KERNEL),
            (0x0A00_0000, 1),
            (0x0A01_0000, 1),
            (0x0A01_0100, 2),
            (0x0A02_0000, 1),
            (0x0B00_0000, KERNEL)
        ]
    );
}

#[test]
fn a_wide_local_prefix_hides_what_is_inside() {
    let lines = [
        at(0x0A00_0000, 8, KERNEL, LOCAL_TABLE),
        at(0x0A01_0000, 16, 2, 254),
    ];
    assert_eq!(ranges(&lines), [(0, KERNEL)]);
}

#[test]
fn the_last_address_of_all_has_no_successor() {
    assert_eq!(ranges(&[at(0, 0, 3, 254)]), [(0, 3)]);
    assert_eq!(
        ranges(&[at(0xFFFF_FFFF, 32, 3, 254)]),
        [(0, KERNEL), (0xFFFF_FFFF, 3)]
    );
}
