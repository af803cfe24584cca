"""The network as an ONNX graph: scores and the account of several texts, from word ids.

A batch has B texts of at most M sentences of at most N words, and n words to look up; I, J, K, d_p
and d_c are as in ARCHITECTURE.md, and equations are the paper's and those of `interpret.account`.

Inputs:

    word_ids (n,)       ids of words, in any order, each once or several times
    cells (B, M, N)     the place in `word_ids` of each word of each sentence; -1 beyond its end.
                        M is 1 for a network that reads a text as one sentence.
    counts (B, M, N, J) whether each word counts for each class; only of a model with neutral words

Outputs:

    scores (B, J)       norms of class capsules; 0 for a text without a known word
    shares (B, M, N, J) what each word adds to each score; 0 in empty cells
    bias (B, J)         what is added whatever the words are: `scores` is `bias` plus the sum of
                        `shares`, or 0 where an edit of the model makes that negative

Empty cells have no weight, so a text's result is the same alone and in any batch, up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from icaps.text.batch import UNK

OPSET, IR_VERSION = 18, 9  # read by ONNX Runtime 1.15 and later
_LOWEST, _TINY = -1e30, 1e-30
_TO_END = 2**63 - 1  # of a slice

Array: TypeAlias = NDArray[Any]
Value: TypeAlias = str  # the name of an input, or of an operation's output
Operand: TypeAlias = Value | Array | np.generic | float | list[int]


@dataclass(frozen=True)
class GraphWeights:
    """A network without an activation as arrays, and the options that decide on its operations.

    With V words, of which V_t have a trained part, and U distinct vectors.

    Attributes:
        vectors: (U, fixed_dim), in steps of `VECTOR_STEP`; int8, or float32 if they are no steps.
        vector_of_word: (V,), the row of `vectors` of each word.
        trained: (V_t + 1, trained_dim), of which the last row is zeros.
        trained_of_word: (V,), the row of `trained` of each word.
        word_matrix: (d_e, K (I + d_p I)), from an embedding, its first part in steps, to attention
            scores and values by tap.
        value_bias: (d_p, I).
        sentence_queries: (d_p, I), and `sentence_values` (I, d_p, d_p); None for a network that
            reads a text as one sentence.
        capsule_weight: (J, d_c, d_p).
        capsule_bias: (I, J, d_c).
        capsule_mask: (I,), 0 for capsules that are switched off, else 1.
        capsules_count: (I, J), 0 for capsules that are neutral for a class, else 1; None if all
            count.
        taps: K.
        routing_iterations, vote_scale, squash_primary: As in the network.
        independent: Whether the routing is independent.
        has_edits: Whether a word or a capsule is neutral for a class.
        has_neutral_words: Whether `counts` is an input.
    """

    vectors: Array
    vector_of_word: Array
    trained: Array
    trained_of_word: Array
    word_matrix: Array
    value_bias: Array
    sentence_queries: Array | None
    sentence_values: Array | None
    capsule_weight: Array
    capsule_bias: Array
    capsule_mask: Array
    capsules_count: Array | None
    taps: int
    routing_iterations: int
    vote_scale: float
    squash_primary: bool
    independent: bool
    has_edits: bool
    has_neutral_words: bool


class Routed(NamedTuple):
    """What the last iteration of the routing computes.

    Attributes:
        routing: beta_ij (B, J, 1, I); (1, J, 1, I) if there is one iteration.
        sums: s_j (B, J, 1, d_c), class capsules before their squash.
        lengths: ||s_j|| (B, J, 1, 1).
        factors: ||s_j|| / (1 + ||s_j||^2) (B, J, 1, 1), those of the squash.
    """

    routing: Value
    sums: Value
    lengths: Value
    factors: Value


class GraphBuilder:
    """Adds operations one after another."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def add(self, operator: str, *inputs: Operand, **options: Any) -> Value:
        """The output of an operation; inputs that are numbers or arrays become constants."""
        (output,) = self._add(operator, inputs, 1, options)
        return output

    def split(self, value: Value, sizes: list[int], axis: int) -> list[Value]:
        """Parts of a value, of these sizes along an axis."""
        return self._add("Split", (value, sizes), len(sizes), {"axis": axis})

    def slice(self, value: Value, start: int, cut: int, axis: int) -> Value:
        """A value along an axis from `start` on, without its last `cut` places."""
        return self.add("Slice", value, [start], [-cut if cut else _TO_END], [axis])

    def sum(self, values: list[Value]) -> Value:
        """The sum of one or more values of equal shapes."""
        return self.add("Sum", *values) if len(values) > 1 else values[0]

    def output(self, value: Value, name: str) -> None:
        """Makes a value an output of the graph, with a name."""
        self.nodes.append(helper.make_node("Identity", [value], [name]))

    def _add(
        self, operator: str, inputs: Sequence[Operand], outputs: int, options: dict[str, Any]
    ) -> list[Value]:
        names = [value if isinstance(value, str) else self._constant(value) for value in inputs]
        results = [f"{operator.lower()}_{len(self.nodes)}_{n}" for n in range(outputs)]
        self.nodes.append(helper.make_node(operator, names, results, **options))
        return results

    def _constant(self, value: Array | np.generic | float | list[int]) -> Value:
        array = np.asarray(value, np.float32 if isinstance(value, float) else None)
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name


