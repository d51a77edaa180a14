//! The file system that a guest boots from: an initramfs in the "newc" cpio format
//! (Linux, `Documentation/driver-api/early-userspace/buffer-format.rst`), uncompressed.

/// An archive under construction. Entries appear in the order they are added, so directories come
/// before what is in them.
#[derive(Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

const DIRECTORY: u32 = 0o040_755;
const EXECUTABLE: u32 = 0o100_755;
const CHARACTER_DEVICE: u32 = 0o020_600;

impl Archive {
    /// Adds an empty directory. Paths are relative to the guest's root, without a leading slash.
    pub(super) fn directory(&mut self, path: &str) {
        self.entry(path, DIRECTORY, (0, 0), &[]);
    }

    /// Adds an executable file.
    pub(super) fn executable(&mut self, path: &str, content: &[u8]) {
        self.entry(path, EXECUTABLE, (0, 0), content);
    }

    /// Adds a character device with its major and minor number.
    pub(super) fn character_device(&mut self, path: &str, number: (u32, u32)) {
        self.entry(path, CHARACTER_DEVICE, number, &[]);
    }

    /// The finished archive.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        self.entries += 1;
        let (inode, owner, group, links, modified) = (self.entries, 0, 0, 1, 0);
        let fields = [
            inode,
            mode,
            owner,
            group,
            links,
            modified,
            content.len() as u32,
            0,
            0,
            device.0,
            device.1,
            path.len() as u32 + 1,
            0,
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes
                .extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    /// Names and contents end at multiples of four bytes.
    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
#[path = "../../tests/unit/archive.rs"]
mod tests;
