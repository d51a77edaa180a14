use super::*;

#[test]
fn changes_are_made_while_work_goes_on_and_counted() {
    let prefixes = [Prefix::containing(0x0a00_0000, 8)];
    let mut seen = 0_u64;
    let apply = |changes: &[(Prefix<u32>, NextHop)]| {
        seen += changes.len() as u64;
        assert!(
            changes
                .iter()
                .all(|(_, hop)| (1..=NEXT_HOPS).contains(&hop.0))
        );
        Ok(())
    };
    let begun = Instant::now();
    let work = || {
        thread::sleep(Duration::from_millis(50));
        Ok("done")
    };
    let (given, made) = while_routes_change(10_000, &prefixes, apply, work).unwrap();
    assert_eq!(given, "done");
    assert!(seen > 0 && made > 0.0);
    assert!(seen as f64 <= 10_000.0 * begun.elapsed().as_secs_f64());
}

#[test]
fn nothing_is_made_when_nothing_is_asked_for_and_errors_come_out() {
    let refuse = |_: &[(Prefix<u32>, NextHop)]| -> Result<(), Error> { Err("refused".into()) };
    let prefixes = [Prefix::containing(0x0a00_0000, 8)];
    assert_eq!(
        while_routes_change(0, &prefixes, refuse, || Ok(1)).unwrap(),
        (1, 0.0)
    );
    assert!(while_routes_change(1, &prefixes, refuse, || Ok(1)).is_err());
}