def network_graph(weights: GraphWeights) -> onnx.ModelProto:
    """The model whose inputs and outputs are described above."""
    graph = GraphBuilder()
    taps = _look_up(graph, weights)
    embedded, alpha, filled = _attend_to_words(graph, weights, taps)
    pooled, attention = _attend_to_sentences(graph, weights, embedded, alpha, filled)
    scale = None
    if weights.squash_primary:
        _, scale = _squash_factor(graph, pooled, axis=2)  # g_i (B, 1, 1, I)
        pooled = graph.add("Mul", pooled, scale)
    routed = _route(graph, weights, pooled)
    known = _have_known_words(graph)
    directions, bias = _directions(graph, weights, routed, scale, known)
    shares = _shares(graph, weights, taps, attention, directions)
    if weights.has_neutral_words:
        shares = graph.add("Where", "counts", shares, 0.0)
    if weights.has_edits:
        sums = graph.add("ReduceSum", shares, [1, 2], keepdims=0)  # (B, J)
        scores = graph.add("Relu", graph.add("Add", sums, bias))
    else:
        norms = graph.add("Mul", routed.lengths, routed.factors)  # ||cc_j|| (B, J, 1, 1)
        scores = graph.add("Squeeze", graph.add("Mul", norms, known), [2, 3])
    for value, name in ((scores, "scores"), (shares, "shares"), (bias, "bias")):
        graph.output(value, name)
    return _model(graph, weights)


def _look_up(graph: GraphBuilder, weights: GraphWeights) -> list[Value]:
    """Rows of the lookup table of each word by tap: K of (n + 1, I + d_p I); the last is zeros."""
    ids = "word_ids"
    vectors = graph.add("Gather", weights.vectors, graph.add("Gather", weights.vector_of_word, ids))
    fixed = graph.add("Cast", vectors, to=TensorProto.FLOAT)
    rows = graph.add("Gather", weights.trained_of_word, ids)
    trained = graph.add("Gather", weights.trained, rows)
    embeddings = graph.add("Concat", fixed, trained, axis=1)  # e_n (n, d_e)
    table = graph.add("MatMul", embeddings, weights.word_matrix)
    table = graph.add("Pad", table, [0, 0, 1, 0])
    width = weights.word_matrix.shape[1] // weights.taps
    return graph.split(table, [width] * weights.taps, axis=1)


def _attend_to_words(
    graph: GraphBuilder, weights: GraphWeights, taps: list[Value]
) -> tuple[Value, Value, Value]:
    """Attention to the words of each sentence, equations 1 to 5 (10 to 12).

    Returns sentence embeddings (B, M, d_p, I), alpha (B, M, N, 1, I), 0 in empty cells, and
    whether a sentence has a word (B, M, 1, 1), 1 or 0.
    """
    size, heads = weights.value_bias.shape
    last = weights.taps - 1
    left = last // 2
    wide = graph.add("Pad", "cells", [0, 0, left, 0, 0, last - left], np.int64(-1))
    windows = [
        graph.add("Gather", rows, graph.slice(wide, tap, last - tap, axis=2))
        for tap, rows in enumerate(taps)
    ]
    sums = graph.sum(windows)  # (B, M, N, I + d_p I)
    scores, values = graph.split(sums, [heads, size * heads], axis=3)
    empty = graph.add("Unsqueeze", graph.add("Less", "cells", np.int64(0)), [3])  # (B, M, N, 1)
    alpha = _masked_softmax(graph, scores, empty, axis=2)
    alpha = graph.add("Unsqueeze", alpha, [3])  # (B, M, N, 1, I)
    values = graph.add("Reshape", values, [0, 0, 0, size, heads])
    weighted = graph.add("Mul", alpha, values)
    embedded = graph.add("ReduceSum", weighted, [2], keepdims=0)  # (B, M, d_p, I)
    present = graph.add("Cast", graph.add("Not", empty), to=TensorProto.FLOAT)
    filled = graph.add("ReduceMax", present, [2], keepdims=1)  # (B, M, 1, 1)
    bias = graph.add("Mul", filled, weights.value_bias)  # once, as weights add up to 1
    return graph.add("Add", embedded, bias), alpha, filled


