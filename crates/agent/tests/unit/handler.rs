use super::*;

#[test]
fn the_handler_counts_what_the_check_expects() {
    assert_eq!(primes_below(SIEVE), PRIMES);
    assert_eq!(primes_below(10), 4);
}
