from aws_durable_execution_sdk_python import *
