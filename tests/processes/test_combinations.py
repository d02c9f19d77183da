from tests.processes.combinations import combinations, variants
from tests.test_recipes import families


def test_every_variant_is_part_of_a_combination() -> None:
    combined = {variant for combination in combinations() for variant in combination.variants}
    assert combined == set(variants(*families()))


def test_combinations_are_few() -> None:
    assert len(combinations()) <= 12
