"""Every method of the Python client hvac that the other sessions leave out and that has an endpoint here. One JSON text
comes as argument: where the service and the stand-ins of the outside systems are. All surprises are told at the end."""

import base64
import json
import sys
import traceback

import hvac
from hvac import exceptions

given = json.loads(sys.argv[1])
address, token, shares = given["address"], given["token"], given["shares"]
client = hvac.Client(url=address, token=token)
surprises = []


def check(part):
    """Runs a part of the session at once, so that one surprise does not hide the others."""
    try:
        part()
    except Exception:
        surprises.append(part.__name__ + ": " + traceback.format_exc(limit=-1))
    return part


def refused(call, kind, text=""):
    try:
        call()
    except kind as refusal:
        assert text in str(refusal), str(refusal)
        return
    raise AssertionError("not refused: " + text)


@check
def tokens():
    t = client.auth.token
    made = t.create(policies=["default"], ttl="1h", num_uses=0, explicit_max_ttl="2h", display_name="one", period=None)["auth"]
    own = hvac.Client(url=address, token=made["client_token"])
    assert own.auth.token.lookup_self()["data"]["display_name"] == "token-one"
    assert t.lookup(made["client_token"])["data"]["accessor"] == made["accessor"]
    assert t.renew(made["client_token"], increment="20m")["auth"]["lease_duration"] == 1200
    assert t.renew_accessor(made["accessor"], increment="25m")["auth"]["lease_duration"] == 1500
    assert client.renew_token(made["client_token"], increment=600)["auth"]["lease_duration"] == 600
    orphan = t.create_orphan(policies=["default"], ttl="1h")["auth"]
    assert orphan["orphan"] is True
    assert orphan["accessor"] in t.list_accessors()["data"]["keys"]
    t.revoke(orphan["client_token"])
    refused(lambda: t.lookup(orphan["client_token"]), exceptions.Forbidden, "bad token")
    parent = t.create(policies=["root"], ttl="1h")["auth"]
    child = hvac.Client(url=address, token=parent["client_token"]).auth.token.create(policies=["default"], ttl="30m")["auth"]
    t.revoke_and_orphan_children(parent["client_token"])
    assert t.lookup(child["client_token"])["data"]["orphan"] is True
    own.auth.token.revoke_self()
    assert not own.is_authenticated()
    t.create_or_update_role("many", allowed_policies=["default"], orphan=False, token_period="1h", token_explicit_max_ttl="0", renewable=True, path_suffix="many")
    role = t.read_role("many")["data"]
    assert role["allowed_policies"] == ["default"] and role["path_suffix"] == "many"
    assert t.list_roles()["data"]["keys"] == ["many"]
    t.delete_role("many")
    assert t.tidy().json()["warnings"]
    client.revoke_token(child["client_token"])


@check
def legacy_client():
    client.write("cubbyhole/old", None, a="b")
    assert client.read("cubbyhole/old")["data"] == {"a": "b"}
    wrapped = client.read("cubbyhole/old", wrap_ttl="60s")["wrap_info"]
    assert hvac.Client(url=address).sys.unwrap(wrapped["token"])["data"] == {"a": "b"}
    client.sys.create_or_update_policy("old", 'path "cubbyhole/*" { capabilities = ["read"] }')
    assert client.get_policy("old") == 'path "cubbyhole/*" { capabilities = ["read"] }'
    client.sys.delete_policy("old")
    assert client.get_policy("old") is None
    info = client.write("auth/token/create", "60s", policies=["default"])["wrap_info"]
    other = hvac.Client(url=address)
    other.auth_cubbyhole(info["token"])
    assert other.is_authenticated()


@check
def wrapping():
    info = client.sys.wrap({"a": 1}, ttl=60)["wrap_info"]
    assert client.sys.unwrap(info["token"])["data"] == {"a": 1}


@check
def status():
    assert client.sys.read_init_status()["initialized"] is True
    assert client.sys.is_initialized() and not client.sys.is_sealed()
    assert client.seal_status["sealed"] is False and client.ha_status["ha_enabled"] is not None
    assert client.sys.read_health_status(standby_ok=True, method="GET")["sealed"] is False
    assert client.key_status["term"] >= 1
    refused(lambda: client.sys.initialize(5, 3), exceptions.InvalidRequest, "already initialized")


