"""What suites measure: tables and figures of the papers, counted complexity, and BART of transformers beside ours."""
