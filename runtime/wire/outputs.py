"""The body of a message on the output queue."""

from runtime.model.outputs import Output
from runtime.wire.text import canonical_json


def output_body(output: Output) -> str:
    """Return compact ASCII JSON (SQS refuses control characters). No field of a type can shadow a common one."""
    return canonical_json(
        {
            **output.fields,
            "id": output.output_id,
            "type": output.type,
            "thread_id": output.thread_id,
            "root_thread_id": output.root_id,
            "seq": output.seq,
            "metadata": output.metadata,
        }
    )
