"""How much is done for an answer: every limit of the search, once, with its reason.

None of these numbers makes an answer wrong: they say how long to go on, how closely to look, and when to turn to
something else. Numbers that belong to an algorithm as such (tolerances of interior point steps and the like) stand in
its module.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Effort:
    """Limits of the certified search, to be passed as ``cobic.solve(problem, effort=Effort(...))``.

    A *program* is a small linear program over some features, or a look at the data; either takes about a millisecond
    where data are small. A *share* is a part of the features, unless said otherwise.

    Examples
    --------
    >>> import cobic
    >>> from cobic.certified.effort import Effort
    >>> problem = cobic.datasets.make_expression(n_features=200, seed=1).problem()
    >>> cobic.solve(problem, effort=Effort(rounds=2, patience=500)).consistent
    True
    """

    # The whole search.
    programs: int = 100_000  # of a search, unless `max_programs` says otherwise: some minutes
    soft_programs: int = 4000  # the same with soft margins, where nearly all are looks at the data
    rounds: int = 8  # of raising selections and lowering the bound, each with twice the programs of the one before
    rounds_of_few: int = 20  # where features are few, whose questions are always settled
    few_features: int = 40  # up to here neither patience nor rounds end a search before time or programs do
    patience: int = 8000  # programs without news, or as many as it took to the last news, if these are more
    news: float = 0.5  # of the gap, by which it must have fallen to be news: single units would go on for ever
    notable: float = 1e-3  # of the bound: so much is news in any case
    units: int = 4  # by which a bound is lowered in the first round before selections are looked for again
    wide_gap: float = 0.01  # of the bound: with such a gap trees are worth their time far below the bound, too
    few_classes: int = 6  # boxes of counts of more classes have no end

    # Where a search begins.
    starting_programs: int = 8  # of the fixed point, which needs about three
    starting_cells: int = 1 << 22  # its program holds all comparisons and features: beyond, it is not worth its memory
    starting_moves: int = 100  # of a repair; from there linear programs lead on faster than single moves do
    one_of: int = 8  # features are in a part: its bound costs little beside the whole, and its multipliers are close
    least_features_of_part: int = 1 << 13  # the best multipliers of fewer features say little about the others
    features_per_sample_of_part: int = 8  # with fewer nothing is consistent
    most_samples_of_part: int = 2000  # with more, features are too few for each of them

    # The way to the bound.
    approaches: int = 30  # relaxations on the way; about ten are enough, unless data are odd
    approach_step: float = 2e-3  # of a total, by which to go up at first; doubled each time
    rough: float = 5e-4  # share: where a bound falls by less at a time, it is time to look for selections
    rough_of_part: float = 1e-2  # share by which the bound of a part differs from that of the whole anyway
    boost: float = 0.5  # of the margin that is missing: with many classes counts are a guess, and steps too short
    same_side: float = 0.5  # of the margin at the other end, if two totals in turn are on one side (the Illinois rule)
    apart: float = 0.1  # of the way between two totals: the next one is not closer to either
    many_totals: int = 10  # are not told apart at first
    closer: float = 0.25  # what is left of the closeness the next time
    close: float = 2e-5  # share, of the bound at the end: a fifth of the gap of 10⁻⁴ at which a search may end

    # Counts of a total that are promising.
    recent_cuts: int = 30  # multipliers that are asked; older ones are far from where the search is
    reach: int = 8  # one part in so many of a total is how far counts may move at a time
    first_reach: int = 30  # the same where features are many, on the way to the bound: shares of a part are rough
    short_reach: int = 200  # and later: it stays inside a window
    refinements: int = 4  # relaxations to find the best counts of a total
    worth_another: float = 0.1  # of a margin: by so much the next counts must promise to be better

    # Selections.
    vain_time: float = 0.5  # of the time limit: without a selection by then, one of far fewer features is looked for
    descents: tuple[int, ...] = (1, 5, 25, 125)  # features below the bound, where the first selection is looked for
    vain_roundings: int = 2  # on the way to the bound, which may take long; then selections wait
    repair_moves: int = 60  # of features after rounding
    many_comparisons: int = 5000  # with more, a repair is better than dives
    neighbours: int = 4  # counts of a total that are tried where the gap is wide
    dived_counts: int = 8  # counts of the bound that are dived into in turn
    # Features that are dived into and exchanged, in turn: most data need few, some need many.
    dive_windows: tuple[int, ...] = (400, 1000, 160)
    dive_window_of_many: int = 4000  # the same where features are many: there is more to mend after rounding
    dive_cells: int = 1 << 22  # effects of features on comparisons in a dive: 32 MB
    dive_chance: float = 0.5  # of an effect, by which features are drawn: a dive that fails is tried again otherwise
    evening: int = 8  # one part in so many of the smaller count is how far neighbours are apart
    giant: float = 4.0  # typical effects: what a larger feature does cannot be mended by exchanges of others
    exchanged: int = 400  # features: all pairs of them are judged at once
    cooling_programs: int = 50  # that exchanges are charged as, when it comes to giving up

    # Exchanges of features: simulated cooling.
    hot: tuple[float, float] = (0.7, 2.5)  # typical effects; the start is drawn: no one temperature suits all data
    cold: float = 0.2  # typical effects, where it ends: then only improvements are made
    temperatures: int = 20  # a slow cooling finds more than many fast ones
    exchanges: int = 60  # at each temperature, with the least effort
    most_exchanges: int = 120  # the same with the most
    tenure: int = 2  # exchanges for which a feature that has moved stays, up to twice that
    swap_reach: float = 8.0  # times τ, at which e⁻⁸ of the energy of the worst margin is left: less does not matter

    # Trees over features.
    tree_programs: int = 100  # for a dive or a tree at first; doubled from round to round
    tree_setup: int = 15  # programs that setting up a tree is charged as
    tree_cells: int = 1 << 23  # the dense part of the data that a tree gathers: 64 MB
    most_open_counts: int = 60  # left open by multipliers: with more, trees would not settle them all
    giants_deep: int = 4  # giants that are decided one after the other
    active: int = 250  # features in the program at the root; the others are far from changing their values
    activated: int = 100  # features that come in at a time
    activated_in_need: int = 1000  # the same where without them the counts cannot be reached
    rows_per_multiplier: int = 2  # comparisons in the program at first: those next to tight become tight in a tree
    more_rows: int = 4  # besides, where multipliers are few
    least_resisting: int = 3  # trees that may fail before the others are left alone
    resisting: int = 3  # or one in so many of them, if that is more
    fruitless: int = 4  # branching candidates in a row that are no better than the best
    thorough_depth: int = 2  # down to here all candidates are tried: a bad choice there doubles the tree

    # Boxes of counts.
    few_nodes: int = 400  # to see whether the multipliers at hand exclude a total
    many_nodes: int = 20_000  # of a tree of boxes: a larger one makes no proof that anybody would read
    many_features: int = 20_000  # beyond, multipliers give back the memory that nobody is likely to ask for
    small_parts: int = 4096  # of a class: so many steps lead from all of its features to none
    far: float = 0.02  # share by which counts have moved: then not the last multipliers are the best to begin with
    latest_cuts: int = 10  # but one of these

    # Small programs over the features around the thresholds.
    around: int = 60  # features on each side of a threshold at first
    incoming: int = 120  # features on the wrong side that come in at a time
    programs_at_counts: int = 12  # until no feature is on the wrong side
    programs_at_first: int = 4  # the same before the bundle method was tried, where features are many
    near: float = 2e-3  # share: counts that differ by more have other multipliers
    not_far: float = 2e-2  # the same where features are few
    program_cells: int = 1 << 21  # up to here a dozen programs take less time than the bundle method does
    program_rows: int = 1500  # comparisons: with more the simplex method is slower than the bundle method

    # The bundle method.
    looks: int = 300  # at one box: what has not come down by then will not
    close_value: float = 1e-3  # of the value: close enough
    part_of_a_feature: float = 0.25  # of what one feature does: also close enough
    firm: float = 0.3  # of the value: a mixture with a smaller margin is hard to round
    sharp: float = 0.5  # of the value that excludes some counts: multipliers further off exclude little else
    sharpening: int = 40  # looks spent on that once the counts are excluded
    window_progress: float = 0.1  # of the distance that is left: what a window must bring
    looks_at_everything: int = 4  # where it does not
    level: float = 0.5  # between model and best value, where the next look aims; 0.3 to 0.7 do about as well
    accuracy: float = 0.02  # of the distance between model and best value: small programs need not be any closer
    most_pieces: int = 100  # of the model: the small programs take time with the cube of them
    likely: int = 3  # times the pieces: comparisons that the small programs hold at first, where that is less than half
    idle: int = 12  # looks after which a piece without a weight is forgotten

    # Pieces of classes, with soft margins.
    piece_bytes: int = 1 << 28  # for all pieces
    fewest_class_pieces: int = 8  # for each class, whatever the memory
    most_class_pieces: int = 60  # for each class, as above
    idle_of_class: int = 10  # looks after which a piece without a weight is forgotten
    lowest_level: float = 0.1  # where a look aims as long as the model proves right
    nearly_right: float = 0.1  # of the distance: up to here it does
    few_moves: float = 0.01  # share: more features are not moved to make a piece of another box one of this box

    # Looks at the data.
    complete_window_cells: int = 1 << 22  # 32 MB: a window may hold all features
    window_cells: int = 1 << 20  # 8 MB: a window stays in the cache from one look to the next
    most_window_cells: int = 1 << 26  # 512 MB: of larger data all looks are at everything
    window_part: int = 12  # one feature in so many: with fewer in a window most looks would still be at everything
    window_edge: float = 0.05  # of a window: a threshold nearer to its edge is not well inside
    least_window: int = 1 << 11  # features: with fewer in it most would not stay outside
    gathered_cells: int = 1 << 23  # 64 MB: the most that is gathered for dives where samples are too many
    few_changes: float = 0.02  # share: up to here sums are brought up to date rather than computed anew
    some_changes: float = 0.2  # the same by a pass, which reads of dense data only the features that change
    few_changes_of_window: float = 0.2  # the same inside a window, whose features lie in memory one after the other

    # The search with soft margins.
    promising: float = 1.0  # features below the best selection up to which it is worth going on from a rounded one
    share_of_gap: float = 0.1  # closer to what it could be need a bound not come
    near_at_root: float = 0.03  # of the gap at which to stop: the root's mixture gives the first selection
    mixed: float = 0.05  # features: counts that are this far from their mean, on the average, are different ones
    no_share: float = 1e-3  # of a feature: less is what the small programs leave of none
    narrower: float = 0.5  # what is left of a box after it was tightened: it is looked at again before it is split
    least_progress: float = 0.01  # of the distance to the best selection in so many looks
    looks_at_a_time: int = 16  # then the mixture is rounded: the bound may not need to come any closer

    # Panels.
    panel_told: float = 0.99  # of the distance between panel and bound: a smaller step is not told, there are thousands
    panel_close: float = 1e-4  # of the value: what a relaxation leaves is then far below what rounding costs
    panel_vain_looks: int = 3  # times `looks_at_a_time` without so much gain: the bound will not come any closer
    panel_tree_rows: int = 5000  # comparisons: with more, each program of a tree takes seconds
    panel_window_part: int = 200  # one feature in so many: few are chosen, those with the best scores
    panel_tree_cells: int = 1 << 23  # of features at hand and samples: 64 MB; with more, what is left is not split
    panel_arena_bytes: int = 1 << 28  # of values and programs of trees that are not at work: dozens of usual ones
    # Panels times comparisons: up to here all panels that lack two features are looked at, which takes as long as a few
    # programs do; where nothing is decided yet, up to some seconds of it.
    panel_looked_at: int = 1 << 23
    panel_first_looked_at: int = 1 << 31
    panel_dives: int = 128  # one node in so many is dived from: a dive takes about as long as a hundred nodes
    panel_poor: float = 0.1  # of the tail margin: a rounded panel further below is not worth exchanges
    panel_swapped: int = 100  # features of each class that exchanges try, beside those of the panel
    panel_heats: tuple[float, ...] = (0.3, 0.1, 0.05, 0.03)  # typical effects, at which exchanges are judged in turn
    panel_kick: int = 4  # exchanges at random before the next climb; with two or eight of them less is found
    panel_kicks: int = 50  # climbs in vain, one after the other, before exchanges are given up for a while
    panel_first_kicks: int = 8  # the same for a panel that is new: small problems are solved by then
    panel_most: int = 500  # of the best exchanges of which pairs are judged
    panel_fewest: int = 16  # the same where comparisons are many
    panel_pair_cells: int = 1 << 20  # of these and comparisons: a millisecond
    panel_swap_cells: int = 1 << 24  # of features that are exchanged and samples or comparisons: 128 MB

    # What is asked beside a search.
    settled_counts: int = 200  # counts at which features may be settled: with more, no feature is settled at all
    settling_cuts: int = 20  # multipliers that are asked about each of them
    beta_steps: int = 12  # of Dinkelbach's method, which takes about five
    beta_halvings: int = 40  # of the interval of β


DEFAULT = Effort()
