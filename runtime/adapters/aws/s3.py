"""Large content in a bucket, under the hash of its thread and of its bytes."""

from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from runtime.adapters.aws.errors import code_of, translated
from runtime.errors import PermanentError
from runtime.identity import payload_key
from runtime.model.entries import PayloadRef

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client


class S3Payloads:
    def __init__(self, client: "S3Client", bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def put(self, thread_id: str, content: bytes) -> PayloadRef:
        key = payload_key(thread_id, content)
        with translated():
            self._client.put_object(Bucket=self._bucket, Key=key, Body=content)
        return PayloadRef(key, len(content))

    def get(self, ref: PayloadRef) -> bytes:
        with translated():
            try:
                return self._client.get_object(Bucket=self._bucket, Key=ref.key)["Body"].read()
            except ClientError as error:
                # Without the right to list the bucket, S3 says AccessDenied instead, and a person should look.
                if code_of(error) == "NoSuchKey":
                    raise PermanentError("there is no payload under this key") from error
                raise
