use super::*;

const NEW: &str = "name: sched_migrate_task\nID: 371\nformat:\n\tfield:unsigned short \
                   common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:int \
                   common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\tfield:__data_loc char[] \
                   comm;\toffset:8;\tsize:4;\tsigned:0;\n\tfield:pid_t \
                   pid;\toffset:12;\tsize:4;\tsigned:1;\n\tfield:int \
                   orig_cpu;\toffset:20;\tsize:4;\tsigned:1;\n\nprint fmt: \"comm=%s\", \
                   REC->comm\n";
const OLD: &str = "name: sched_migrate_task\nID: 310\nformat:\n\tfield:char \
                   comm[16];\toffset:8;\tsize:16;\tsigned:1;\n\tfield:pid_t \
                   pid;\toffset:24;\tsize:4;\tsigned:1;\n";

#[test]
fn both_shapes_of_one_tracepoint_are_understood() {
    let new = Layout::parse(NEW).expect("a format file");
    assert_eq!(new.id, 371);
    assert_eq!(new.field("pid").map(|f| (f.offset, f.size)), Some((12, 4)));
    assert_eq!(new.field("comm").map(|f| f.offset), Some(8));
    let old = Layout::parse(OLD).expect("a format file");
    assert_eq!(old.field("pid").map(|f| f.offset), Some(24));
    assert_eq!(old.field("comm").map(|f| (f.offset, f.size)), Some((8, 16)));
}

#[test]
fn pointers_and_arrays_have_plain_names() {
    let text = "ID: 1\n\tfield:const struct __kernel_timespec * \
                utime;\toffset:40;\tsize:8;\tsigned:0;\n\tfield:u32 \
                *uaddr;\toffset:16;\tsize:8;\tsigned:0;\n";
    let layout = Layout::parse(text).expect("a format file");
    assert_eq!(layout.field("utime").map(|f| f.offset), Some(40));
    assert_eq!(layout.field("uaddr").map(|f| f.offset), Some(16));
    assert!(Layout::parse("hello").is_none());
}
