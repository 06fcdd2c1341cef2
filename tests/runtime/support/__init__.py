"""What the tests of durable_runtime share.

`crash` runs a handler on the SDK's own test runner while its invocations are killed, and keeps a journal of
what user code did and what the service accepted. `versions` says which SDK is installed.
"""
