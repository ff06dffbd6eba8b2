"""Run the model endpoint: prints ``READY <port>`` once it listens on 127.0.0.1, then serves until it is stopped."""

from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path

from scripts.offline_stack.model_endpoint.log import RequestLog
from scripts.offline_stack.model_endpoint.request import ModelLimits
from scripts.offline_stack.model_endpoint.server import ModelEndpoint, Options


def main() -> None:
    limits = ModelLimits()
    parser = ArgumentParser(prog="python -m scripts.offline_stack.model_endpoint", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one (default)")
    parser.add_argument("--log", type=Path, help="append one JSON line per request to this file")
    parser.add_argument("--delay-ms", type=int, default=0, help="time before every answer")
    parser.add_argument("--window-tokens", type=int, default=limits.window_tokens)
    parser.add_argument("--output-tokens", type=int, default=limits.output_tokens, help="the largest maxTokens")
    arguments = parser.parse_args()
    options = Options(
        limits=ModelLimits(arguments.window_tokens, arguments.output_tokens),
        delay_s=arguments.delay_ms / 1000,
        log=RequestLog(arguments.log),
    )
    with ModelEndpoint(arguments.port, options) as endpoint:
        print(f"READY {endpoint.server_port}", flush=True)
        endpoint.serve_forever()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
