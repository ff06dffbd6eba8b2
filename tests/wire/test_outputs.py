import json

from runtime.model.outputs import Output
from runtime.wire.outputs import output_body


def test_an_output_carries_its_common_fields_and_those_of_its_type() -> None:
    output = Output("o-1", "text", "child", "root", 33, {"user_id": "u"}, {"text": "héllo \x00"})

    body = output_body(output)

    assert body.isascii()
    assert json.loads(body) == {
        "id": "o-1",
        "type": "text",
        "thread_id": "child",
        "root_thread_id": "root",
        "seq": 33,
        "metadata": {"user_id": "u"},
        "text": "héllo \ufffd",
    }


def test_a_field_of_a_type_can_not_stand_in_for_a_common_one() -> None:
    output = Output("o-1", "error", "t", "t", None, None, {"id": "forged", "code": "x"})

    assert json.loads(output_body(output))["id"] == "o-1"
