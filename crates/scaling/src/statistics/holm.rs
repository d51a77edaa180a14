//! Many questions at once: of twenty that each err in one case of twenty, one errs nearly always.

/// The `p` values corrected so that any of them below a level errs no more often than that level
/// over all questions together, whatever their dependence (Holm, Scandinavian Journal of Statistics
/// 6, 1979): the smallest times their number, the next times one less, never falling, at most 1.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut corrected = vec![1.0; p.len()];
    let mut largest = 0.0_f64;
    for (rank, &place) in order.iter().enumerate() {
        largest = largest.max((p.len() - rank) as f64 * p[place]).min(1.0);
        corrected[place] = largest;
    }
    corrected
}

#[cfg(test)]
#[path = "../../tests/unit/holm.rs"]
mod tests;