@check
def step_down():
    assert client.sys.step_down().status_code == 204


@check
def audit():
    # Devices are set in the configuration; the answers report this.
    assert list(client.sys.list_enabled_audit_devices()["data"]) == ["file/"]
    assert client.sys.calculate_hash("file", "some text")["data"]["hash"].startswith("hmac-sha256:")
    refused(lambda: client.sys.enable_audit_device("file", path="more", options={"file_path": "x"}), exceptions.InvalidRequest, "cannot enable or disable audit devices via API")
    refused(lambda: client.sys.disable_audit_device("file"), exceptions.InvalidRequest, "cannot disable an audit device of the configuration via API")
    client.sys.disable_audit_device("absent")


@check
def auth_methods():
    client.sys.enable_auth_method("userpass", path="tuned", description="one", config={"default_lease_ttl": "2h"})
    client.sys.tune_auth_method("tuned", default_lease_ttl="1h", max_lease_ttl="3h", description="two", listing_visibility="unauth", token_type="default-service", audit_non_hmac_request_keys=["username"], audit_non_hmac_response_keys=[], passthrough_request_headers=[])
    tuning = client.sys.read_auth_method_tuning("tuned")["data"]
    assert tuning["default_lease_ttl"] == 3600 and tuning["description"] == "two"
    users = client.auth.userpass
    users.create_or_update_user("eve", password="correct horse", policies=["default"], mount_point="tuned")
    users.delete_user("eve", mount_point="tuned")
    refused(lambda: users.read_user("eve", mount_point="tuned"), exceptions.InvalidPath)
    client.sys.disable_auth_method("tuned")
    assert "tuned/" not in client.sys.list_auth_methods()["data"]


@check
def mounts():
    client.sys.enable_secrets_engine("kv", path="opts", description="one", config={"max_lease_ttl": "3h"}, options={"version": 2}, local=False, seal_wrap=False)
    assert client.sys.retrieve_mount_option("opts", "version") == "2"
    client.sys.tune_mount_configuration("opts", max_lease_ttl="2h", listing_visibility="hidden", options={"version": "2"})
    assert client.sys.read_mount_configuration("opts")["data"]["max_lease_ttl"] == 7200
    kv = client.secrets.kv
    kv.default_kv_version = 2
    kv.v2.create_or_update_secret("a", {"x": 1}, mount_point="opts")
    kv.v2.update_metadata("a", cas_required=True, delete_version_after="1h", max_versions=3, mount_point="opts")
    assert kv.v2.read_secret("a", mount_point="opts", raise_on_deleted_version=True)["data"]["data"] == {"x": 1}
    kv.v2.configure(max_versions=7, cas_required=False, delete_version_after="2h", mount_point="opts")
    kv.v2.delete_secret_versions("a", versions=[1], mount_point="opts")
    kv.v2.undelete_secret_versions("a", versions=[1], mount_point="opts")
    client.sys.disable_secrets_engine("opts")


@check
def policies():
    client.sys.create_or_update_acl_policy("gone", 'path "a" { capabilities = ["read"] }', pretty_print=False)
    client.sys.delete_acl_policy("gone")
    refused(lambda: client.sys.read_acl_policy("gone"), exceptions.InvalidPath)
    assert client.sys.get_capabilities(["sys/mounts", "cubbyhole/x"])["data"]["sys/mounts"] == ["root"]
    made = client.auth.token.create(policies=["default"])["auth"]
    assert client.sys.get_capabilities(["cubbyhole/x"], accessor=made["accessor"])["data"]["cubbyhole/x"] == ["create", "delete", "list", "read", "update"]


@check
def quotas():
    client.sys.create_or_update_quota("slow", 500, path="cubbyhole/", interval="2s", block_interval="5s")
    quota = client.sys.read_quota("slow")["data"]
    assert quota["rate"] == 500 and quota["path"] == "cubbyhole/"
    assert client.sys.list_quotas()["data"]["keys"] == ["slow"]
    client.sys.delete_quota("slow")


