//! The page.

use report::html::render;
use report::{Axis, Block, Document, Plot, Series, Table};

#[test]
fn the_page_is_one_file_that_loads_nothing() {
    let page = render(
        &Document::new("A <b>")
            .verdict("Good & well.")
            .heading("Part")
            .text("Words.")
            .block(Block::List {
                title: "Points".into(),
                items: vec!["One < two.".into()],
            })
            .block(Block::Table(Table::new("t").text("a").row(["1"])))
            .block(Block::Plot(
                Plot::new("p", Axis::new("x"), Axis::new("y"))
                    .series(Series::line("s").point(1.0, 2.0)),
            ))
            .details("More <", vec![Block::Text("Folded & kept.".into())])
            .details("Nothing", Vec::new())
            .block(Block::Html("<hr>".into()))
            .environment(vec![("kernel".into(), "6 <".into())]),
    );
    let without_name_of_svg = page.replace("http://www.w3.org/2000/svg", "");
    for loader in ["http:", "https:", "src=", "url(", "@import", "<script"] {
        assert!(!without_name_of_svg.contains(loader), "{loader}");
    }
    assert!(
        page.contains("A &lt;b&gt;")
            && page.contains("Good &amp; well.")
            && page.contains("6 &lt;")
    );
    assert!(page.contains("<hr>"));
    let between = page
        .split_once("</head>")
        .unwrap()
        .1
        .split_once("<body>")
        .unwrap()
        .0;
    assert_eq!(between, "\n", "nothing but tags above the title");
    assert!(page.contains("<h3>Points</h3>\n<ul>\n<li>One &lt; two.</li>"));
    assert!(page.contains(
        "<details>\n<summary>More &lt;</summary>\n<p>Folded &amp; kept.</p>\n</details>"
    ));
    assert!(page.contains("<details>\n<summary>Environment</summary>\n<dl>"));
    assert!(!page.contains("Nothing"));
    assert_eq!(page.matches("<svg").count(), 2);
}

#[test]
fn what_stands_between_backticks_is_code() {
    let page = |text: &str| render(&Document::new("t").verdict(text));
    let code = page("`run <x>` and `stop` work.");
    assert!(
        code.contains("<p><code>run &lt;x&gt;</code> and <code>stop</code> work.</p>"),
        "{code}"
    );
    let alone = page("One ` stays.");
    assert!(alone.contains("<p>One ` stays.</p>"), "{alone}");
}
