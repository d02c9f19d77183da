# An analyst with a folder of mixed files: a summary of each, then sections, a topic, one digest, a page, Markdown.
has() { cat > shown; grep -q -- "$1" shown; }  # reads all, so that no command meets a closed pipe
mkdir -p reports/mail
sumpool sample RFC2587 > reports/schema.txt
cat > reports/archive.md <<'TEXT'
# The archive in 2026

The archive moved to its new building in January, and the reading room was closed for four weeks.

## Costs

The move cost 14,200 euros, of which the city paid half. The rest came from the reserve, which now holds 3,100 euros.

## Readers

Twelve hundred readers came in the year, a third more than in the year before, since the new room has forty places.

## Plans

In the next year all maps will be photographed, so that readers see them without touching the paper.
TEXT
python -c "import pypandoc; pypandoc.convert_file('reports/archive.md', 'docx', outputfile='reports/archive.docx')"
python -c "import pypandoc; pypandoc.convert_file('reports/archive.md', 'html', outputfile='reports/archive.html')"
printf 'From: ann@example.org\nSubject: New cards\n\nAll readers need new cards for the new building. The old ones do not open its doors.\n' > reports/mail/cards.eml

sumpool summarize reports --fast --out-dir summaries
test "$(find summaries -name '*.txt' | wc -l)" = 5
sumpool summarize reports --fast --out-dir summaries 2> notes
test "$(grep -c 'summarize  1/' notes)" = 0  # nothing is done twice
sumpool summarize reports/archive.docx --fast --sections --key-points 2 | has 'Costs.*14,200 euros'
sumpool summarize reports/archive.html --fast --focus 'How many readers came?' --length 1s | has 'Twelve hundred'
sumpool summarize reports/archive.md reports/mail/cards.eml --fast --together | has '\[cards.eml\]'
sumpool summarize reports/archive.md --fast --explain archive-page.html > /dev/null
grep -q 'reading room' archive-page.html
sumpool convert reports/archive.docx --out archive.md
grep -q '^## Costs' archive.md
(sumpool summarize nothing.pdf 2>&1 || true) | has '^error: nothing.pdf must be a file that can be read'
