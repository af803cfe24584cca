"""A model as a repository of the Hugging Face Hub: its upload and its download.

Only the files of a checkpoint are uploaded or downloaded, by name. What is downloaded is validated
when it is loaded (`train.checkpoint`), and nothing is unpickled. The settings of huggingface_hub
apply, such as HF_ENDPOINT, HF_HOME and HF_TOKEN.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from huggingface_hub import HfApi, ModelHubMixin, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from icaps.data.atomic import updated_folder
from icaps.data.download import NETWORK_SETTING, offline
from icaps.errors import CheckpointError, HubError
from icaps.interpret.capsule_labels import FOLDER as VIEW_FOLDER
from icaps.sharing.readme import README
from icaps.train.checkpoint import load_checkpoint
from icaps.train.checkpoint_files import (
    CAPSULES,
    CLASSES,
    CONFIG,
    EDITS,
    EXAMPLES,
    HISTORY,
    METRICS,
    TEXTS,
    VOCABULARY,
    WEIGHTS,
    check_writable,
)

MODEL_FILES = (
    CONFIG,
    VOCABULARY,
    CLASSES,
    WEIGHTS,
    METRICS,
    HISTORY,
    CAPSULES,
    EDITS,
    TEXTS,
)
SHOW_TEXTS = (EXAMPLES, f"{VIEW_FOLDER}/*")  # patterns of files that show texts of the data
_DENIED = (401, 403)


class HubRepository(ModelHubMixin):
    """The folder of a model, with its README, as huggingface_hub's mixin uploads it.

    Loading is `download` in place of the mixin's `from_pretrained`, which would take the settings
    in config.json for arguments.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _save_pretrained(self, save_directory: Path) -> None:
        _copy(self.folder, save_directory, (README, *MODEL_FILES, *SHOW_TEXTS))


def full_name(repo_id: str, token: str | None) -> str:
    """The name with its owner, who is that of the token for a name without one.

    Raises:
        HubError: The Hub cannot be reached, or does not know the token.
    """
    if "/" in repo_id:
        return repo_id
    with _typed_errors(repo_id, "uploaded"):
        return f"{HfApi(token=token).whoami()['name']}/{repo_id}"


def push(model: HubRepository, repo_id: str, **options: Any) -> str:
    """Uploads a model in one commit, which also deletes files of an earlier model.

    Args:
        model: Its folder has a README.
        repo_id: "owner/name".
        **options: Of `ModelHubMixin.push_to_hub`.

    Returns:
        The address of the commit.

    Raises:
        HubError: The Hub cannot be reached, or refuses the upload; ICAPS_NETWORK forbids it.
    """
    with _typed_errors(repo_id, "uploaded"):
        commit = model.push_to_hub(repo_id, delete_patterns=[*MODEL_FILES, *SHOW_TEXTS], **options)
    return str(commit)


def copy_views(source: Path, target: Path) -> None:
    """Copies the files that show texts of the data from one folder of a model to another.

    Raises:
        CheckpointError: A file cannot be read.
    """
    try:
        _copy(source, target, SHOW_TEXTS)
    except OSError as error:
        raise CheckpointError(f"The files of {source} cannot be copied: {error}") from error


def _copy(source: Path, target: Path, patterns: Sequence[str]) -> None:
    for pattern in patterns:
        for path in source.glob(pattern):
            copy = target / path.relative_to(source)
            copy.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, copy)


def download(repo_id: str, **options: Any) -> Path:
    """The folder of a model of the Hub, in the cache of huggingface_hub.

    Args:
        repo_id: "owner/name".
        **options: Of `snapshot_download`.

    Raises:
        HubError: The repository does not exist, is not that of an iCaps model, or the Hub cannot
            be reached; ICAPS_NETWORK forbids it.
    """
    files = [*MODEL_FILES, *SHOW_TEXTS]
    with _typed_errors(repo_id, "downloaded", cached=options.get("local_files_only", False)):
        folder = Path(snapshot_download(repo_id, allow_patterns=files, **options))
    if not (folder / CONFIG).is_file():
        raise HubError(f"{repo_id} has no {CONFIG}, so it is not the repository of an iCaps model.")
    return folder


def pull(repo_id: str, folder: str | Path, **options: Any) -> None:
    """Downloads a model of the Hub to a folder of its own, in place of an earlier model in it.

    Args:
        repo_id: "owner/name".
        folder: New, empty, or that of a model.
        **options: Of `snapshot_download`.

    Raises:
        HubError: As in `download`.
        CheckpointError: The model is damaged, or the folder cannot be written or holds something
            else.
    """
    folder = Path(folder)
    check_writable(folder)
    source = download(repo_id, **options)
    load_checkpoint(source)  # before anything is replaced
    with updated_folder(folder, [*MODEL_FILES, EXAMPLES, VIEW_FOLDER]) as scratch:
        _copy(source, scratch, (*MODEL_FILES, *SHOW_TEXTS))


@contextmanager
def _typed_errors(repo_id: str, action: str, cached: bool = False) -> Iterator[None]:
    """Errors of huggingface_hub as HubError, with what to do.

    Args:
        repo_id: The repository.
        action: "uploaded" or "downloaded".
        cached: Whether only the cache is read.
    """
    if offline() and not cached:
        raise HubError(f"{repo_id} is not {action}: {NETWORK_SETTING} forbids it.")
    try:
        yield
    except HFValidationError as error:
        raise HubError(
            f"There is no folder {repo_id}, and it is no name of a repository, such as owner/name."
        ) from error
    except GatedRepoError as error:
        raise HubError(
            f"{repo_id} is only for those who accepted its terms: accept them on its page, and "
            "give a token."
        ) from error
    except RevisionNotFoundError as error:
        raise HubError(f"{repo_id} has no such branch, tag or commit.") from error
    except RepositoryNotFoundError as error:
        raise HubError(
            f"There is neither a folder nor a repository {repo_id}, or it is private: check the "
            "name, and give a token."
        ) from error
    except HfHubHTTPError as error:
        status, reason = error.response.status_code, error.response.reason_phrase
        advice = ""
        if status in _DENIED:
            advice = " Give a token that may do this, or log in by `hf auth login`."
        raise HubError(
            f"{repo_id} cannot be {action}: the Hub answers {status} {reason}.{advice}"
        ) from error
    except (LocalEntryNotFoundError, OfflineModeIsEnabled) as error:
        reason = "it is not in the cache" if cached else "the Hub cannot be reached"
        raise HubError(
            f"{repo_id} cannot be {action}: {reason}. Try again with a connection."
        ) from error
    except httpx2.HTTPError as error:
        raise HubError(
            f"{repo_id} cannot be {action}: there is no connection to the Hub ({error})."
        ) from error
    except (OSError, ValueError, RuntimeError) as error:  # the disk, huggingface_hub, its hf_xet
        raise HubError(f"{repo_id} cannot be {action}: {error}") from error
