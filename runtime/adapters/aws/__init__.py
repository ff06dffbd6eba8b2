"""The ports over AWS services. The only package that imports boto3 and psycopg."""
