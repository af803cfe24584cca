"""Edits of a trained model: words, K-grams and capsules that no longer count for a class.

The account (`interpret.account`) is exact, so a term of it can be left out exactly, without
training: the norm of a class is then the sum of the other terms, at least 0. Attention and routing
remain as they were, so the shares of all other words remain, too. An edit is stored with the model,
and undone by leaving it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from icaps.config import ModelConfig
from icaps.errors import ConfigError
from icaps.inference import Reading
from icaps.interpret.account import BatchAccount
from icaps.model import Activity, CapsuleLayer, CapsuleOutput, HierarchicalAttention, ICapsNet
from icaps.text.batch import UNK, TokenBatch
from icaps.text.tokenizer import words_of
from icaps.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from typing_extensions import Self

MAX_NAME_LENGTH = 60  # in characters

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Edit:
    """A word, a K-gram or a primary capsule that is neutral for one class or for all.

    Attributes:
        name: By which it is shown and undone.
        words: The word, or the words of the K-gram, as the tokenizer splits them; empty if it is a
            capsule.
        capsule: Number of the capsule; None if it is a word or a K-gram.
        target: Name of the class; None for all classes.
    """

    name: str
    words: tuple[str, ...] = ()
    capsule: int | None = None
    target: str | None = None

    def __str__(self) -> str:
        """What is neutral for which class, in words."""
        what = (
            f"capsule {self.capsule}" if self.capsule is not None else f"“{' '.join(self.words)}”"
        )
        return f"{what} is neutral for {self.target or 'all classes'}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self) | {"words": list(self.words)}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """The edit of `to_dict`; raises TypeError or ValueError for anything else."""
        edit = cls(**content | {"words": tuple(content["words"])})
        strings = (edit.name, *edit.words, *([] if edit.target is None else [edit.target]))
        if not all(isinstance(text, str) for text in strings):
            raise TypeError("names and words of edits must be strings")
        if (type(edit.capsule) is int) == bool(edit.words):
            raise ValueError("an edit is of words or of a capsule")
        return edit


def neutral_words(words: str, target: str | None = None, name: str = "") -> Edit:
    """The edit that makes a word, or a K-gram of several words, neutral.

    Args:
        words: As in a text.
        target: Name of the class; None for all classes.
        name: The name of the edit; by default the words.

    Raises:
        ConfigError: There is no word, or the name is too long.
    """
    split = tuple(words_of(words))
    if not split:
        raise ConfigError(f"{words!r} has no word; give one as it stands in texts.")
    return _named(Edit(name or " ".join(split), words=split, target=target))


def neutral_capsule(capsule: int, target: str | None = None, name: str = "") -> Edit:
    """The edit that makes a primary capsule neutral; ConfigError if the name is too long."""
    return _named(Edit(name or f"capsule {capsule}", capsule=capsule, target=target))


def _named(edit: Edit) -> Edit:
    if len(edit.name) > MAX_NAME_LENGTH or not edit.name.isprintable():
        raise ConfigError(
            f"The name {edit.name!r} cannot be used; give at most {MAX_NAME_LENGTH} printable "
            "characters."
        )
    return edit


class Edits:
    """The edits of a model, ready to be applied to what its network reads.

    Args:
        edits: The edits; their names differ.
        config: Of the network.
        vocabulary: Of the network.
        classes: Names of its classes.

    Raises:
        ConfigError: A word is not in the vocabulary, a class or capsule does not exist, two names
            are equal, or the network has an activation, so that words have no exact shares.
    """

    def __init__(
        self,
        edits: Sequence[Edit],
        config: ModelConfig,
        vocabulary: Vocabulary,
        classes: Sequence[str],
    ) -> None:
        if config.activation != "none":
            raise ConfigError(
                "The network has an activation, so words have no exact shares that could be left "
                "out; train one without."
            )
        self.edits = tuple(edits)
        names = [edit.name for edit in self.edits]
        if doubled := {name for name in names if names.count(name) > 1}:
            raise ConfigError(f"There is an edit {min(doubled)!r} already; give another name.")
        self._sequences: list[tuple[tuple[int, ...], Mask]] = []
        self._capsules = np.zeros((config.num_capsules, len(classes)), dtype=bool)
        for edit in self.edits:
            columns = _columns(edit, classes)
            if edit.capsule is None:
                self._sequences.append((_ids(edit, vocabulary), columns))
            elif not 0 <= edit.capsule < config.num_capsules:
                raise ConfigError(
                    f"There is no capsule {edit.capsule}; they are 0 to {config.num_capsules - 1}."
                )
            else:
                self._capsules[edit.capsule] |= columns
        if self._capsules.all(0).any():
            raise ConfigError("All capsules of a class would be neutral; leave at least one.")

        neutral = np.array([columns for _, columns in self._sequences], dtype=bool)
        distinct, groups = np.unique(neutral.reshape(-1, len(classes)), axis=1, return_inverse=True)
        # Classes for which the same words are neutral are a group.
        self._of_groups = distinct if len(neutral) else distinct[:, :0]  # (sequences, G)
        self.groups: NDArray[np.int64] = groups.reshape(len(classes))  # of each class (J,)

    @cached_property
    def capsules(self) -> Mask | None:
        """Whether a capsule counts for a class (I, J); None if all do."""
        return ~self._capsules if self._capsules.any() else None

    def words(self, tokens: TokenBatch) -> Mask | None:
        """Whether each word of a batch counts for each class (T, J); None if all do.

        A K-gram lies within a sentence.
        """
        neutral = self._neutral(tokens)
        return ~neutral[:, self.groups] if neutral.any() else None

    def removed(self, network: ICapsNet, batch: Reading) -> Tensor:
        """What neutral words add to the primary capsules of B texts, by groups (B, G, I, d_p).

        Classes for which the same words are neutral are a group; `groups` has that of each class.
        G is 0 if no word is neutral for any class.
        """
        tokens, neutral = batch.tokens, self._neutral(batch.tokens)
        primary = batch.activity.primary_capsules
        removed = primary.new_zeros(len(batch), neutral.shape[1], *primary.shape[1:])
        affected = ~tokens.blank & _texts_with(tokens, neutral)
        if not affected.any():
            return removed
        some = _select(tokens, batch.activity, affected)
        words = some.tokens.words_per_text.tolist()
        values = torch.from_numpy(BatchAccount(network, some).word_values).split(words)
        masks = torch.from_numpy(self._neutral(some.tokens)).to(primary).split(words)
        with torch.inference_mode():
            sums = [
                torch.einsum("mg,mpi->gip", mask, of_text)  # (G, I, d_p)
                for mask, of_text in zip(masks, values, strict=True)
            ]
            scaled = scale_removed(network, torch.stack(sums), some.activity)
        removed[torch.from_numpy(affected)] = scaled
        return removed

    def _neutral(self, tokens: TokenBatch) -> Mask:
        """Whether each word of a batch is neutral for each group of classes (T, G)."""
        neutral = np.zeros((len(tokens.ids), self._of_groups.shape[1]), dtype=bool)
        for (sequence, _), of_groups in zip(self._sequences, self._of_groups, strict=False):
            neutral[tokens.covered(sequence)] |= of_groups
        return neutral

    def apply(self, network: ICapsNet, tokens: TokenBatch, activity: Activity) -> Activity:
        """The output of the network with the class norms that result from the edits.

        Args:
            network: The one with these edits, in eval mode.
            tokens: The texts.
            activity: Its output for them, on the CPU.
        """
        affected = ~tokens.blank  # (texts,)
        if self.capsules is None:
            affected &= _texts_with(tokens, self._neutral(tokens))
        some = _select(tokens, activity, affected)
        with torch.inference_mode():
            removed = self.removed(network, some)
            edited = edited_norms(network.capsules, some.activity, self, removed)
            norms = activity.class_norms.clone()
            norms[torch.from_numpy(affected)] = edited
        return activity._replace(class_norms=norms)


def scale_removed(network: ICapsNet, sums: Tensor, activity: Activity) -> Tensor:
    """From sums of what words add before the squash of primary capsules to after it.

    Args:
        network: With or without sentences.
        sums: (B, G, I, d_p), of long texts before W~^v_i.
        activity: Of the B texts.
    """
    if isinstance(network.attention, HierarchicalAttention):
        value_weight = network.attention.sentence_value_weight.to(sums)
        sums = torch.einsum("bgid,ipd->bgip", sums, value_weight)
    return sums * activity.squash_scale[:, None, :, None]


def edited_norms(
    layer: CapsuleLayer,
    routed: CapsuleOutput | Activity,
    edits: Edits,
    removed: Tensor,
    classes: Sequence[int] | None = None,
) -> Tensor:
    """The class norms (n, J) that result from edits, for any set of capsules that was routed.

    As `interpret.account` splits them: routing, and the direction and length of a class capsule,
    are those of all words and capsules; only then are terms left out. They can be differentiated.

    Args:
        layer: The capsule layer.
        routed: Its output for n inputs: each text as often as there are sets of capsules.
        edits: Of the network.
        removed: (B, G, I, d_p), of the B texts; n is a multiple of B.
        classes: The classes whose norms are wanted; None for all.
    """
    numbers = list(range(layer.capsule_bias.shape[1]) if classes is None else classes)
    outputs = routed.class_capsules[:, numbers]  # cc_j (n, J, d_c)
    routing = routed.routing[:, :, numbers]  # (n, I, J)
    lengths = torch.linalg.vector_norm(outputs, dim=2)  # (n, J)
    inverse = torch.where(lengths > 0, 1 / lengths.clamp(min=1e-30), 0)
    votes = routed.agreement[:, :, numbers] * inverse[:, None]  # v u_j . (W_j pc_i + b_ij)
    whole = (routing * votes).sum(1)  # ||s_j|| (n, J)
    if edits.capsules is not None:
        routing = routing * torch.from_numpy(edits.capsules[:, numbers]).to(routing)
    units, weight = outputs * inverse[:, :, None], layer.capsule_weight[numbers].to(outputs)
    along = layer.vote_scale * torch.einsum("njc,jcp->njp", units, weight)
    sets = len(votes) // max(len(removed), 1)
    votes, along = (values.unflatten(0, (len(removed), sets)) for values in (votes, along))
    groups = edits.groups[numbers]
    without = torch.zeros_like(votes)
    for group in range(removed.shape[1]):
        of_group = torch.from_numpy(np.flatnonzero(groups == group)).to(votes.device)
        added = torch.einsum("bsjp,bip->bsij", along[:, :, of_group], removed[:, group])
        without = without.index_add(3, of_group, added)
    total = (routing * (votes - without).flatten(0, 1)).sum(1)
    norms: Tensor = (total * whole / (1 + whole.square())).clamp(min=0)
    return norms


def _texts_with(tokens: TokenBatch, neutral: Mask) -> Mask:
    """Whether each text (texts,) has a word that is neutral for any of the groups (T, G)."""
    of_text = np.repeat(np.arange(len(tokens)), tokens.words_per_text)
    words = np.flatnonzero(neutral.any(axis=1))
    return np.asarray(np.bincount(of_text[words], minlength=len(tokens)) > 0)


def _select(tokens: TokenBatch, activity: Activity, mask: Mask) -> Reading:
    """The texts where `mask` (texts,) is true."""
    sentences = np.repeat(mask, tokens.sentences_per_text)
    words = np.repeat(sentences, tokens.words_per_sentence)
    rows = [mask] * (len(activity) - 2) + [words, sentences]
    selected = (values[torch.from_numpy(row)] for values, row in zip(activity, rows, strict=True))
    return Reading(tokens.select(mask), Activity(*selected), np.flatnonzero(mask))


def _columns(edit: Edit, classes: Sequence[str]) -> Mask:
    """The classes for which an edit holds (J,)."""
    if edit.target is None:
        return np.ones(len(classes), dtype=bool)
    if edit.target not in classes:
        raise ConfigError(
            f"The model has no class {edit.target!r}; choose {', '.join(classes[:20])}."
        )
    return np.array([name == edit.target for name in classes])


def _ids(edit: Edit, vocabulary: Vocabulary) -> tuple[int, ...]:
    """The ids of the words of an edit."""
    ids = tuple(map(vocabulary.id, edit.words))
    if UNK in ids:
        word = edit.words[ids.index(UNK)]
        raise ConfigError(f"The model does not know the word {word!r}, so it has no share.")
    return ids
