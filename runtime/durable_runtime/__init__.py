"""Cleanup and compensation at a true terminal outcome, for AWS Lambda durable functions."""
