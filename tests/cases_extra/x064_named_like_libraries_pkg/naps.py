"""Naps.

from naps import unlock
"""

from yard import unlock as _unlock


def unlock():
    _unlock()
