"""What the docstrings of both histogram boosters say alike"""

PARAMETERS = """\
learning_rate : float, default=0.1
        η: the part of each tree's step that is taken.
    max_iter : int, default=100
        The most rounds.
    max_leaf_nodes : int or None, default=31
        The most leaves of a tree.
    max_depth : int or None, default=None
        The most splits between the root and a leaf.
    min_samples_leaf : int, default=20
        The fewest rows of a leaf. While splits are searched, rows are estimated by their share of
        the curvature; the leaves that result are counted.
    l2_regularization : float, default=0.0
        λ: the penalty on large leaf values.
    max_features : float, default=1.0
        The share of columns, drawn anew for every node, among which a split is searched.
    max_bins : int, default=255
        The most values of a column to tell apart; one more bin is for missing values.
    categorical_features : array-like of {bool, int, str} or "from_dtype", default="from_dtype"
        Columns without an order: a mask, numbers or names; by default those of a data frame whose
        type says so. At most `max_bins` categories each; unknown ones count as missing.
    monotonic_cst : array-like of int or dict, default=None
        1, 0 or −1 for each column (or by name): the prediction may only rise, do anything, fall.
    interaction_cst : {"pairwise", "no_interactions"} or sequence of sets of int, default=None
        Sets of columns that may meet in a branch of a tree.
    warm_start : bool, default=False
        Add rounds to the model of the last fit.
    early_stopping : "auto" or bool, default="auto"
        Stop when the score no longer rises; "auto" means for more than 10,000 rows, or
        when `fit` is given validation rows.
    scoring : str, callable or None, default="loss"
        What should rise; "loss" is the negative loss.
    validation_fraction : int, float or None, default=0.1
        Rows (or their share) kept for the score; None scores the training rows.
    n_iter_no_change : int, default=10
        How many rounds without a better score to wait.
    tol : float, default=1e-7
        What counts as better.
    verbose : int, default=0
        Above 0, write a line per round on standard output.
    random_state : int, RandomState instance or None, default=None
        Chooses validation rows, the rows that thresholds come from, and columns."""
GROWTH = """\
min_split_gain : float, default=0.0
        γ: the penalty per leaf. A split must lower the objective by more.
    growth : {"leaf", "depth"}, default="leaf"
        Split next the leaf that gains most, or the highest one.
    keep_candidates : bool, default=False
        Let the states that a `Trace` sees hold the gain of every possible split of every node."""
ATTRIBUTES = """\
do_early_stopping_ : bool
        Whether scores decided when to stop.
    n_iter_ : int
        Rounds.
    n_trees_per_iteration_ : int
        Trees a round.
    train_score_, validation_score_ : ndarray of shape (n_iter_ + 1,)
        Scores before the first round and after each, if stopping early.
    is_categorical_ : ndarray of bool of shape (n_features,) or None
        Which columns are categorical.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any."""
