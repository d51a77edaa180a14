use super::*;

#[test]
fn the_serial_step_has_its_share_of_the_functions() {
    let tree = Directory::new("tree").unwrap();
    write_tree(tree.path(), 8, 10, 0.2).unwrap();
    let count = |file: &str| {
        fs::read_to_string(tree.path().join(file))
            .unwrap()
            .matches("unsigned f")
            .count()
    };
    assert_eq!((count("part0.c"), count("last.c")), (10, 20));
    assert!(
        fs::read_to_string(tree.path().join("Makefile"))
            .unwrap()
            .contains("part7.o")
    );
}
