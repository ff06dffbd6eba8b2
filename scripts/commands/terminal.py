"""Texts of others on a terminal: what they say is shown, what they would have the terminal do is not done."""

import unicodedata

_KEPT = "\n\t"
_CONTROL_PICTURES = 0x2400  # Unicode's pictures of the control characters stand in their order, ␛ for ESC
_PICTURE_OF_DELETE = "\u2421"
# What turns the direction of writing, so that a text reads as another than it is.
_DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def harmless(text: str) -> str:
    """Return the text with one visible character in place of each that controls a terminal. Lines and tabs stay."""
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character in _KEPT:
        return character
    code = ord(character)
    if code < ord(" "):
        return chr(_CONTROL_PICTURES + code)
    if code == 0x7F:
        return _PICTURE_OF_DELETE
    is_control = unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
    return "\ufffd" if is_control or unicodedata.bidirectional(character) in _DIRECTIONS else character
