"""What a model has of huggingface_hub's `ModelHubMixin`: saving, uploading, loading.

huggingface_hub is imported when one of these methods needs it, so a model that is read from a
folder does not wait for it.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from icaps.shipped import model_folder

if TYPE_CHECKING:
    from typing_extensions import Self

    from icaps.sharing.readme import Card


class HubMixin:
    """`save_pretrained`, `push_to_hub` and `from_pretrained`, for a class that saves and loads."""

    def save(self, folder: str | Path) -> None:
        """Writes the model to a folder."""
        raise NotImplementedError

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> Self:
        """Reads a model from a folder."""
        raise NotImplementedError

    def save_pretrained(
        self,
        save_directory: str | Path,
        *,
        card: Card | None = None,
        license: str | None = None,
        language: str | None = None,
    ) -> None:
        """Writes what `push_to_hub` uploads to a folder: that of `save`, and a README.md.

        Args:
            save_directory: The folder, as `save` takes it. A README.md in it is replaced.
            card: A `reports.model_card.ModelCard` of this model, which becomes the README. Without
                one, the README has what is known from the training.
            license: As the Hub names it, such as "mit"; None: not stated.
            language: Code of the language of the texts, such as "en"; None: not stated.

        Raises:
            CheckpointError: The folder cannot be written.
            ConfigError: The card is of another model.
        """
        from icaps.sharing.readme import write_readme

        self.save(save_directory)
        folder = Path(save_directory)
        write_readme(folder, folder.resolve().name, card, license=license, language=language)

    def push_to_hub(
        self,
        repo_id: str,
        *,
        card: Card | None = None,
        license: str | None = None,
        language: str | None = None,
        texts_from: str | Path | None = None,
        private: bool | None = None,
        token: str | None = None,
        branch: str | None = None,
        create_pr: bool | None = None,
        commit_message: str = "Upload an iCaps model",
    ) -> str:
        """Uploads the model to the Hugging Face Hub, in one commit, and returns its address.

        The repository is created if there is none. Files of an earlier iCaps model in it are
        replaced. No text of the training is uploaded, unless `texts_from` is given; hashes of the
        texts are (`train.text_hashes`), by which an evaluation finds texts of the training.

        Args:
            repo_id: "owner/name", or a name in the account of the token.
            card, license, language: As in `save_pretrained`.
            texts_from: The folder of this model. Its global view and its example texts, which show
                texts of the data, are uploaded as well; the view names the capsules.
            private: Whether a new repository is private; None: as the account's default.
            token: Of the Hub; None: that of HF_TOKEN or of `hf auth login`.
            branch: To commit to; None: "main".
            create_pr: Whether to open a pull request with the commit.
            commit_message: Of the commit.

        Raises:
            HubError: The Hub cannot be reached, or refuses the upload; ICAPS_NETWORK forbids it.
            ConfigError: The card is of another model.
        """
        from icaps.sharing.hub_repository import HubRepository, copy_views, full_name, push
        from icaps.sharing.readme import write_readme

        repo_id = full_name(repo_id, token)
        with TemporaryDirectory() as scratch:
            folder = Path(scratch) / "model"
            self.save(folder)
            if texts_from is not None:
                copy_views(model_folder(texts_from), folder)
            name = repo_id.rsplit("/")[-1]
            write_readme(folder, name, card, repo_id, license=license, language=language)
            return push(
                HubRepository(folder),
                repo_id,
                private=private,
                token=token,
                branch=branch,
                create_pr=create_pr,
                commit_message=commit_message,
            )

    @classmethod
    def from_pretrained(
        cls,
        pretrained_model_name_or_path: str | Path,
        *,
        revision: str | None = None,
        cache_dir: str | Path | None = None,
        token: str | bool | None = None,
        local_files_only: bool = False,
        force_download: bool = False,
        device: str = "auto",
    ) -> Self:
        """A model from a folder, or from the Hugging Face Hub.

        Args:
            pretrained_model_name_or_path: A folder, the name of a shipped model, or "owner/name"
                of a repository.
            revision: Branch, tag or commit of the repository; None: "main".
            cache_dir: Where downloads are stored; None: the cache of huggingface_hub.
            token: Of the Hub; None: that of HF_TOKEN or of `hf auth login`; False: none.
            local_files_only: Whether to read the cache alone.
            force_download: Whether to download what the cache has, too.
            device: "auto", or a torch device.

        Raises:
            HubError: The repository does not exist, is not that of an iCaps model, or the Hub
                cannot be reached.
            CheckpointError: A file is damaged, or is not that of a checkpoint.
        """
        folder = model_folder(pretrained_model_name_or_path)
        if not folder.exists():
            from icaps.sharing.hub_repository import download

            folder = download(
                str(pretrained_model_name_or_path),
                revision=revision,
                cache_dir=cache_dir,
                token=token,
                local_files_only=local_files_only,
                force_download=force_download,
            )
        return cls.load(folder, device)
