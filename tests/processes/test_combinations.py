from tests.processes.combinations import combinations, variants
from tests.test_recipes import families


def test_few_combinations_have_every_variant() -> None:
    combined = {variant for names in combinations() for variant in names.split("+")}
    assert combined == set(variants(*families()))
    assert len(combinations()) <= 12
