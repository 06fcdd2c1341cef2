"""What helps to adopt the tool on code that already has findings: suppressing them, or keeping a list of
them.
"""
