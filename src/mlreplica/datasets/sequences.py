"""Real sequences, small enough to be part of the package: counts by year, and a tagged text"""

import numpy as np

EARTHQUAKES = """
13 14 8 10 16 26 32 27 18 32 36 24 22 23 22 18 25 21 21 14 8 11 14 23 18 17 19 20 22 19 13 26 13
14 22 24 21 22 26 21 23 24 27 41 31 27 35 26 28 36 39 21 17 22 17 19 15 34 10 15 22 18 15 20 15 22
19 16 30 27 29 23 20 16 21 21 25 16 18 15 18 14 10 15 8 15 6 11 8 7 18 16 13 12 13 20 15 16 12 18
15 16 13 15 16 11 11
"""

# Lewis Carroll: Alice's Adventures in Wonderland (1865), chapter I, beginning.
ALICE = """
Alice/NOUN was/VERB beginning/VERB to/PART get/VERB very/ADV tired/ADJ of/ADP sitting/VERB by/ADP her/DET sister/NOUN on/ADP the/DET bank/NOUN ,/. and/CONJ of/ADP having/VERB nothing/PRON to/PART do/VERB ./.
Once/ADV or/CONJ twice/ADV she/PRON had/VERB peeped/VERB into/ADP the/DET book/NOUN her/DET sister/NOUN was/VERB reading/VERB ,/. but/CONJ it/PRON had/VERB no/DET pictures/NOUN or/CONJ conversations/NOUN in/ADP it/PRON ./.
So/ADV she/PRON was/VERB considering/VERB in/ADP her/DET own/ADJ mind/NOUN ,/. as/ADV well/ADV as/CONJ she/PRON could/VERB ,/. whether/CONJ the/DET pleasure/NOUN of/ADP making/VERB a/DET daisy-chain/NOUN would/VERB be/VERB worth/ADJ the/DET trouble/NOUN of/ADP getting/VERB up/ADV and/CONJ picking/VERB the/DET daisies/NOUN ./.
Suddenly/ADV a/DET white/ADJ rabbit/NOUN with/ADP pink/ADJ eyes/NOUN ran/VERB close/ADV by/ADP her/PRON ./.
There/ADV was/VERB nothing/PRON so/ADV very/ADV remarkable/ADJ in/ADP that/PRON ./.
Alice/NOUN did/VERB not/ADV think/VERB it/PRON so/ADV very/ADV much/ADV out/ADV of/ADP the/DET way/NOUN to/PART hear/VERB the/DET rabbit/NOUN say/VERB to/ADP itself/PRON ,/. Oh/X dear/X !/.
The/DET rabbit/NOUN actually/ADV took/VERB a/DET watch/NOUN out/ADV of/ADP its/DET waistcoat-pocket/NOUN ,/. and/CONJ looked/VERB at/ADP it/PRON ,/. and/CONJ then/ADV hurried/VERB on/ADV ./.
Alice/NOUN started/VERB to/ADP her/DET feet/NOUN ./.
She/PRON had/VERB never/ADV before/ADV seen/VERB a/DET rabbit/NOUN with/ADP either/CONJ a/DET waistcoat-pocket/NOUN ,/. or/CONJ a/DET watch/NOUN to/PART take/VERB out/ADV of/ADP it/PRON ./.
Burning/VERB with/ADP curiosity/NOUN ,/. she/PRON ran/VERB across/ADP the/DET field/NOUN after/ADP it/PRON ./.
She/PRON was/VERB just/ADV in/ADP time/NOUN to/PART see/VERB it/PRON pop/VERB down/ADP a/DET large/ADJ rabbit-hole/NOUN under/ADP the/DET hedge/NOUN ./.
In/ADP another/DET moment/NOUN down/ADV went/VERB Alice/NOUN after/ADP it/PRON ,/. never/ADV once/ADV considering/VERB how/ADV in/ADP the/DET world/NOUN she/PRON was/VERB to/PART get/VERB out/ADV again/ADV ./.
The/DET rabbit-hole/NOUN went/VERB straight/ADV on/ADV like/ADP a/DET tunnel/NOUN for/ADP some/DET way/NOUN ,/. and/CONJ then/ADV dipped/VERB suddenly/ADV down/ADV ./.
Alice/NOUN had/VERB not/ADV a/DET moment/NOUN to/PART think/VERB about/ADP stopping/VERB herself/PRON ./.
She/PRON found/VERB herself/PRON falling/VERB down/ADP a/DET very/ADV deep/ADJ well/NOUN ./.
Either/CONJ the/DET well/NOUN was/VERB very/ADV deep/ADJ ,/. or/CONJ she/PRON fell/VERB very/ADV slowly/ADV ./.
She/PRON had/VERB plenty/NOUN of/ADP time/NOUN to/PART look/VERB about/ADP her/PRON and/CONJ to/PART wonder/VERB what/PRON was/VERB going/VERB to/PART happen/VERB next/ADV ./.
First/ADV ,/. she/PRON tried/VERB to/PART look/VERB down/ADV and/CONJ make/VERB out/ADV what/PRON she/PRON was/VERB coming/VERB to/ADP ,/. but/CONJ it/PRON was/VERB too/ADV dark/ADJ to/PART see/VERB anything/PRON ./.
Then/ADV she/PRON looked/VERB at/ADP the/DET sides/NOUN of/ADP the/DET well/NOUN ./.
They/PRON were/VERB filled/VERB with/ADP cupboards/NOUN and/CONJ book-shelves/NOUN ./.
Here/ADV and/CONJ there/ADV she/PRON saw/VERB maps/NOUN and/CONJ pictures/NOUN hung/VERB upon/ADP pegs/NOUN ./.
She/PRON took/VERB down/ADV a/DET jar/NOUN from/ADP one/DET of/ADP the/DET shelves/NOUN as/CONJ she/PRON passed/VERB ./.
It/PRON was/VERB labelled/VERB ,/. but/CONJ to/ADP her/DET great/ADJ disappointment/NOUN it/PRON was/VERB empty/ADJ ./.
She/PRON did/VERB not/ADV like/VERB to/PART drop/VERB the/DET jar/NOUN for/ADP fear/NOUN of/ADP killing/VERB somebody/PRON ./.
Down/ADV ,/. down/ADV ,/. down/ADV ./.
Would/VERB the/DET fall/NOUN never/ADV come/VERB to/ADP an/DET end/NOUN ?/.
"""  # noqa: E501


def load_earthquakes():
    """Earthquakes of magnitude 7 or more in the world, in each year from 1900 to 2006.

    Returns
    -------
    counts : ndarray of shape (107, 1)

    References
    ----------
    U.S. Geological Survey; a standard example since Zucchini, MacDonald: Hidden Markov Models for
    Time Series (2009).

    Examples
    --------
    >>> load_earthquakes().sum()
    np.int64(2072)
    """
    return np.array(EARTHQUAKES.split(), dtype=np.int64)[:, None]


def load_alice():
    """Sentences from the first chapter of Alice in Wonderland, each word with its part of speech.

    Returns
    -------
    words, tags : list of lists of str
        Tags: ADJ, ADP, ADV, CONJ, DET, NOUN, PART, PRON, VERB, X and "." for punctuation.

    Examples
    --------
    >>> words, tags = load_alice()
    >>> list(zip(words[7], tags[7]))[:2]
    [('Alice', 'NOUN'), ('started', 'VERB')]
    """
    rows = [[token.rpartition("/") for token in line.split()] for line in ALICE.strip().split("\n")]
    words = [[word for word, _, _ in row] for row in rows]
    return words, [[tag for _, _, tag in row] for row in rows]
