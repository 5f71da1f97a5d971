"""What a misspelt word may have meant, of words that lie in a dictionary."""

from __future__ import annotations

from collections import Counter

from recollect.stores import tokens
from recollect.stores.suggestions import similar_words, unknown_words, vocabulary


class Held:
    """Words as notes spell them, and in how many places."""

    def __init__(self, **words: int) -> None:
        self.words = words
        stems = Counter[str]()
        for word, places in words.items():
            stems[tokens.stem(word)] += places
        self.vocabulary = vocabulary(stems.items())

    def holds(self, plain: str) -> bool:
        return tokens.stem(plain) in map(tokens.stem, self.words)

    def finds(self, word: str) -> bool:
        return self.holds(word)

    def spellings(self, stem: str) -> Counter[str]:
        return Counter({word: places for word, places in self.words.items() if tokens.stem(word) == stem})


def test_words_that_may_be_misspelt() -> None:
    words = ["kubernetes", "Kuberntes", "tea", "2024", "green tea", "x" * 65, "Kuberntes"]
    assert unknown_words(Held(kubernetes=1), words) == ["Kuberntes"]


def test_the_nearest_come_first_then_the_most_frequent() -> None:
    held = Held(planet=1, plane=9, plant=5, plank=1)
    assert similar_words(held, held.vocabulary, ["plang", "planf"]) == {
        "plang": ("plane", "plant", "plank"),
        "planf": ("plane", "plant", "plank"),
    }


def test_near_stems_are_not_enough() -> None:
    held = Held(medical=3)
    assert similar_words(held, held.vocabulary, ["medicine"]) == {}


def test_two_edits_are_allowed_in_long_words() -> None:
    held = Held(kubernetes=1, tea=1)
    assert similar_words(held, held.vocabulary, ["kubrnetis", "teh", "tree"]) == {"kubrnetis": ("kubernetes",)}
