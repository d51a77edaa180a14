use figures::Random;

use super::*;

#[test]
fn runs_behave_like_vectors() {
    let mut random = Random::new(5);
    let mut arena = Arena::<u16>::new();
    let mut runs = vec![(Run::default(), Vec::<u16>::new()); 40];
    for step in 0..20_000 {
        let index = random.below(runs.len());
        let (run, model) = &mut runs[index];
        if model.len() < 64 && random.below(2) == 0 {
            let at = random.below(model.len() + 1);
            model.insert(at, step as u16);
            *run = arena.insert(*run, at, step as u16);
        } else if !model.is_empty() {
            let at = random.below(model.len());
            model.remove(at);
            *run = arena.remove(*run, at);
        }
        assert_eq!(arena.get(*run), &model[..]);
    }
    for (run, model) in &runs {
        assert_eq!(arena.get(*run), &model[..]);
    }
}
