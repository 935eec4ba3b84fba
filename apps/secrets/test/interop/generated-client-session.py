"""Calls through a client that was generated from the OpenAPI document: its folder, the address and the root token come
as arguments; any surprise ends it. What comes back is typed by the document, so a wrong document ends it as well."""

import importlib
import pkgutil
import sys

import pyotp

folder, address, token = sys.argv[1:4]
sys.path.insert(0, folder)

import service_client  # noqa: E402
from service_client import AuthenticatedClient, Client, models  # noqa: E402

# All generated code can be loaded, so no operation and no schema was generated with an error.
modules = [found.name for found in pkgutil.walk_packages(service_client.__path__, "service_client.")]
loaded = {name: importlib.import_module(name) for name in modules}
operations = {name.rsplit(".", 1)[1]: module for name, module in loaded.items() if hasattr(module, "sync_detailed")}

root = AuthenticatedClient(
    base_url=f"{address}/v1",
    token=token,
    prefix="",
    auth_header_name="X-Service-Token",
    raise_on_unexpected_status=True,
)
nobody = Client(base_url=f"{address}/v1", raise_on_unexpected_status=True)


def call(name, *args, status=200, client=root, **kwargs):
    """Calls an operation by its id; answers what the client made of the body."""
    answer = operations[name.replace("-", "_")].sync_detailed(*args, client=client, **kwargs)
    assert answer.status_code == status, (name, answer.status_code, answer.content)
    return answer.parsed


def made(name, values):
    """A request body by the name of its model."""
    return getattr(models, name).from_dict(values)


# A mount, which appears in the table of mounts
call("mounts-enable-secrets-engine", "shelf", body=made("MountsEnableSecretsEngineRequest", {"type": "kv"}), status=204)
table = call("mounts-list-secrets-engines")
assert "shelf/" in table.data.to_dict()

# kv: written, read, listed, deleted
call("kv1-kv-v1-write", "box", body=made("Kv1KvV1WriteRequest", {"color": "green", "size": 3}), status=204)
assert call("kv1-kv-v1-read", "box").data.to_dict() == {"color": "green", "size": 3}
assert isinstance(call("kv1-kv-v1-read", "nothing", status=404), models.Error)
call("kv1-kv-v1-delete", "box", status=204)

# A policy, and a token that has only this policy
rules = 'path "kv1/*" { capabilities = ["read"] }'
call("sys-write-policies-acl-name", "reader", body=made("SysWritePoliciesAclNameRequest", {"policy": rules}), status=204)
assert call("sys-read-policies-acl-name", "reader").data.policy == rules
born = call("token-create", body=made("TokenCreateRequest", {"policies": ["reader"], "ttl": "10m"})).auth
assert born.lease_duration == 600 and born.policies == ["default", "reader"]
reader = AuthenticatedClient(
    base_url=f"{address}/v1",
    token=born.client_token,
    prefix="",
    auth_header_name="X-Service-Token",
    raise_on_unexpected_status=True,
)
assert call("token-look-up-self", client=reader).data.policies == ["default", "reader"]
refused = call("mounts-list-secrets-engines", client=reader, status=403)
assert "permission denied" in refused.errors[0]

# A second factor: method, secret for an entity, enforcement, and a login that needs the code
method = call("identity-write-mfa-method-totp", body=made("IdentityWriteMfaMethodTotpRequest", {"issuer": "Shelf"}))
method_id = method.data.method_id
assert call("identity-read-mfa-method-totp-method-id", method_id).data.digits == 6
user = made("AuthUserpassWriteUsersUsernameRequest", {"password": "correct horse", "token_policies": ["reader"]})
call("auth-userpass-write-users-username", "ada", body=user, status=204)
password = made("AuthUserpassWriteLoginUsernameRequest", {"password": "correct horse"})
entity = call("auth-userpass-write-login-username", "ada", body=password, client=nobody).auth.entity_id
wish = made("IdentityWriteMfaMethodTotpAdminGenerateRequest", {"method_id": method_id, "entity_id": entity})
url = call("identity-write-mfa-method-totp-admin-generate", body=wish).data.url
rule = {"mfa_method_ids": [method_id], "identity_entity_ids": [entity]}
enforcement = made("IdentityWriteMfaLoginEnforcementNameRequest", rule)
call("identity-write-mfa-login-enforcement-name", "shelf", body=enforcement, status=204)
waiting = call("auth-userpass-write-login-username", "ada", body=password, client=nobody).auth
assert waiting.client_token == ""
choice = waiting.mfa_requirement.mfa_constraints["shelf"].any_[0]
assert (choice.id, choice.uses_passcode) == (method_id, True)
proof = {
    "mfa_request_id": waiting.mfa_requirement.mfa_request_id,
    "mfa_payload": {method_id: [pyotp.parse_uri(url).now()]},
}
done = call("sys-write-mfa-validate", body=made("SysWriteMfaValidateRequest", proof), client=nobody).auth
assert done.client_token != "" and done.entity_id == entity

# A group alias, and a rekey that is started and cancelled
accessor = call("auth-list-enabled-methods").data["userpass/"].to_dict()["accessor"]
alias = made("IdentityWriteGroupAliasRequest", {"name": "Ops", "mount_accessor": accessor})
ids = call("identity-write-group-alias", body=alias).data
assert call("identity-read-group-alias-id-id", ids.id).data.canonical_id == ids.canonical_id
begun = call("rekey-recovery-key-initialize", body=made("RekeyRecoveryKeyInitializeRequest", {"secret_shares": 3, "secret_threshold": 2}))
assert (begun.started, begun.t, begun.n, begun.required) == (True, 2, 3, 3)
call("rekey-recovery-key-cancel", status=204)
assert call("rekey-recovery-key-read-progress").started is False

call("token-revoke-self", client=reader, status=204)
print(f"generated client: {len(operations)} operations, done")
