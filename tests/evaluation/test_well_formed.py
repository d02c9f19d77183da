from sumpool.evaluation.well_formed import measure_form
from sumpool.text.form import FAULTS

DOCUMENT = """Birds sing in the town, as they do in all the towns of the world that are not too large for birds. They
fly over it. Nobody can hear them. It is too loud."""


def test_faults_of_a_summary_are_counted() -> None:
    form = measure_form(["Birds sing in the town,\n", "1. Town (and.\n", "nobody can hear them."], DOCUMENT)
    counts = {"no capital": 1, "no end": 2, "unbalanced": 1, "heading": 1, "list mark": 1}
    assert form.faults == dict.fromkeys(FAULTS, 0) | counts
    assert (form.sentences, form.flawed) == (3, 1)


def test_predecessor_is_that_of_the_document() -> None:
    assert measure_form(["Nobody can hear them.", "It is too loud."], DOCUMENT).flawed == 0
    form = measure_form(["Birds sing in the town.", "It is too loud."], f"Birds sing in the town. {DOCUMENT}")
    assert form.faults["no predecessor"] == 1
    assert measure_form(["It is too loud."], None).faults["no predecessor"] == 1


def test_empty_summary_has_no_faults() -> None:
    form = measure_form(["", "\n"], DOCUMENT)
    assert (form.sentences, form.flawed, sum(form.faults.values())) == (0, 0, 0)


def test_language_is_that_of_the_document() -> None:
    german = (
        "Die V\u00f6gel singen in der Stadt, wie sie es in allen Orten tun, die ihnen nicht zu laut sind. "
        "Die Leute h\u00f6ren sie nicht, weil es in den Stra\u00dfen zu laut ist und weil sie keine Zeit haben."
    )
    assert measure_form(["Sie fliegen \u00fcber die Stadt."], german).faults["no predecessor"] == 1
