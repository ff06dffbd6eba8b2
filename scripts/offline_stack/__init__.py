"""The local stack: real processes that stand in for what AWS runs.

`stack` is the whole, `supervisor` starts and stops processes, and each other module is one piece. Nothing here
imports `runtime`: what is tested offline must not share code with what stands in for AWS.
"""
