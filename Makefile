PYTHON ?= python
BOOK = book/_build

.PHONY: book page book-test

# The site, in book/_build/html. Needs Node; a warning is an error.
book: book/node_modules
	$(PYTHON) -m sphinx -W --keep-going -j 2 -q -b html book $(BOOK)/html

# One page alone, fast: make page PAGE=perceptron. Links to other pages stay open.
page: book/node_modules
	$(PYTHON) -m sphinx -q -b html -D root_doc=$(PAGE) -D include_patterns=$(PAGE).md \
		-d $(BOOK)/pages/$(PAGE)/doctrees book $(BOOK)/pages/$(PAGE)

# The built site in a real browser (Chromium on the path).
book-test:
	$(PYTHON) -m pytest -q -n 2 --dist worksteal tests/book tests/test_cards.py -m book

book/node_modules: book/package-lock.json
	npm ci --prefix book --no-audit --no-fund
	touch $@
