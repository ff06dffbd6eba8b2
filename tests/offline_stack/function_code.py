"""Code of small functions, packed as Lambda takes it."""

import io
import zipfile


def zipped(name: str, text: str) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as writer:
        writer.writestr(name, text)
    return archive.getvalue()