@check
def namespaces():
    client.sys.create_namespace("brief")
    client.sys.delete_namespace("brief")


@check
def aws():
    # The engine for AWS is mounted under the name cloudtwo.
    engine = client.secrets.aws
    at = {"mount_point": "cloudtwo"}
    engine.configure_root_iam_credentials(given["key"]["id"], given["key"]["secret"], region="eu-west-1", iam_endpoint=given["cloud"], sts_endpoint=given["cloud"], max_retries=0, **at)
    engine.configure_lease("30m", "2h", **at)
    assert engine.read_lease_config(**at)["data"] == {"lease": "30m0s", "lease_max": "2h0m0s"}
    allow = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
    engine.create_or_update_role("deploy", "iam_user", policy_document=allow, policy_arns=["arn:aws:iam::aws:policy/ReadOnlyAccess"], iam_tags=["team=sea"], **at)
    engine.create_or_update_role("assume", "assumed_role", role_arns=["arn:aws:iam::123456789012:role/one"], default_sts_ttl="20m", max_sts_ttl="1h", **at)
    engine.create_or_update_role("federate", "federation_token", policy_document=allow, **at)
    engine.create_or_update_role("older", "iam_user", policy_document=allow, legacy_params=True, **at)
    assert sorted(engine.list_roles(**at)["data"]["keys"]) == ["assume", "deploy", "federate", "older"]
    assert engine.read_role("deploy", **at)["data"]["credential_type"] == "iam_user"
    made = engine.generate_credentials("deploy", **at)
    assert made["data"]["access_key"].startswith("AKIA") and made["lease_duration"] == 1800
    session = engine.generate_credentials("assume", ttl="30m", endpoint="sts", role_session_name="nightly", **at)
    assert session["data"]["security_token"]
    assert engine.generate_credentials("federate", endpoint="sts", **at)["data"]["security_token"]
    assert engine.generate_credentials("older", **at)["data"]["secret_key"]

    lease = client.sys.read_lease(made["lease_id"])["data"]
    assert lease["id"] == made["lease_id"] and lease["renewable"] is True
    assert made["lease_id"].split("/")[-1] in client.sys.list_leases("cloudtwo/creds/deploy")["data"]["keys"]
    assert client.sys.renew_lease(made["lease_id"], increment=900)["lease_duration"] == 900
    client.sys.revoke_lease(made["lease_id"])
    client.sys.revoke_prefix("cloudtwo/creds/older")
    client.sys.revoke_force("cloudtwo/sts")
    assert engine.rotate_root_iam_credentials(**at)["data"]["access_key"].startswith("AKIA")
    for name in ("deploy", "assume", "federate", "older"):
        engine.delete_role(name, **at)


@check
def azure():
    # The method for Azure is mounted under the name cloudone.
    method = client.auth.azure
    at = {"mount_point": "cloudone"}
    method.configure(given["tenant"], given["resource"], client_id="reader", client_secret=given["secret"], **at)
    assert method.read_config(**at)["tenant_id"] == given["tenant"]
    method.create_role("vm", policies=["default"], ttl="10m", max_ttl="1h", num_uses=0, bound_service_principal_ids=["p-system"], bound_subscription_ids=[given["subscription"]], bound_resource_groups=[given["group"]], **at)
    assert method.list_roles(**at)["keys"] == ["vm"]
    assert method.read_role("vm", **at)["bound_resource_groups"] == [given["group"]]
    machine = hvac.Client(url=address)
    login = machine.auth.azure.login("vm", given["jwt"], subscription_id=given["subscription"], resource_group_name=given["group"], vm_name="vm1", **at)
    assert login["auth"]["lease_duration"] == 600 and machine.is_authenticated()
    method.delete_role("vm", **at)
    method.delete_config(**at)


