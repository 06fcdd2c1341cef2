"""Finds cleanup that is unsafe in AWS Lambda durable functions, and rewrites it."""
