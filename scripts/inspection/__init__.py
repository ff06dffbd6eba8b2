"""`scripts/inspect`: what a deployment's threads are doing, and what they wait for, read from its stores.

It only reads. Reading stands apart from what is made of it (`states`, `views`, `pending`: pure), and that from how it
is shown (`text`, `page`).
"""
