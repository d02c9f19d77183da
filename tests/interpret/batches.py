"""Random batches for the tests of interpretation."""

import torch

from sumpool.data.batches import Batch
from sumpool.special_tokens import EOS


def random_batch(vocab_size: int, *lengths: int) -> Batch:
    """Documents of these lengths with sentences of seven tokens; the first summary is shorter than the others."""
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    ids = torch.randint(5, vocab_size, mask.shape).masked_fill(~mask, 0)
    target = torch.randint(5, vocab_size, (len(lengths), 9))
    target[:, 8] = EOS
    target[0, 4:] = torch.tensor([EOS, 0, 0, 0, 0])
    sentences = (torch.arange(max(lengths)) // 7).expand(mask.shape)
    return Batch(ids, mask, sentences, target, tuple(map(str, lengths)))
