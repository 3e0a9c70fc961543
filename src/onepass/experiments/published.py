"""What others have measured: the PAMO paper's tables, mean and standard deviation in per cent; CRFsuite; MSTParser.

J. Jorge, R. Paredes: Passive-Aggressive online learning with nonlinear embeddings. Pattern Recognition 79 (2018), 162-171.
"""

from __future__ import annotations

Published = dict[str, dict[str, tuple[float, float]]]


def _table(names: str, rows: str) -> Published:
    """{row: {data: (mean, deviation)}} from lines of a row's name and its figures."""
    table: Published = {}
    for line in rows.strip().splitlines():
        row, *figures = line.split()
        numbers = list(map(float, figures))
        table[row] = dict(zip(names.split(), zip(numbers[::2], numbers[1::2], strict=True), strict=True))
    return table


# Table 1: test error after one pass.
TEST_ERROR = _table(
    "svmguide1  cbcl        ijcnn1      webspam",
    """
    PA-I    25.19 7.12  3.75 1.31   7.85 0.33   7.94 0.72
    PA-II   25.84 4.50  3.43 0.80   8.07 0.39   8.27 0.55
    CW      22.92 2.34  3.09 0.15  11.20 2.09  10.62 0.79
    AROW    20.99 0.09  2.88 0.09   8.22 0.08   7.28 0.01
    SCW-I   21.08 0.20  2.73 0.09   6.44 0.08   6.58 0.02
    SCW-II  21.29 0.18  2.64 0.06   6.93 0.15   6.59 0.04
    BSGD     5.73 0.01  2.14 0.04   4.36 0.00   5.27 0.00
    FOGD     7.68 0.01  6.47 0.03  11.48 0.07   5.68 0.00
    NOGD     5.75 0.01  6.38 0.02  11.99 0.06  14.82 0.00
    I-LOL    6.54 0.02  5.34 0.01   4.10 0.00   5.56 0.00
    LOL      5.26 0.01  3.68 0.01   3.15 0.00   4.95 0.00
    PAMO-I   4.13 0.59  1.99 0.09   2.77 0.32   2.19 0.47
    PAMO-II  4.35 0.67  1.79 0.08   2.53 0.23   1.82 0.09
    """,
)

# Table 2: mistake rate along one pass.
MISTAKE_RATE = _table(
    "a9a         w7a        w8a        ijcnn1",
    """
    BPA-S   21.1  0.20  2.99 0.06  2.84 0.03  11.33 0.04
    BOGD    27.9  0.20  3.49 0.16  3.43 0.08  11.67 0.13
    FOGD    17.4  0.10  2.75 0.03  2.43 0.03   9.06 0.05
    NOGD    17.4  0.20  2.98 0.01  2.92 0.03   9.55 0.01
    PAMO-I  16.99 0.07  1.72 0.04  1.47 0.02   2.87 0.05
    PAMO-II 17.11 0.10  1.76 0.04  1.53 0.01   3.09 0.11
    """,
)

# After one pass and after ten: the best of CRFsuite's online rules, mean of three orders (accuracy, or F1 of names); MSTParser 0.5.1,
# projective, on every fourth sentence of EWT, and on ALKSNIS, where one pass was not measured (UAS).
PEERS: dict[str, tuple[str, tuple[float | None, float | None]]] = {
    "ewt": ("CRFsuite", (93.405, 94.871)),
    "wikigold": ("CRFsuite", (48.557, 54.526)),
    "ewt-trees": ("MSTParser, a quarter of EWT", (79.397, 81.796)),
    "wnut17": ("CRFsuite", (20.621, 17.989)),
    "alksnis-trees": ("MSTParser", (None, 66.534)),
}

# Networks along one pass, error in per cent, the best of the rates that were tried: a plain program from before ours were built.
PROTOTYPE = {
    "MLP, SGD": {"elec2": 9.2, "ijcnn1": 2.1, "covtype": 10.0, "mnist": 6.7},
    "MLP, AdaGrad": {"elec2": 11.1, "ijcnn1": 2.2, "covtype": 11.4, "mnist": 5.5},
    "MLP, Adam": {"elec2": 15.8, "ijcnn1": 2.0, "covtype": 13.4, "mnist": 5.7},
    "MLP, PA": {"elec2": 7.6, "ijcnn1": 2.45, "covtype": 9.5, "mnist": 6.7},
    "HBP, 5 layers": {"elec2": 9.25, "ijcnn1": 2.06, "covtype": 9.5, "mnist": 6.7},
}

# D. Sahoo, Q. Pham, J. Lu, S. Hoi: Online deep learning: learning deep neural networks on the fly. IJCAI 2018, 2660-2666. Cumulative
# error in per cent: Table 4, and by the number of layers on Higgs.
_ODL_SETS = ("Higgs", "Susy", "i-mnist", "Syn8", "CD1", "CD2")
ODL = {
    "BP-2": dict(zip(_ODL_SETS, (29.38, 20.29, 1.98, 39.73, 41.51, 37.23), strict=True)),
    "BP-4": dict(zip(_ODL_SETS, (26.88, 20.14, 1.93, 39.19, 41.13, 37.05), strict=True)),
    "BP-20": dict(zip(_ODL_SETS, (29.27, 20.61, 2.62, 46.37, 48.37, 48.69), strict=True)),
    "HBP-20": dict(zip(_ODL_SETS, (26.18, 20.03, 1.56, 38.96, 40.82, 36.72), strict=True)),
}
DEPTHS = {
    "backpropagation": {2: 29.38, 4: 26.88, 12: 26.96, 16: 27.31, 20: 29.27, 30: 47.67},
    "hedge backpropagation": {12: 26.21, 16: 26.18, 20: 26.18, 30: 26.23},
}
