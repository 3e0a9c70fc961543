"""What the known data sets are: files, checksums, shapes."""

from __future__ import annotations

from typing import NamedTuple


class File(NamedTuple):
    """A file by name; `sha256` is that of the unpacked content, empty if it is not known; `address` where it is below the LIBSVM
    site, if it is there."""

    name: str
    sha256: str
    address: str | None = None


class Entry(NamedTuple):
    """A data set: how to read it, its files for training and testing, the number of features of LIBSVM text, and what is not rows."""

    format: str
    task: str
    about: str
    train: tuple[File, ...]
    test: tuple[File, ...] = ()
    features: int = 0
    objects: str = ""


LIBSVM = {
    "a9a": Entry(
        "libsvm",
        "binary",
        "Adult census incomes: 24 % earn over 50,000 dollars.",
        (File("a9a", "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906", "binary/a9a"),),
        (File("a9a.t", "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9", "binary/a9a.t"),),
        features=123,
    ),
    "w7a": Entry(
        "libsvm",
        "binary",
        "Web pages, 3 % positive. Sorted by label: shuffle before learning. w7a and its test part together are w8a.",
        (File("w7a", "bd02f445a1a2f4aaefd27d7dcc31f1f6a8521f904157f2ee7c96d1294cd26e36", "binary/w7a"),),
        (File("w7a.t", "a52edcfe9871e3b0db5d864959bf32230491ddfeca3334cfec93c1d932ea32b9", "binary/w7a.t"),),
        features=300,
    ),
    "w8a": Entry(
        "libsvm",
        "binary",
        "Web pages, 3 % positive. Sorted by label: shuffle before learning.",
        (File("w8a", "6a9fa8fd5f524303240a5db07d4b3d4a51e8b7b4b20a914105d8e3e8c81640f2", "binary/w8a"),),
        (File("w8a.t", "618929ecb01bebb841daec4cae4aa07b97832d29b08652452775598929547fde", "binary/w8a.t"),),
        features=300,
    ),
    "ijcnn1": Entry(
        "libsvm",
        "binary",
        "Firings of a combustion engine, in time order, 9.7 % positive.",
        (File("ijcnn1", "7fe291672c3fefe6a7e3c51529becd23f0e985ba05ffb8d53c9c648c1e91cc19", "binary/ijcnn1.bz2"),),
        (File("ijcnn1.t", "e7b0bbd518641980dc322746c6bc59d019d3153934e6258e48f9d8cfae2c4bb8", "binary/ijcnn1.t.bz2"),),
        features=22,
    ),
    "svmguide1": Entry(
        "libsvm",
        "binary",
        "Astroparticles, features as measured (not scaled).",
        (File("svmguide1", "2b9ab55b6236f62cee6b7739b52f9e7cb033771f39b9c22c1f1790d80ef14d7f", "binary/svmguide1"),),
        (File("svmguide1.t", "f9c2fd4c725172aeb4476fc1e2327d537f7fbc2f53f49dfd073f80efbe1ba8f7", "binary/svmguide1.t"),),
        features=4,
    ),
    "webspam": Entry(
        "libsvm",
        "binary",
        "Web pages, spam or not, as counts of bytes, rows of unit norm. 350,000 rows; its checksum is not known here.",
        (File("webspam_wc_normalized_unigram.svm", "", "binary/webspam_wc_normalized_unigram.svm.bz2"),),
        features=254,
    ),
    "pendigits": Entry(
        "libsvm",
        "multiclass",
        "Digits written with a pen, as eight points of its path.",
        (File("pendigits", "6e8a2f318a24d97d26a9c381642621dc955fed73ec44c4d417bd7afbb47ed67c", "multiclass/pendigits"),),
        (File("pendigits.t", "5ddb2f034e1c5ca8a47b8a7e78510f8a9d68015cf40a5031534c693fba9773d3", "multiclass/pendigits.t"),),
        features=16,
    ),
    "phishing": Entry(
        "libsvm",
        "binary",
        "Web sites, honest or phishing, rows of unit norm.",
        (File("phishing", "0cf66ef36604c393da9359b2e5d894a2df8aee31fd184633cefa138add2ef08a", "binary/phishing"),),
        features=68,
    ),
    "mushrooms": Entry(
        "libsvm",
        "binary",
        "Mushrooms, edible or not: linearly separable.",
        (File("mushrooms", "f39a4eb628dc61a7d43760815b061c9e497aa728ce1ad8bde57a09ef6043b538", "binary/mushrooms"),),
        features=112,
    ),
    "abalone": Entry(
        "libsvm",
        "regression",
        "The age of abalones from their size, features scaled to [-1, 1].",
        (File("abalone", "7f1f6ca7f636e684949fc3f6388fc4f7503083717f776876bbdd11098fc5378b", "regression/abalone_scale"),),
        features=8,
    ),
    "cadata": Entry(
        "libsvm",
        "regression",
        "House prices in California, in dollars, features as measured (not scaled).",
        (File("cadata", "ffefbe2e9f0af268b72f523af41ef6076b59fa842482de0c586f81d3162a4a2a", "regression/cadata"),),
        features=8,
    ),
}

