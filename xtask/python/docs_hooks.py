"""Hooks of mkdocs. Blocks that start with ```python gpu run in tests only where there is a GPU; on the site they are Python."""

from typing import Any


def on_page_markdown(markdown: str, **_: Any) -> str:
    return markdown.replace("```python gpu\n", "```python\n")
