use super::*;

fn text(findings: &Findings) -> String {
    let document = report::Document {
        blocks: findings.blocks(),
        ..report::Document::default()
    };
    report::terminal::render(&document)
}

#[test]
fn then_is_left_out_where_nothing_was_said_and_explanations_follow() {
    let mut findings = Findings::of(&["late", "missed"]);
    findings.line("a", "", ["1 s".to_owned(), "0".to_owned()]);
    findings.line("b", "", ["12 s".to_owned(), "3".to_owned()]);
    findings.because("it rained");
    assert_eq!(
        text(&findings),
        "what  late  missed\n----  ----  ------\na      1 s       0\nb     12 s       \
         3\n\nWhat made the worst of them\n- b: it rained.\n\n"
    );
    findings.lines[0].then = "2 s".to_owned();
    assert!(text(&findings).starts_with("what  then  late  missed\n"));
}

#[test]
fn a_note_is_made_once() {
    let mut findings = Findings::default();
    findings.note("no right");
    findings.note("no right");
    assert_eq!(findings.notes, ["no right"]);
}
