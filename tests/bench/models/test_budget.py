from itertools import count

from sumpool.bench.models.budget import Budget, afford


def nobody(name: str) -> bool:
    return name == ""


def test_what_is_left() -> None:
    ticks = count(100, 7)
    budget = Budget(10, lambda: float(next(ticks)))
    assert (budget.left(), budget.left()) == (3, -4)


def test_the_cheap_goes_before_the_costly() -> None:
    assert afford({"a": 4.0, "b": 1.0, "c": 2.0}, 9, nobody) == {"b", "c"}  # three repetitions of each


def test_what_goes_first_is_not_weighed() -> None:
    assert afford({"a": 3.0, "b": 1.0}, 9, lambda name: name == "a") == {"a"}


def test_what_costs_too_much_makes_room_for_what_does_not() -> None:
    assert afford({"a": 4.0, "b": 1.0}, 9, lambda name: name == "a") == {"b"}


def test_nothing_is_known_of_what_was_not_tried() -> None:
    assert afford({"a": 0.0, "b": 1.0}, -5, nobody) == {"a"}
