"""The tools a model is offered: those of configured tool servers, and the built-in ones."""
