"""HTML whose texts cannot be anything but texts: what is not made here is escaped where it is put in. Pure."""

import html

from scripts.commands.terminal import harmless


class Html(str):
    """HTML that `tag` or `joined` made; any other string is a text of somebody's."""

    __slots__ = ()


def tag(name: str, *children: str, **attributes: str) -> Html:
    """Return an element. `class_` stands for the attribute `class`, whose name is taken."""
    given = "".join(f' {key.rstrip("_")}="{_escaped(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{given}>{joined(*children)}</{name}>")


def joined(*children: str) -> Html:
    """Return these one after the other, texts escaped."""
    return Html("".join(child if isinstance(child, Html) else _escaped(child) for child in children))


def _escaped(text: str) -> str:
    # A page turns directions of writing, too, and no control character is of use in it.
    return html.escape(harmless(text), quote=True)
