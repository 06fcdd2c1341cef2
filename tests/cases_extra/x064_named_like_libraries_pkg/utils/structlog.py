try:
    import structlog
except ImportError:
    structlog = None


def leave():
    structlog.contextvars.clear_contextvars()
