from first import value
from first import *
