"""Questions with known answers from one's own notes, made by rule."""

from recollect.evaluation.synthetic.folder import require_new_folder, write_questions
from recollect.evaluation.synthetic.generation import STRATA, generate_questions
from recollect.evaluation.synthetic.tokens import exact_tokens

__all__ = ["STRATA", "exact_tokens", "generate_questions", "require_new_folder", "write_questions"]
