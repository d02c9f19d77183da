"""Training of the sentence ranker of a run, after its model."""

from pathlib import Path

from sumpool.data.report import DataReport
from sumpool.data.shards import Texts
from sumpool.documents.document import Document
from sumpool.evaluation.rouge import RougeTokenizer
from sumpool.io.atomic import counted, disk_errors, temporary_path
from sumpool.io.manifest import Manifest
from sumpool.io.replaceable import replace_listed_file
from sumpool.progress import Check, Progress, Report
from sumpool.ranking.fit import Fitting, fit_choice, fit_ranker, labelled_example, with_abstract
from sumpool.ranking.ranker import FILE
from sumpool.recipe.schema import Recipe
from sumpool.runs.run_folder import spread
from sumpool.text.sentences import SentenceSplitter


def train_ranker(run: Path, recipe: Recipe, prepared: Path, *, report: Report, check: Check) -> None:
    """Fit the ranker of a run and save it in the run folder, unless it has one or the recipe has none.

    Args:
        run: The run folder, with a trained model.
        recipe: The recipe.
        prepared: Folder of the prepared data.
        report: Called with progress.
        check: Called between documents; an exception stops the work, which then begins anew.

    Raises:
        DataError: If the prepared data is damaged.
        CheckpointError: If the run folder is damaged.
        ResourceError: If the disk is full or fails.
    """
    if not recipe.select.enabled or FILE in Manifest.read(run).files:
        return
    # 1. Fit the ranker to sentences of training documents.
    config, fitting = recipe.select, Fitting().with_trees(recipe.select.trees)
    splitter, tokenize = SentenceSplitter(DataReport.load(run).language), RougeTokenizer(stemmer=True).tokenize
    texts = Texts(prepared, "train")
    chosen = spread(len(texts), config.documents)
    examples = []
    documents = 0
    for number, example in enumerate(map(texts.__getitem__, chosen), 1):
        check()
        document = Document(example.id, example.document)
        labelled = labelled_example(document, example.summary, splitter, tokenize)
        if len(labelled.features):
            documents += 1
            examples.append(labelled.sample(fitting.sentences, (fitting.seed, number)))
            if documents % 2:  # every second document once more with its summary
                document = with_abstract(document, example.summary)
                labelled = labelled_example(document, example.summary, splitter, tokenize)
                examples.append(labelled.sample(fitting.sentences, (fitting.seed, number)))
        report(Progress("rank: sentences", number, len(chosen)))
    if not examples:
        report(Progress("rank", note="no sentence ranker: the training documents have no sentences of prose"))
        return

    def on_tree(trees: int) -> None:
        check()
        report(Progress("rank: trees", trees, config.trees))

    ranker = fit_ranker(examples, fitting, on_tree)
    # 2. Train its choice of sentences from marks of readers.
    if config.marks:
        from sumpool.ranking.marks import marked_examples  # with the readers of documents

        marked = [example for example in marked_examples(config.marks) if len(example.features)]
        ranker = fit_choice(ranker, marked, fitting) if marked else ranker
        report(Progress("rank", note=f"{config.marks}: {len(marked):,} documents with marks"))
    # 3. Save it as a file of the run.
    path = run / FILE
    with disk_errors(path):
        content = ranker.to_bytes()
        with counted(path, len(content)):
            temporary_path(path).write_bytes(content)
        replace_listed_file(path, {"ranker_documents": documents})
    report(Progress("rank", note=f"{path.name}: fitted to {documents:,} documents"))
