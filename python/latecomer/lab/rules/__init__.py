"""Files of rules: which algorithm serves which calls (docs/rules.md)."""

from __future__ import annotations

from .explain import Explained, Question, explain
from .file import RuleError, RulesFile, in_words, read

__all__ = ["Explained", "Question", "RuleError", "RulesFile", "explain", "in_words", "read"]
