import logging


def left():
    logging.info("left")
