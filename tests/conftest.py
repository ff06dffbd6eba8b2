"""Fixtures of the whole suite. Real services start only in a session that asks for them."""

pytest_plugins = ("tests.support.services",)
