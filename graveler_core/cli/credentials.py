"""`graveler iam credential …` and `graveler iam secrets-key …`: access keys, and the key that encrypts secrets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.confirmation import YesOption, confirm
from graveler_core.cli.iam_views import CREDENTIALS, new_credential_text, resealed_text
from graveler_core.cli.session import Session, verb
from graveler_core.documents.access_control import new_credential_document, resealed_document
from graveler_core.errors import InvalidInput

if TYPE_CHECKING:
    from graveler_core.model.secrets_keys import SecretsKeys

app = typer.Typer(name="credential", help="Create, list and delete access keys of users.")
keys = typer.Typer(name="secrets-key", help="Make and replace the key that encrypts the secrets of access keys.")

User = Annotated[str, typer.Argument(metavar="USER", help="Name of a user.")]
Signing = Annotated[
    bool,
    typer.Option(
        "--s3",
        help="Keep the secret, encrypted with the secrets key, so that S3 clients can use the access key.",
    ),
]
SecretsKeyFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="File with the secrets key. Default: the variable GRAVELER_SERVER_KEY."),
]


def keys_for(session: Session, signing: bool, file: Path | None) -> SecretsKeys | None:
    """Return the keys that encrypt the secret of a new access key, or `None` if it is not kept.

    Raises:
        InvalidInput: The secret shall be kept, and there is no key.
    """
    if not signing:
        return None
    found = session.secrets_keys(file)
    if found is None:
        raise InvalidInput(
            "--s3: needs the secrets key: set GRAVELER_SERVER_KEY or give --secrets-key-file; "
            "`graveler iam secrets-key new` makes one"
        )
    return found


@verb(app, "create")
def create_credential(
    session: Session, name: User, *, s3: Signing = False, secrets_key_file: SecretsKeyFile = None
) -> None:
    """Create an access key. Its secret is shown only once.

    JSON: one document with user, access_key_id, secret, creation_date.
    """
    kept_by = keys_for(session, s3, secrets_key_file)
    with session.working("creating the access key"):
        made = session.graveler.iam.create_credential(name, secrets_keys=kept_by)
    session.out.result(new_credential_document(made), new_credential_text(made))


@verb(app, "list")
def list_credentials(session: Session, name: User) -> None:
    """List the access keys of a user.

    JSON: a line for each access key with access_key_id, creation_date.
    """
    session.out.rows(session.graveler.iam.credentials(name), CREDENTIALS)


@verb(app, "delete")
def delete_credential(
    session: Session,
    name: User,
    access_key: Annotated[str, typer.Argument(metavar="KEY", help="Id of the access key.")],
    yes: YesOption = False,
) -> None:
    """Delete an access key. Processes that still use it are refused within half a minute.

    JSON: one document with deleted (the access key).
    """
    confirm(f"Delete access key {access_key} of {name}?", yes=yes)
    with session.working("deleting the access key"):
        session.graveler.iam.delete_credential(name, access_key)
    session.out.result({"deleted": access_key}, f"deleted access key {access_key} of {name}")


@verb(keys, "new")
def new_key(session: Session) -> None:
    """Make a random secrets key. It is not stored anywhere: keep it where the server finds it, and nowhere else.

    JSON: one document with secrets_key.
    """
    from graveler_core.model.secrets_keys import SecretsKeys

    made = SecretsKeys.new().get_secret_value()
    session.out.result({"secrets_key": made}, made)


@verb(keys, "rotate")
def rotate(session: Session, *, secrets_key_file: SecretsKeyFile = None) -> None:
    """Encrypt all kept secrets with the first secrets key. Put the new key before the old one first.

    JSON: one document with resealed, current, unreadable: numbers of secrets.
    """
    found = keys_for(session, True, secrets_key_file)
    assert found is not None  # noqa: S101 - it is required
    with session.working("encrypting the secrets"):
        done = session.graveler.iam.reseal_secrets(found)
    session.out.result(resealed_document(done), resealed_text(done))
