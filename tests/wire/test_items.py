import pytest

from runtime.errors import PermanentError
from runtime.model.entries import ImageItem, TextItem
from runtime.wire.items import pack_items, unpack_items


def test_items_come_out_of_the_payload_store_as_they_went_in() -> None:
    items = (TextItem("grün 😀"), ImageItem("aGk=", "image/png"))

    assert unpack_items(pack_items(items)) == items


@pytest.mark.parametrize("content", [b"", b"\xff", b"7", b'[{"type":"video"}]'])
def test_a_payload_that_is_not_ours_can_not_be_read(content: bytes) -> None:
    with pytest.raises(PermanentError):
        unpack_items(content)
