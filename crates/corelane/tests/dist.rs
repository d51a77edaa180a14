//! What is given to others: the package installs and goes without a trace, the image is whole, and
//! the same source gives the same bytes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use host::temporary::Directory;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn done(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Made with a small program in place of the static one, which calls the one that is tested.
pub(crate) fn make(directory: &Path) -> PathBuf {
    let stand_in = directory.join("program");
    let call = format!(
        "#!/bin/sh\nexec {} \"$@\"\n",
        env!("CARGO_BIN_EXE_corelane")
    );
    fs::write(&stand_in, call).unwrap();
    fs::set_permissions(&stand_in, fs::Permissions::from_mode(0o755)).unwrap();
    let out = directory.join("out");
    let script = Path::new(SOURCE).join("scripts/dist");
    done(Command::new(script).args([&out, &stand_in]));
    out
}

pub(crate) fn named(directory: &Path, end: &str) -> PathBuf {
    let files = fs::read_dir(directory).unwrap();
    let mut paths = files.map(|file| file.unwrap().path());
    paths
        .find(|path| path.to_string_lossy().ends_with(end))
        .unwrap()
}

#[test]
fn the_package_installs_all_and_leaves_nothing_and_the_image_is_whole() {
    let programs = ["dpkg", "dpkg-deb", "tar", "python3", "sha256sum"];
    if !programs.into_iter().all(needs::program) {
        return;
    }
    let directory = Directory::new("dist").unwrap();
    let at = |name: &str| {
        let path = directory.path().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    };
    let (first, second) = (make(&at("first")), make(&at("second")));
    let sums = |out: &Path| fs::read_to_string(out.join("SHA256SUMS")).unwrap();
    // The stand-ins are alike, whatever directory they are in.
    assert_eq!(sums(&first), sums(&second));
    done(
        Command::new("sha256sum")
            .args(["--check", "SHA256SUMS"])
            .current_dir(&first),
    );
    list_is_whole(&fs::read_to_string(named(&first, ".cdx.json")).unwrap());
    image_is_whole(&named(&first, ".oci.tar"), &at("image"));
    installs(&named(&first, ".deb"), &at("root"));
}

/// Every crate that is linked is listed with its licence, and nothing that only builds or tests.
fn list_is_whole(list: &str) {
    let list: serde_json::Value = serde_json::from_str(list).unwrap();
    assert_eq!(list["bomFormat"], "CycloneDX");
    assert_eq!(list["metadata"]["component"]["name"], "corelane");
    let components = list["components"].as_array().unwrap();
    let has = |name: &str| components.iter().any(|component| component["name"] == name);
    assert!(
        ["agent", "router", "clap_builder", "libc", "std"]
            .into_iter()
            .all(has)
    );
    assert!(!["needs", "proptest", "syn"].into_iter().any(has));
    for component in components {
        let licence = &component["licenses"][0]["expression"];
        assert!(licence.is_string(), "{component}");
    }
}

/// Each blob is what its name says, and all that is named is there.
fn image_is_whole(archive: &Path, directory: &Path) {
    done(
        Command::new("tar")
            .arg("-xf")
            .arg(archive)
            .current_dir(directory),
    );
    let blobs = directory.join("blobs/sha256");
    let mut named = fs::read_to_string(directory.join("index.json")).unwrap();
    let mut number = 0;
    for blob in fs::read_dir(&blobs).unwrap() {
        let (blob, name) = (blob.as_ref().unwrap().path(), blob.unwrap().file_name());
        let sum = done(Command::new("sha256sum").arg(&blob));
        assert!(sum.starts_with(name.to_str().unwrap()), "{sum}");
        named += &String::from_utf8_lossy(&fs::read(&blob).unwrap());
        number += 1;
    }
    assert_eq!(number, 3, "manifest, configuration, layer");
    for blob in fs::read_dir(&blobs).unwrap() {
        let name = blob.unwrap().file_name().into_string().unwrap();
        assert!(named.contains(&format!("sha256:{name}")), "{name}");
    }
}

fn installs(package: &Path, root: &Path) {
    let state = root.join("var/lib/dpkg");
    for part in ["info", "updates", "triggers"] {
        fs::create_dir_all(state.join(part)).unwrap();
    }
    fs::write(state.join("status"), "").unwrap();
    let dpkg = |what: &[&str]| {
        let mut command = Command::new("dpkg");
        command
            .arg(format!("--root={}", root.display()))
            .args(["--force-not-root", "--force-script-chrootless"])
            .args(["--force-depends", "--log=/dev/null"])
            .args(what)
            .env(
                "PATH",
                format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap()),
            );
        done(&mut command)
    };
    dpkg(&["--install", package.to_str().unwrap()]);
    let run = done(Command::new(root.join("usr/bin/corelane")).arg("--version"));
    assert_eq!(run, format!("corelane {}\n", env!("CARGO_PKG_VERSION")));
    let unit = |name: &str| fs::read_to_string(root.join("usr/lib/systemd/system").join(name));
    let (one, each) = (unit("corelane.service"), unit("corelane@.service"));
    let (one, each) = (one.unwrap(), each.unwrap());
    for unit in [&one, &each] {
        assert!(
            unit.contains("\nExecStart=/usr/bin/corelane run "),
            "{unit}"
        );
        assert!(!unit.contains("/usr/local"), "{unit}");
    }
    assert!(each.contains(" /etc/corelane/%i.toml\n"), "{each}");
    assert!(each.contains("\nRuntimeDirectory=corelane-%i\n"), "{each}");
    for file in [
        "etc/corelane.toml",
        "usr/share/bash-completion/completions/corelane",
        "usr/share/man/man1/corelane-run.1.gz",
        "usr/share/doc/corelane/copyright",
        "usr/share/doc/corelane/examples/install",
    ] {
        assert!(root.join(file).is_file(), "{file}");
    }
    dpkg(&["--purge", "corelane"]);
    for gone in [
        "etc/corelane.toml",
        "usr/bin/corelane",
        "usr/share/doc/corelane",
    ] {
        assert!(!root.join(gone).exists(), "{gone}");
    }
}
