"""Files that a command is asked to write when it is done."""

import argparse
import os
from pathlib import Path


def writable_file(word: str) -> Path:
    """Read an option that names a file to be written, so that a long run does not end in vain.

    Raises: argparse.ArgumentTypeError when its folder does not exist or may not be written.
    """
    path = Path(word)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{word} is a folder")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"the folder {path.parent} does not exist")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"{word} may not be written")
    return path
