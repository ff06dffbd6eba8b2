"""What is wrong with a body, in words that may go to logs, queues and strangers: the field, never its value."""

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from runtime.errors import InvalidMessage


class Wire(BaseModel):
    """A shape of others: unknown fields are ignored, types are not converted, errors never repeat the input."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, hide_input_in_errors=True)


Shape = TypeVar("Shape", bound=Wire)


def read_shape(shape: type[Shape], fields: dict[str, Any], within: str = "") -> Shape:
    """Return the fields of a queue message as this shape; `within` is the path of the object they are of.

    Raises:
        InvalidMessage: they are not of this shape.
    """
    try:
        return shape.model_validate(fields)
    except ValidationError as error:
        raise InvalidMessage(field_fault(error, within)) from error


def field_fault(error: ValidationError, within: str = "") -> str:
    """Return a sentence that names the first field at fault; `within` is the path of the object that was read."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    path = ".".join((*filter(None, (within,)), *map(str, first["loc"]))) or "body"
    return f"{path} is missing" if first["type"] == "missing" else f"{path} is not valid ({first['type']})"