def _attend_to_sentences(
    graph: GraphBuilder, weights: GraphWeights, embedded: Value, alpha: Value, filled: Value
) -> tuple[Value, Value]:
    """Attention to the sentences of each text, equations 13 to 15, if the network has it.

    Returns primary capsules (B, 1, d_p, I) and rho alpha (B, M, N, 1, I), the attention of a text
    to its words.
    """
    if weights.sentence_queries is None or weights.sentence_values is None:
        return embedded, alpha
    products = graph.add("Mul", embedded, weights.sentence_queries)
    scores = graph.add("ReduceSum", products, [2], keepdims=1)  # (B, M, 1, I)
    empty = graph.add("Less", filled, 0.5)
    rho = _masked_softmax(graph, scores, empty, axis=1)
    pooled = graph.add("ReduceSum", graph.add("Mul", rho, embedded), [1], keepdims=1)
    by_head = graph.add("Transpose", pooled, perm=[1, 3, 0, 2])  # (1, I, B, d_p)
    joined = graph.add("MatMul", by_head, weights.sentence_values.transpose(0, 2, 1))
    primary = graph.add("Transpose", joined, perm=[2, 0, 3, 1])  # (B, 1, d_p, I)
    return primary, graph.add("Mul", alpha, graph.add("Unsqueeze", rho, [2]))


def _route(graph: GraphBuilder, weights: GraphWeights, primary: Value) -> Routed:
    """Dynamic routing (Algorithm 1) of primary capsules (B, 1, d_p, I)."""
    classes, heads = len(weights.capsule_weight), weights.value_bias.shape[1]
    by_capsule = graph.add("Transpose", primary, perm=[0, 1, 3, 2])  # (B, 1, I, d_p)
    products = graph.add("MatMul", by_capsule, weights.capsule_weight.transpose(0, 2, 1))
    votes = graph.add("Add", products, weights.capsule_bias.transpose(1, 0, 2))  # (B, J, I, d_c)
    votes_of_class = graph.add("Transpose", votes, perm=[0, 1, 3, 2])  # (B, J, d_c, I)

    def squash_sums(routing: Operand) -> Routed:  # lines 5 and 6
        masked = graph.add("Mul", routing, weights.capsule_mask)
        sums = graph.add("Mul", graph.add("MatMul", masked, votes), weights.vote_scale)
        return Routed(masked, sums, *_squash_factor(graph, sums, axis=3))

    routed = squash_sums(np.full((1, classes, 1, heads), 1 / classes, np.float32))
    agreements: list[Value] = []
    for _ in range(weights.routing_iterations - 1):
        outputs = graph.add("Mul", routed.sums, routed.factors)  # cc_j (B, J, 1, d_c)
        agreements.append(graph.add("MatMul", outputs, votes_of_class))  # (B, J, 1, I)
        logits = graph.sum(agreements)  # line 7
        if weights.independent:
            against_all = np.float32(np.log(max(classes - 1, 1)))
            routing = graph.add("Sigmoid", graph.add("Sub", logits, against_all))
        else:
            routing = graph.add("Softmax", logits, axis=1)  # eq. 9
        routed = squash_sums(routing)
    return routed


def _have_known_words(graph: GraphBuilder) -> Value:
    """1 for a text with a known word, else 0 (B, 1, 1, 1)."""
    known = graph.add("Not", graph.add("Equal", "word_ids", np.int64(UNK)))
    known = graph.add("Pad", graph.add("Cast", known, to=TensorProto.FLOAT), [0, 1])
    of_cells = graph.add("Gather", known, "cells")  # (B, M, N)
    return graph.add("Unsqueeze", graph.add("ReduceMax", of_cells, [1, 2], keepdims=1), [3])


