"""A scripted session of the Python client hvac: address and root token come as arguments; any surprise ends it."""

import sys

import hvac
from hvac import exceptions

address, token = sys.argv[1:3]
client = hvac.Client(url=address, token=token)

# Status
assert client.is_authenticated()
assert client.sys.is_initialized()
assert not client.sys.is_sealed()
assert client.sys.read_seal_status()["storage_type"] == "postgresql"
assert client.sys.read_health_status(method="GET")["initialized"] is True
assert client.sys.read_health_status(method="HEAD").status_code == 200
assert client.sys.read_leader_status()["is_self"] is True

# kv version 2
client.sys.enable_secrets_engine("kv", path="kv2", options={"version": "2"})
v2 = client.secrets.kv.v2
assert v2.create_or_update_secret("app/db", {"user": "a", "pw": "1"}, mount_point="kv2")["data"]["version"] == 1
assert v2.create_or_update_secret("app/db", {"user": "a", "pw": "2"}, cas=1, mount_point="kv2")["data"]["version"] == 2
try:
    v2.create_or_update_secret("app/db", {"pw": "3"}, cas=1, mount_point="kv2")
    raise AssertionError("check-and-set was ignored")
except exceptions.InvalidRequest as refusal:
    assert "did not match the current version" in str(refusal)
assert v2.read_secret_version("app/db", mount_point="kv2", raise_on_deleted_version=True)["data"]["data"]["pw"] == "2"
assert v2.read_secret_version("app/db", version=1, mount_point="kv2", raise_on_deleted_version=True)["data"]["data"]["pw"] == "1"
assert v2.patch("app/db", {"extra": "x"}, mount_point="kv2")["data"]["version"] == 3
assert v2.list_secrets("app", mount_point="kv2")["data"]["keys"] == ["db"]
v2.delete_latest_version_of_secret("app/db", mount_point="kv2")
try:
    v2.read_secret_version("app/db", mount_point="kv2", raise_on_deleted_version=True)
    raise AssertionError("a deleted version was read")
except exceptions.InvalidPath:
    pass
v2.undelete_secret_versions("app/db", versions=[3], mount_point="kv2")
v2.destroy_secret_versions("app/db", versions=[1], mount_point="kv2")
metadata = v2.read_secret_metadata("app/db", mount_point="kv2")["data"]
assert metadata["versions"]["1"]["destroyed"] is True and metadata["current_version"] == 3
v2.update_metadata("app/db", max_versions=5, custom_metadata={"owner": "ops"}, mount_point="kv2")
v2.configure(max_versions=20, mount_point="kv2")
assert v2.read_configuration(mount_point="kv2")["data"]["max_versions"] == 20
v2.delete_metadata_and_all_versions("app/db", mount_point="kv2")

# kv version 1 and cubbyhole, with the verb LIST
client.sys.enable_secrets_engine("kv", path="kv1", options={"version": "1"})
v1 = client.secrets.kv.v1
v1.create_or_update_secret("a/b", {"x": "y"}, mount_point="kv1")
assert v1.read_secret("a/b", mount_point="kv1")["data"] == {"x": "y"}
assert v1.list_secrets("a", mount_point="kv1")["data"]["keys"] == ["b"]
v1.delete_secret("a/b", mount_point="kv1")
client.write_data("cubbyhole/mine", data={"k": "v"})
assert client.read("cubbyhole/mine")["data"] == {"k": "v"}
assert client.list("cubbyhole")["data"]["keys"] == ["mine"]
assert client.read("cubbyhole/absent") is None
client.delete("cubbyhole/mine")

# Mounts
client.sys.tune_mount_configuration("kv1", default_lease_ttl="1h", description="tuned")
assert client.sys.read_mount_configuration("kv1")["data"]["default_lease_ttl"] == 3600
assert "kv1/" in client.sys.list_mounted_secrets_engines()["data"]
client.sys.move_backend("kv1", "kv1b")
client.sys.disable_secrets_engine("kv1b")

