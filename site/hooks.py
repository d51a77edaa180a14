"""Pages of the site that lie outside docs/, and links that lead there."""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
# Documents of the root, and their pages.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#:]+)(#[^)\s]*)?\)")


def on_files(files, config):
    for source, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links by their places in the repository become links by their places in the site."""
    sources = {page: source for source, page in PAGES.items()}
    name = page.file.src_uri
    place = sources.get(name, "docs/" + name)

    def led(found):
        image, text, address, anchor = found[1], found[2], found[3], found[4] or ""
        target = posixpath.normpath(posixpath.join(posixpath.dirname(place), address))
        if target in PAGES:
            target = PAGES[target]
        elif target == "docs/README.md":
            target = "index.md"
        elif target.startswith("docs/"):
            target = target.removeprefix("docs/")
        else:
            return text  # The sources are not part of the site.
        return f"{image}[{text}]({target}{anchor})"

    return LINK.sub(led, markdown)
