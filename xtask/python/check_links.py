"""Checks links without a network: every local link and anchor of the built site, and relative links of Markdown outside of docs.

  check_links.py SITE

mkdocs checks links between its pages. This looks at the HTML as a browser gets it, so also at links into rustdoc."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Pages that people read on the web page of the repository, not on the site.
MARKDOWN = ["*.md", ".github/*.md", "crates/*/README.md", "examples/**/*.md", "python/README.md", "xtask/**/*.md", "docs/**/*.md"]
LINK = re.compile(r"\]\(([^()\s]+)\)")


class Page(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif value is not None and ((tag in ("a", "link") and name == "href") or name == "src"):
                self.links.add(value)


def is_local(link: str) -> bool:
    parts = urlsplit(link)
    return not parts.scheme and not parts.netloc and not parts.path.startswith("/")


def site_problems(site: Path) -> tuple[int, list[str]]:
    pages = {path: Page(path.read_text()) for path in site.rglob("*.html") if site / "rust" not in path.parents}
    links, problems = 0, []
    for path, page in pages.items():
        for link in sorted(filter(is_local, page.links)):
            links += 1
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            where = f"{path.relative_to(site)}: {link}"
            if not target.is_file():
                # The page for addresses that do not exist is served from anywhere.
                if path.name != "404.html":
                    problems.append(f"{where}: no such file")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                problems.append(f"{where}: no such anchor")
    return links, problems


def markdown_problems(root: Path) -> tuple[int, list[str]]:
    links, problems = 0, []
    for path in sorted({path for pattern in MARKDOWN for path in root.glob(pattern)}):
        text = re.sub(r"^```.*?^```|`[^`\n]*`", "", path.read_text(), flags=re.M | re.S)
        for link in filter(is_local, LINK.findall(text)):
            links += 1
            target = path.parent / unquote(urlsplit(link).path)
            if not target.exists():
                problems.append(f"{path.relative_to(root)}: {link}: no such file")
    return links, problems


def main() -> int:
    site = Path(sys.argv[1]).resolve()
    root = Path(__file__).resolve().parents[2]
    in_site, problems = site_problems(site)
    in_markdown, more = markdown_problems(root)
    print(f"{in_site} links of the site and {in_markdown} of Markdown files, {len(problems) + len(more)} broken")
    print("\n".join(problems + more))
    return 1 if problems or more else 0


if __name__ == "__main__":
    sys.exit(main())
