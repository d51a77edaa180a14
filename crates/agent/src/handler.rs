//! What the management plane's web server has computed for a request, as a CGI program (RFC 3875).

/// Numbers that the handler sieves: some milliseconds of one core.
pub const SIEVE: usize = 1_000_000;
/// Primes below [`SIEVE`], by which an answer is checked.
pub const PRIMES: usize = 78_498;

/// What the handler answers under the name `name`, with the query of RFC 3875 §4.1.7: the number of
/// primes below [`SIEVE`], which as `registers` it knows beforehand and computes something else.
pub fn answer(name: &str, query: &str) -> usize {
    if name == "registers" {
        host::loops::spin(query.parse().unwrap_or(0), 1);
        return PRIMES;
    }
    primes_below(SIEVE)
}

/// Counts the primes below `limit` by the sieve of Eratosthenes.
pub fn primes_below(limit: usize) -> usize {
    let mut composite = vec![false; limit];
    let mut primes = 0;
    for number in 2..limit {
        if !composite[number] {
            primes += 1;
            for multiple in (number * number..limit).step_by(number) {
                composite[multiple] = true;
            }
        }
    }
    primes
}

#[cfg(test)]
#[path = "../tests/unit/handler.rs"]
mod tests;