# Policies
client.sys.create_or_update_policy("reader", 'path "kv2/data/*" { capabilities = ["read"] }')
assert "reader" in client.sys.list_policies()["data"]["policies"]
assert "kv2/data" in client.sys.read_policy("reader")["data"]["rules"]
client.sys.create_or_update_acl_policy("writer", 'path "kv2/*" { capabilities = ["create", "update", "read", "list"] }')
assert "writer" in client.sys.list_acl_policies()["data"]["keys"]
assert client.sys.get_capabilities(["kv2/data/x"], token=token)["capabilities"] == ["root"]

# Tokens
made = client.auth.token.create(policies=["reader"], ttl="1h", meta={"who": "hvac"}, renewable=True)["auth"]
limited = hvac.Client(url=address, token=made["client_token"])
assert limited.lookup_token()["data"]["meta"] == {"who": "hvac"}
try:
    limited.secrets.kv.v2.create_or_update_secret("x", {"a": "b"}, mount_point="kv2")
    raise AssertionError("the policy was not enforced")
except exceptions.Forbidden:
    pass
assert limited.auth.token.renew_self(increment="30m")["auth"]["lease_duration"] == 1800
assert client.auth.token.lookup_accessor(made["accessor"])["data"]["accessor"] == made["accessor"]
client.auth.token.create_or_update_role("ops", allowed_policies="reader", orphan=True)
assert client.auth.token.create(role_name="ops")["auth"]["orphan"] is True
client.auth.token.revoke_accessor(made["accessor"])
assert not limited.is_authenticated()

# userpass and approle
client.sys.enable_auth_method("userpass")
client.auth.userpass.create_or_update_user("bob", "correct horse battery", policies=["reader"])
login = hvac.Client(url=address)
assert login.auth.userpass.login("bob", "correct horse battery")["auth"]["metadata"]["username"] == "bob"
assert login.is_authenticated()
client.sys.enable_auth_method("approle")
client.auth.approle.create_or_update_approle("app", token_policies=["reader"], token_ttl="10m")
role_id = client.auth.approle.read_role_id("app")["data"]["role_id"]
secret_id = client.auth.approle.generate_secret_id("app")["data"]["secret_id"]
machine = hvac.Client(url=address)
assert machine.auth.approle.login(role_id, secret_id)["auth"]["lease_duration"] == 600

# Wrapping
wrapped = client.auth.token.create(policies=["reader"], wrap_ttl="60s")["wrap_info"]
inner = hvac.Client(url=address).sys.unwrap(wrapped["token"])
assert inner["auth"]["policies"] == ["default", "reader"]
try:
    hvac.Client(url=address).sys.unwrap(wrapped["token"])
    raise AssertionError("a wrapping token was used twice")
except exceptions.InvalidRequest:
    pass

# Identity
entity = client.secrets.identity.create_or_update_entity("carol", metadata={"team": "x"})["data"]["id"]
assert client.secrets.identity.read_entity(entity)["data"]["name"] == "carol"
group = client.secrets.identity.create_or_update_group("team", member_entity_ids=[entity], policies=["reader"])["data"]["id"]
assert client.secrets.identity.read_group(group)["data"]["member_entity_ids"] == [entity]
assert entity in client.secrets.identity.list_entities()["data"]["keys"]

# Namespaces
client.sys.create_namespace("team-a")
assert client.sys.list_namespaces()["data"]["keys"] == ["team-a/"]
inside = hvac.Client(url=address, token=token, namespace="team-a")
inside.sys.enable_secrets_engine("kv", path="kv", options={"version": "1"})
inside.secrets.kv.v1.create_or_update_secret("s", {"where": "inside"}, mount_point="kv")
assert inside.secrets.kv.v1.read_secret("s", mount_point="kv")["data"]["where"] == "inside"

client.logout()
print("hvac: done")
