"""Fields that do what their documentation says, by theme."""

from overt.contract.field import Field
from overt.contract.honoured.answer import ANSWER
from overt.contract.honoured.form import FORM
from overt.contract.honoured.request import REQUEST
from overt.contract.honoured.sampling import SAMPLING

HONOURED: tuple[Field, ...] = REQUEST + SAMPLING + ANSWER + FORM
