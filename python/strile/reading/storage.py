"""Translates `storage_options` by the names of fsspec, obstore and object_store, in this one place.

The core reads `http(s)`, `s3`, `gs` and `az` URLs itself. Stores that it does not know are opened by fsspec, which gets the options as
they are. Values may be secret: they are pickled for workers, and shown nowhere."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from .. import environment
from ..checks import truth_of
from ..errors import StrileError
from .shown import redacted

if TYPE_CHECKING:
    from .. import _core

_SERVICES = {
    "http": "http", "https": "http", "s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az", "azure": "az", "abfs": "az",
    "abfss": "az",
}  # fmt: skip
_SHOWN = {"http": "http(s)", "s3": "s3", "gs": "gs", "az": "az and abfs"}

# Names of options in the core, and those that callers use.
_COMMON = {
    "anonymous": ("anonymous", "anon", "skip_signature"),
    "connect_timeout": ("connect_timeout",),
    "stall_timeout": ("stall_timeout", "read_timeout", "timeout"),
    "total_timeout": ("total_timeout",),
    "retries": ("retries", "max_retries"),
    "merge_gap": ("merge_gap",),
    "headers": ("headers",),
}
_BUCKET = {"endpoint": ("endpoint", "endpoint_url"), "allow_http": ("allow_http",)}
_OPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "http": _COMMON,
    "s3": _COMMON | _BUCKET | {
        "region": ("region", "region_name", "default_region", "aws_region", "aws_default_region"),
        "request_payer": ("request_payer", "requester_pays", "aws_request_payer"),
        "endpoint": ("endpoint", "endpoint_url", "aws_endpoint", "aws_endpoint_url"),
        "anonymous": ("anonymous", "anon", "skip_signature", "aws_skip_signature"),
    },
    "gs": _COMMON | _BUCKET | {"endpoint": ("endpoint", "endpoint_url", "base_url", "google_base_url")},
    "az": _COMMON | _BUCKET | {"endpoint": ("endpoint", "endpoint_url", "account_url", "azure_endpoint")},
}  # fmt: skip
_SETTINGS: dict[str, dict[str, tuple[str, ...]]] = {
    "http": {},
    "s3": {
        "aws_access_key_id": ("key", "access_key_id", "aws_access_key_id"),
        "aws_secret_access_key": ("secret", "secret_access_key", "aws_secret_access_key"),
        "aws_session_token": ("token", "session_token", "aws_session_token"),
        "aws_virtual_hosted_style_request": ("virtual_hosted_style_request", "aws_virtual_hosted_style_request"),
        "aws_role_arn": ("role_arn", "aws_role_arn"),
        "aws_web_identity_token_file": ("web_identity_token_file", "aws_web_identity_token_file"),
        "aws_imdsv1_fallback": ("imdsv1_fallback", "aws_imdsv1_fallback"),
        "aws_sse_customer_key_base64": ("sse_customer_key_base64", "aws_sse_customer_key_base64"),
    },
    "gs": {
        "google_service_account": ("service_account", "service_account_path", "google_service_account"),
        "google_service_account_key": ("service_account_key", "google_service_account_key"),
        "google_application_credentials": ("application_credentials", "google_application_credentials"),
        "google_bearer_token": ("bearer_token", "google_bearer_token"),
    },
    "az": {
        "azure_storage_account_name": ("account_name", "azure_storage_account_name"),
        "azure_storage_account_key": ("account_key", "access_key", "azure_storage_account_key"),
        "azure_storage_sas_key": ("sas_token", "sas_key", "azure_storage_sas_key", "azure_storage_sas_token"),
        "azure_storage_token": ("bearer_token", "token", "azure_storage_token"),
        "azure_storage_client_id": ("client_id", "azure_client_id", "azure_storage_client_id"),
        "azure_storage_client_secret": ("client_secret", "azure_client_secret", "azure_storage_client_secret"),
        "azure_storage_tenant_id": ("tenant_id", "azure_tenant_id", "azure_storage_tenant_id"),
        "azure_storage_use_emulator": ("use_emulator", "azure_storage_use_emulator"),
        "azure_use_azure_cli": ("use_azure_cli", "azure_use_azure_cli"),
    },
}
_FLAGS = {"anonymous", "allow_http", "request_payer"}
_SECONDS = {"connect_timeout", "stall_timeout", "total_timeout"}
_NUMBERS = {"retries", "merge_gap"}
# Where the environment names the endpoint of a service, in the order that the core looks.
_ENDPOINTS = {
    "http": (),
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "gs": ("GOOGLE_BASE_URL",),
    "az": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}


@dataclass(frozen=True, repr=False)
class Storage:
    """The options of one remote file, those of the core, or of fsspec for stores that the core does not read."""

    options: tuple[tuple[str, Any], ...] = ()

    def __repr__(self) -> str:
        return f"Storage({', '.join(name for name, _ in self.options)})"

    def __bool__(self) -> bool:
        return bool(self.options)

    def for_fsspec(self) -> dict[str, Any]:
        """Returns the keywords of a filesystem of fsspec."""
        return {name: _thawed(value) for name, value in self.options}

    def for_core(self, location: str) -> _core.RemoteOptions:
        """Returns the options of the core for a URL."""
        from .. import _core

        return _core.RemoteOptions(**self.reached(location))

    def reached(self, location: str) -> dict[str, Any]:
        """Returns how a URL is reached, by keywords of the core. Hosts in private networks are refused, but for the endpoint that the caller or the
        environment names: it does not come with the URL."""
        connect, stall = environment.http_timeouts()
        found: dict[str, Any] = {"connect_timeout": connect, "stall_timeout": stall} | dict(self.options)
        found["deny_private_hosts"] = not environment.allow_private_hosts()
        named = [found.get("endpoint"), *(os.environ.get(name) for name in _ENDPOINTS[service_of(location) or "http"])]
        endpoint = next((url for url in named if url), None)
        if endpoint is not None:
            split = urlsplit(endpoint)
            found["allowed_private_hosts"] = [split.hostname] if split.hostname else []
            # Plain HTTP is what the caller says with such an endpoint.
            found["allow_http"] = found.get("allow_http", False) or split.scheme.lower() == "http"
        return found


def service_of(location: str) -> str | None:
    """Returns the service of a URL that the core reads."""
    scheme, mark, _ = location.partition("://")
    return _SERVICES.get(scheme.lower()) if mark else None


def is_bucket(location: str) -> bool:
    """Returns whether the core writes there: to an object of a bucket."""
    return service_of(location) in ("s3", "gs", "az")


def storage_of(location: str, given: Any, anonymous: Any = False) -> Storage:
    """Returns the options of a URL, checked and translated."""
    if given is None and anonymous is False:
        return Storage()
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"storage_options: expected a dict, got {type(given).__name__}")
    options: dict[str, Any] = dict(given or {})
    odd = next((name for name in options if not isinstance(name, str)), None)
    if odd is not None:
        raise TypeError(f"storage_options has the key {odd!r}: expected names")
    service = service_of(location)
    if truth_of(anonymous, "anonymous"):
        options["anonymous" if service else "anon"] = True
    if service is None:
        return Storage(tuple((name, _frozen(value)) for name, value in sorted(options.items())))
    return Storage(tuple(sorted(_translated(service, options).items())))


def _translated(service: str, options: dict[str, Any]) -> dict[str, Any]:
    options = _unfolded(service, options)
    names = {alias: name for name, aliases in _OPTIONS[service].items() for alias in aliases}
    settings = {alias: name for name, aliases in _SETTINGS[service].items() for alias in aliases}
    found: dict[str, Any] = {}
    kept: dict[str, str] = {}
    for given, value in options.items():
        key = given.lower()
        if value is None:
            continue
        if key in names:
            found[names[key]] = _checked(names[key], given, value)
        elif key in settings:
            kept[settings[key]] = _text(given, value)
        else:
            known = ", ".join(sorted({*names, *settings}))
            raise StrileError(f"storage_options has {given!r}, which {_SHOWN[service]} URLs do not take; known are {known}")
    if kept:
        found["settings"] = tuple(sorted(kept.items()))
    return found


def _unfolded(service: str, options: dict[str, Any]) -> dict[str, Any]:
    """Options that stand for several, or that have values with a meaning of their own."""
    plain: dict[str, Any] = {}
    for name, value in options.items():
        if name == "client_kwargs" and isinstance(value, Mapping):
            plain |= value
        elif name == "use_ssl":
            plain["allow_http"] = not truth_of(value, "use_ssl")
        elif name == "token" and service == "gs":
            plain |= _google(value)
        elif name == "connection_string" and service == "az":
            plain |= _connection(value)
        else:
            plain[name] = value
    return plain


def _google(token: Any) -> dict[str, Any]:
    """Translates the `token` of gcsfs."""
    if token is None or token in ("google_default", "cloud"):
        return {}
    if token == "anon":  # noqa: S105
        return {"anonymous": True}
    if isinstance(token, Mapping):
        return {"service_account_key": json.dumps(dict(token))}
    if isinstance(token, str | os.PathLike) and os.path.isfile(token):
        return {"application_credentials": os.path.abspath(token)}
    raise StrileError(
        "storage_options `token`: expected 'anon', 'google_default', 'cloud', the path of a file with credentials, or a dict with them"
    )


def _connection(text: Any) -> dict[str, Any]:
    """Translates a connection string of Azure."""
    if not isinstance(text, str):
        raise TypeError("storage_options `connection_string`: expected text")
    names = {"accountname": "account_name", "accountkey": "account_key", "sharedaccesssignature": "sas_token", "blobendpoint": "endpoint"}
    parts = (part.partition("=") for part in text.split(";") if part.strip())
    return {names[key.strip().lower()]: value for key, _, value in parts if key.strip().lower() in names}


def _checked(name: str, given: str, value: Any) -> Any:
    if name in _FLAGS:
        return truth_of(value, f"storage_options `{given}`")
    if name in _SECONDS:
        return _number(given, value, float)
    if name in _NUMBERS:
        return _number(given, value, int)
    if name == "headers":
        if not isinstance(value, Mapping):
            raise TypeError(f"storage_options `{given}`: expected a dict of names and values")
        return tuple((str(key), _text(given, text)) for key, text in value.items())
    return _text(given, value)


def _number(given: str, value: Any, kind: Callable[[Any], Any]) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or kind(value) != value:
        raise StrileError(f"storage_options `{given}` is {value!r}: expected a number, 0 or more")
    return kind(value)


def _text(given: str, value: Any) -> str:
    """Returns a text that may be a secret, so errors do not show it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | os.PathLike):
        raise TypeError(f"storage_options `{given}`: expected text, got {type(value).__name__}")
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _frozen(value: Any) -> Any:
    """Returns a value that can be part of a key."""
    if isinstance(value, Mapping):
        return _Dict(tuple((key, _frozen(inner)) for key, inner in value.items()))
    return tuple(_frozen(inner) for inner in value) if isinstance(value, list) else value


def _thawed(value: Any) -> Any:
    return {key: _thawed(inner) for key, inner in value.items} if isinstance(value, _Dict) else value


@dataclass(frozen=True)
class _Dict:
    items: tuple[tuple[Any, Any], ...]


def refuse(location: str, storage: Storage) -> None:
    """Refuses options of a source that is not a URL."""
    if storage:
        raise StrileError(f"storage_options and anonymous apply to URLs, got {redacted(location)}: drop them")
