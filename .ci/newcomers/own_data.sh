# A researcher with a CSV file: a recipe from it, an adapted model, and three systems in one table with paired tests.
# articles.jsonl: documents with summaries
python - <<'CODE'
import csv, json

rows = [json.loads(line) for line in open("articles.jsonl")]
with open("papers.csv", "w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["ID", "Title", "Text", "Abstract"])
    table.writerows((row["id"], row["id"], row["document"], row["summary"]) for row in rows)
CODE
sumpool init papers.csv
sumpool train papers.yaml --dry-run
sumpool train papers.yaml --set train.steps=4 --set train.validate_every=4
python - <<'CODE'
import json

with open("first.txt", "w") as file:
    for line in open("prepared/papers/test/texts.jsonl"):
        file.write(" ".join(json.loads(line)["document"].split()[:50]) + "\n")
CODE
sumpool evaluate runs/papers shipped first.txt --as adapted --as shipped --as first --against shipped \
    --set summarize.fast=true --latex table.tex --csv table.csv --html table.html
for system in adapted shipped first LEAD-60; do grep -q "^$system &" table.tex; done
sumpool use runs/papers
sumpool summarize papers.csv --fast --limit 1 2> notes
grep -q 'model: runs/papers' notes
sumpool use shipped