def _directions(
    graph: GraphBuilder, weights: GraphWeights, routed: Routed, scale: Value | None, known: Value
) -> tuple[Value, Value]:
    """How far a class norm grows along each primary capsule before its squash, and the biases.

    Returns (B, J, d_p, I), for long texts along the sum of sentence embeddings, and (B, J).
    """
    units = graph.add("Div", routed.sums, graph.add("Max", routed.lengths, _TINY))  # u_j
    gain = graph.add("Mul", graph.add("Mul", routed.factors, known), weights.vote_scale)
    passed = graph.add("Mul", routed.routing, gain)  # (B, J, 1, I)
    if weights.capsules_count is not None:
        passed = graph.add("Mul", passed, weights.capsules_count.T[:, None])
    products = graph.add("MatMul", units, weights.capsule_bias.transpose(1, 2, 0))  # (B, J, 1, I)
    of_votes = graph.add("ReduceSum", graph.add("Mul", products, passed), [2, 3], keepdims=0)
    if scale is not None:
        passed = graph.add("Mul", passed, scale)
    along = graph.add("MatMul", units, weights.capsule_weight)  # W_j^T u_j (B, J, 1, d_p)
    directions = graph.add("Mul", graph.add("Transpose", along, perm=[0, 1, 3, 2]), passed)
    if weights.sentence_values is not None:
        by_head = graph.add("Transpose", directions, perm=[0, 3, 1, 2])  # (B, I, J, d_p)
        by_head = graph.add("MatMul", by_head, weights.sentence_values)
        directions = graph.add("Transpose", by_head, perm=[0, 2, 3, 1])
    products = graph.add("Mul", directions, weights.value_bias)
    of_kernel = graph.add("ReduceSum", products, [2, 3], keepdims=0)
    return directions, graph.add("Add", of_votes, of_kernel)


def _shares(
    graph: GraphBuilder,
    weights: GraphWeights,
    taps: list[Value],
    attention: Value,
    directions: Value,
) -> Value:
    """What each word adds to each class norm (B, M, N, J)."""
    size, heads = weights.value_bias.shape
    last = weights.taps - 1
    left = last // 2
    # The window whose tap k is a word has its middle k - left places before the word.
    wide = graph.add("Pad", attention, [0, 0, last - left, 0, 0, 0, 0, left, 0, 0])
    parts = []
    for tap, rows in enumerate(taps):
        _, values = graph.split(rows, [heads, size * heads], axis=1)
        values = graph.add("Gather", values, "cells")
        values = graph.add("Reshape", values, [0, 0, 0, size, heads])
        parts.append(graph.add("Mul", values, graph.slice(wide, last - tap, tap, axis=2)))
    values = graph.add("Reshape", graph.sum(parts), [0, -1, size * heads])
    by_class = graph.add("Reshape", directions, [0, 0, -1])
    shares = graph.add("MatMul", values, graph.add("Transpose", by_class, perm=[0, 2, 1]))
    classes = np.array([len(weights.capsule_weight)])
    return graph.add(
        "Reshape", shares, graph.add("Concat", graph.add("Shape", "cells"), classes, axis=0)
    )


def _masked_softmax(graph: GraphBuilder, scores: Value, empty: Value, axis: int) -> Value:
    """A softmax over the places that are not empty; 0 in those that are."""
    weights = graph.add("Softmax", graph.add("Where", empty, _LOWEST, scores), axis=axis)
    return graph.add("Where", empty, 0.0, weights)


def _squash_factor(graph: GraphBuilder, vectors: Value, axis: int) -> tuple[Value, Value]:
    """The lengths of vectors along an axis, and the factors of their squash (eq. 6)."""
    lengths = graph.add("ReduceL2", vectors, [axis], keepdims=1)
    squares = graph.add("Mul", lengths, lengths)
    return lengths, graph.add("Div", lengths, graph.add("Add", squares, 1.0))


def _model(graph: GraphBuilder, weights: GraphWeights) -> onnx.ModelProto:
    """The model of a graph, checked."""
    classes = len(weights.capsule_weight)
    batch = ["texts", "sentences", "positions"]
    value, float_, int_ = helper.make_tensor_value_info, TensorProto.FLOAT, TensorProto.INT64
    inputs = [value("word_ids", int_, ["words"]), value("cells", int_, batch)]
    if weights.has_neutral_words:
        inputs.append(value("counts", TensorProto.BOOL, [*batch, classes]))
    outputs = [
        value("scores", float_, ["texts", classes]),
        value("shares", float_, [*batch, classes]),
        value("bias", float_, ["texts", classes]),
    ]
    model = helper.make_model(
        helper.make_graph(
            graph.nodes, "icaps", inputs, outputs, graph.constants, doc_string=__doc__
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="icaps",
    )
    helper.set_model_props(
        model, {"words": str(len(weights.vector_of_word)), "classes": str(classes)}
    )
    onnx.checker.check_model(model)
    return model
