from second import value
from second import *
