"""A scripted model behind the true wire of Bedrock Runtime's ConverseStream.

It stands in for the model offline: unmodified boto3 talks to it, it refuses what the real service refuses
(``rules``), and it answers by rules of its own (``behaviour``) or by a script written into the user's text
(``script``). It knows nothing of the agent runtime and keeps no state between requests, so that a retried
request is answered like the first one; the one exception, ``first``, is asked for by a script.
"""
