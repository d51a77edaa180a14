#[test]
fn markup_is_neutralised() {
    assert_eq!(
        super::escape("<a b='c'>&\""),
        "&lt;a b=&#39;c&#39;&gt;&amp;&quot;"
    );
}
