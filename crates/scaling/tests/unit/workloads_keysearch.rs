//! Of `scaling/src/workloads/keysearch.rs`.

use super::*;

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2)
        .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
        .collect()
}

/// The five examples at the end of Rivest's paper: each ciphertext is the next plaintext.
#[test]
fn published_vectors() {
    let mut block = [0, 0];
    for (key, cipher) in [
        (
            "00000000000000000000000000000000",
            [0xEEDB_A521, 0x6D8F_4B15],
        ),
        (
            "915F4619BE41B2516355A50110A9CE91",
            [0xAC13_C0F7, 0x5289_2B5B],
        ),
        (
            "783348E75AEB0F2FD7B169BB8DC16787",
            [0xB7B3_422F, 0x92FC_6903],
        ),
        (
            "DC49DB1375A5584F6485B413B5F12BAF",
            [0xB278_C165, 0xCC97_D184],
        ),
        (
            "5269F149D41BA0152497574D7F153125",
            [0x15E4_44EB, 0x2498_31DA],
        ),
    ] {
        block = encrypt(&expand(&bytes(key)), block);
        assert_eq!(block, cipher, "{key}");
    }
}

#[test]
fn a_planted_key_is_found_and_no_other() {
    let planted = bytes("39300000000000A1B2");
    let cipher = encrypt(&expand(&planted), [7, 9]);
    let first = bytes("00000000000000A1B2");
    assert_eq!(search(&first, 20_000, [7, 9], cipher), Some(planted));
    assert_eq!(
        search(&first, 12_345, [7, 9], cipher),
        None,
        "the key is the 12346th"
    );
}
