"""`scripts/demo`: talks to a real deployment, then judges from what was stored and logged whether it kept its promises.

`scenarios` acts, `evidence` collects, `verdicts` judges (pure), `timeline` shows, `command` is the command line.
"""