OTHERS = {
    "cbcl": Entry(
        "libsvm",
        "binary",
        "Faces or not, 19 x 19 pixels, grey levels from 0 to 255: the face data of the CBCL at MIT, of which one test image of"
        " 24,045 is missing. Sorted by label: shuffle before learning.",
        (File("cbcl", "36380e2c0ee289b44cbeff2a39e26401aabf9cc0d1e6a3ad466d39c867ffe9fb"),),
        (File("cbcl.t", "57c848864436613c604b0ea900947c64ca8b0426196948133b69d9e9a4f1b7a6"),),
        features=361,
    ),
    "spambase": Entry(
        "csv",
        "binary",
        "Mail, spam or not, as word frequencies. Sorted by label: shuffle before learning.",
        (File("spambase.csv", "73152697481767e4712e97663f5bfac69e5bc65585ba2e82510f14157bca0d40"),),
    ),
    "elec2": Entry(
        "elec2",
        "binary",
        "Whether the price of electricity in New South Wales goes UP or DOWN, every half hour, in time order: real drift.",
        (File("elec2.csv", "a76d9434147db4927e071e0c052fe037b9d0cb89096d4ad64f7cc5e02f00ab03"),),
    ),
    "sea": Entry(
        "csv",
        "binary",
        "The SEA stream of Street and Kim: four concepts of 12,500 examples, 10 % noise.",
        (File("sea.csv", "2a1625ea292cb4d2b5681bfc4550c11210715730bed64c8ebe47ad21e2b6ba78"),),
    ),
    "covtype": Entry(
        "csv",
        "multiclass",
        "Forest cover, seven kinds, from maps.",
        (File("covtype.csv", "ea35ca6820fcbe0bdc6707e9ed31e11a9de84f07d88da73b511c737383c271a6"),),
    ),
    "mnist": Entry(
        "idx",
        "multiclass",
        "Handwritten digits, 28 x 28 pixels in [0, 1], float32.",
        (
            File("mnist-train-images-idx3-ubyte", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"),
            File("mnist-train-labels-idx1-ubyte", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
        ),
        (
            File("mnist-t10k-images-idx3-ubyte", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"),
            File("mnist-t10k-labels-idx1-ubyte", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
        ),
    ),
    "sms-spam": Entry(
        "tsv",
        "binary",
        "Text messages, ham or spam.",
        (File("sms-spam.tsv", "7d039a24a6083ed9ef0f806ebad56bbb976e3aeb8de05669173bfdc4996c239d"),),
        objects="texts",
    ),
}

STRUCTURED = {
    "ewt": Entry(
        "conll",
        "tagging",
        "English web text, and the part of speech of each word.",
        (File("ewt-train.conll", "06970d59466ed6780a5ceb1a7a2d6ddaf9aaab88dffb419fbddb4080a3300a20"),),
        (File("ewt-test.conll", "5f70256c1754e55fd031c2e9df734b17c188e7a92b3beec1d368824c60a823de"),),
        objects="sentences",
    ),
    "ewt-trees": Entry(
        "conll",
        "parsing",
        "English web text with parts of speech, and the head of each word and its relation to it.",
        (File("ewt-train.conll", "06970d59466ed6780a5ceb1a7a2d6ddaf9aaab88dffb419fbddb4080a3300a20"),),
        (File("ewt-test.conll", "5f70256c1754e55fd031c2e9df734b17c188e7a92b3beec1d368824c60a823de"),),
        objects="sentences",
    ),
    "alksnis-trees": Entry(
        "conll",
        "parsing",
        "Lithuanian with parts of speech, and the head of each word and its relation to it. Many arcs cross.",
        (File("alksnis-train.conll", "0da8dbd59ac4195ac9031a0171e24b91e38619dd1b425fe0fab691affefe8faa"),),
        (File("alksnis-test.conll", "d63a27bf131f21534fe8bcb31afb5734dc2a320ef62d315f2ba85ae4e7bb8873"),),
        objects="sentences",
    ),
    "wikigold": Entry(
        "conll",
        "tagging",
        "Wikipedia, and the names in it: people, places, organisations and others.",
        (File("wikigold-train.conll", "a3a15d397abe5e927d1e37c89e52e9efb636f31e2c6c99a9b2086d8d50cd5286"),),
        (File("wikigold-test.conll", "2ae603d35d9569b6a007df6cdef9b193b6156293fce715162d9f793fac0ccd80"),),
        objects="sentences",
    ),
    "wnut17": Entry(
        "conll",
        "tagging",
        "Tweets, and the names in them. Nearly all names of the test part are new: few are found.",
        (File("wnut17-train.conll", "1cf455647d19303423e31976257ef6a9e7f0afcec770a2060c07f8774ff2f4cf"),),
        (File("wnut17-test.conll", "f5bdf528f9bdba164b101b463acd164e35db4f4f6c57d7d6cc3b4b7c6ef84a20"),),
        objects="sentences",
    ),
    "mutag": Entry(
        "kelp",
        "binary",
        "Molecules as graphs; whether they damage genes.",
        (File("mutag.klp", "d282ff5098ca7e50627020712be37b593b63742732880b049d46f4061ca773c4"),),
        objects="graphs",
    ),
    "ptc": Entry(
        "graphs",
        "binary",
        "Molecules as graphs; whether they give male rats cancer. Near chance is usual.",
        (File("ptc-mr.graphs.tsv", "c5970723ae4e44310b61cb98809ae5156c53d927b62b027cc1e77d23441aa7e0"),),
        objects="graphs",
    ),
    "enzymes": Entry(
        "graphs",
        "multiclass",
        "Proteins as graphs of helices, sheets and turns; six classes of enzymes.",
        (File("enzymes.graphs.tsv", "1ed026cb6b91a165d27efd89516e62da3a411c48944e1033137fc3b77ad538ee"),),
        objects="graphs",
    ),
    "promoters": Entry(
        "promoters",
        "binary",
        "Strings of 57 bases of a bacterium; whether a gene begins behind them.",
        (File("promoters.csv", "840208d058f1f51e6900a1bd15fec01bcb7ec6b599ed7514a582489444dbb387"),),
        objects="strings",
    ),
    "questions": Entry(
        "kelp",
        "multiclass",
        "Questions as trees of their grammar; six kinds of answers.",
        (File("question-trees.klp", "f41dae8d96aaa86a5f6d32e0408b27975135ab3cd11e48212c2028ca418da33d"),),
        (File("question-trees.t.klp", "fb565f32a23abc52b9c4b942c654f0993fc8710095e2c5083f5fddd65dc4ebe6"),),
        objects="trees",
    ),
}

PARALLEL = {
    "multi30k": Entry(
        "parallel",
        "translation",
        "Captions of pictures, German and English.",
        (
            File("multi30k-train.de", "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72"),
            File("multi30k-train.en", "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6"),
        ),
        (
            File("multi30k-test_2016_flickr.de", "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16"),
            File("multi30k-test_2016_flickr.en", "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182"),
        ),
        objects="texts",
    ),
    "tatoeba": Entry(
        "parallel",
        "translation",
        "Everyday sentences, German and English, shuffled.",
        (File("tatoeba.de-en.tsv", "96098037c588c8edc461132ca97627dd94ca8b8cc0df714d322c34f36d7d0d76"),),
        objects="texts",
    ),
    "godot": Entry(
        "parallel",
        "translation",
        "Messages of a program, German and English, in its order; some are the same in both.",
        (File("godot.de-en.tsv", "36ded3e32f6e652d9b5e257de8de6d0583f22128f7192f3bf53f6f8704de067b"),),
        objects="texts",
    ),
}

FILES = LIBSVM | OTHERS | STRUCTURED | PARALLEL

# Name -> task; these ship inside scikit-learn.
INCLUDED = {
    "digits": "multiclass",
    "iris": "multiclass",
    "wine": "multiclass",
    "breast_cancer": "binary",
    "diabetes": "regression",
}
