"""One thin file per Lambda function: read the event, call one function, map its outcome."""