@check
def identity():
    one = client.secrets.identity
    entity = one.create_or_update_entity_by_name("ida", metadata={"a": "b"}, policies=["default"])["data"]["id"]
    assert "ida" in one.list_entities_by_name()["data"]["keys"]
    client.sys.enable_auth_method("approle", path="ida")
    accessor = client.sys.list_auth_methods()["data"]["ida/"]["accessor"]
    alias = one.create_or_update_entity_alias("ida", entity, accessor)["data"]["id"]
    one.update_entity_alias(alias, "idb", entity, accessor)
    assert one.read_entity_alias(alias)["data"]["name"] == "idb"
    one.delete_entity_alias(alias)
    group = one.create_or_update_group_by_name("idg", policies=["default"], member_entity_ids=[entity])["data"]["id"]
    assert one.list_groups()["data"]["keys"] == [group]
    assert one.list_groups_by_name()["data"]["keys"] == ["idg"]
    one.update_group(group, "idg", metadata={"c": "d"}, member_entity_ids=[])
    assert one.read_group(group)["data"]["metadata"] == {"c": "d"}
    one.delete_group_by_name("idg")
    outer = one.create_or_update_group("outside", group_type="external")["data"]["id"]
    alias = one.create_or_update_group_alias("crew", mount_accessor=accessor, canonical_id=outer)["data"]["id"]
    one.update_group_alias(alias, "crew-two", mount_accessor=accessor, canonical_id=outer)
    assert one.read_group_alias(alias)["data"]["name"] == "crew-two"
    one.delete_group(outer)
    one.delete_entity_by_name("ida")


@check
def keys():
    s = client.sys
    assert s.get_encryption_key_status()["data"]["term"] >= 1
    s.rotate_encryption_key()
    started = s.start_rekey(secret_shares=3, secret_threshold=2, require_verification=True, recovery_key=True)
    assert s.read_rekey_progress(recovery_key=True)["nonce"] == started["nonce"]
    s.cancel_rekey(recovery_key=True)
    nonce = s.start_rekey(secret_shares=3, secret_threshold=2, recovery_key=True)["nonce"]
    s.rekey(shares[0], nonce=nonce, recovery_key=True)
    done = s.rekey_multi(shares[1:3], nonce=nonce, recovery_key=True)
    assert done["complete"] is True and len(done["keys"]) == 3
    refused(lambda: s.read_backup_keys(recovery_key=True), exceptions.InvalidRequest, "no backed-up keys found")
    # A service without seal shares has nothing to rekey, verify or back up: these are its answers.
    refused(s.read_rekey_progress, exceptions.InvalidRequest)
    refused(s.cancel_rekey_verify, exceptions.InvalidRequest)
    refused(s.read_rekey_verify_progress, exceptions.InvalidRequest)
    refused(lambda: s.rekey_verify(shares[0], "x"), exceptions.InvalidRequest)
    refused(lambda: s.rekey_verify_multi(shares[:1], "x"), exceptions.InvalidRequest)
    attempt = s.start_root_token_generation()
    assert s.read_root_generation_progress()["started"] is True
    s.cancel_root_generation()
    attempt = s.start_root_token_generation()
    for share in done["keys"][:2]:
        last = s.generate_root(share, attempt["nonce"])
    code = base64.b64decode(last["encoded_token"] + "==")
    made = bytes(a ^ b for a, b in zip(code, attempt["otp"].encode())).decode()
    assert hvac.Client(url=address, token=made).auth.token.lookup_self()["data"]["policies"] == ["root"]

    s.seal()
    assert s.is_sealed()
    s.submit_unseal_key(reset=True)
    s.submit_unseal_key(done["keys"][0])
    assert s.submit_unseal_keys(done["keys"][1:])["sealed"] is False


@check
def what_is_not_built():
    # The answers of a service without Sentinel policies and Raft clusters.
    s = client.sys
    for call in (s.list_rgp_policies, s.list_egp_policies, lambda: s.read_rgp_policy("x"), lambda: s.read_egp_policy("x")):
        refused(call, exceptions.InvalidPath, "unsupported path")
    for call in (s.read_raft_config, s.list_raft_auto_snapshot_configs):
        refused(call, exceptions.InvalidPath, "unsupported path")


if surprises:
    sys.exit("\n".join(surprises))
print("hvac methods: done")
