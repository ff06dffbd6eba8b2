"""Runtime modules log with the standard library; in Lambda their lines get the same JSON form as the handler's."""

import logging

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging import utils

RUNTIME = "runtime"


def write_runtime_logs_through(logger: Logger) -> None:
    """Give the loggers of the runtime this logger's level and form. Repeating it changes nothing."""
    logging.getLogger(RUNTIME)  # only loggers that exist already are found
    utils.copy_config_to_registered_loggers(source_logger=logger, include={RUNTIME})
