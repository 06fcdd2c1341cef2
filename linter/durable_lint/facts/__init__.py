"""What one module says, as small frozen data (see `model`); `extract` reads it off a syntax tree."""

from durable_lint.facts.extract import extract as extract
from durable_lint.facts.model import ModuleFacts as ModuleFacts
