"""Commands for people, and the code behind them."""
