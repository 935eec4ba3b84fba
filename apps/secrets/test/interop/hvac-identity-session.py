"""A session of the Python clients hvac and pyotp about who callers are: policies, logins, entities, groups, second
factors. Address and root token come as arguments; any surprise ends it."""

import sys
import time

import hvac
import jwt
import pyotp
from hvac import exceptions

address, token = sys.argv[1:3]
client = hvac.Client(url=address, token=token)
identity = client.secrets.identity


def refused(call, kind, part=""):
    try:
        call()
    except kind as refusal:
        assert part in str(refusal), str(refusal)
        return
    raise AssertionError("not refused: " + part)


# Policies
client.sys.create_or_update_acl_policy("writer", 'path "kv/+/notes" { capabilities = ["create", "read"] }')
assert client.sys.read_acl_policy("writer")["data"]["name"] == "writer"
assert "writer" in client.sys.list_acl_policies()["data"]["keys"]
client.sys.create_or_update_policy("reader", {"path": {"sys/mounts": {"capabilities": ["read"]}}})
assert "sys/mounts" in client.sys.read_policy("reader")["data"]["rules"]
assert "reader" in client.sys.list_policies()["data"]["policies"]
refused(lambda: client.sys.create_or_update_acl_policy("bad", 'path "x" { capabilities = ["fly"] }'), exceptions.InvalidRequest, 'invalid capability "fly"')
assert client.sys.get_capabilities(["kv/a/notes"], token=client.auth.token.create(policies=["writer"])["auth"]["client_token"])["data"]["kv/a/notes"] == ["create", "read"]

# userpass
client.sys.enable_auth_method("userpass", path="people")
people = client.auth.userpass
people.create_or_update_user("dora", "correct horse", policies="writer", mount_point="people")
assert people.list_user(mount_point="people")["data"]["keys"] == ["dora"]
assert people.read_user("dora", mount_point="people")["data"]["token_policies"] == ["writer"]
people.update_password_on_user("dora", "battery staple", mount_point="people")
refused(lambda: hvac.Client(url=address).auth.userpass.login("dora", "correct horse", mount_point="people"), exceptions.InvalidRequest, "invalid username or password")
dora = hvac.Client(url=address)
login = dora.auth.userpass.login("dora", "battery staple", mount_point="people")["auth"]
assert login["policies"] == ["default", "writer"]
assert dora.is_authenticated()

# approle
client.sys.enable_auth_method("approle", path="machines")
machines = client.auth.approle
machines.create_or_update_approle("web", token_policies=["writer"], secret_id_num_uses=2, secret_id_ttl="10m", mount_point="machines")
assert machines.list_roles(mount_point="machines")["data"]["keys"] == ["web"]
assert machines.read_role("web", mount_point="machines")["data"]["secret_id_num_uses"] == 2
machines.update_role_id("web", "the-web", mount_point="machines")
assert machines.read_role_id("web", mount_point="machines")["data"]["role_id"] == "the-web"
made = machines.generate_secret_id("web", metadata={"host": "one"}, mount_point="machines")["data"]
assert machines.list_secret_id_accessors("web", mount_point="machines")["data"]["keys"] == [made["secret_id_accessor"]]
assert machines.read_secret_id("web", made["secret_id"], mount_point="machines")["data"]["metadata"] == {"host": "one"}
assert machines.read_secret_id_accessor("web", made["secret_id_accessor"], mount_point="machines")["data"]["secret_id_num_uses"] == 2
machine = hvac.Client(url=address)
assert machine.auth.approle.login("the-web", made["secret_id"], mount_point="machines")["auth"]["metadata"]["host"] == "one"
machines.destroy_secret_id_accessor("web", made["secret_id_accessor"], mount_point="machines")
refused(lambda: hvac.Client(url=address).auth.approle.login("the-web", made["secret_id"], mount_point="machines"), exceptions.InvalidRequest, "invalid role or secret ID")
machines.create_custom_secret_id("web", "my-own-secret", mount_point="machines")
machines.destroy_secret_id("web", "my-own-secret", mount_point="machines")
machines.delete_role("web", mount_point="machines")

# Entities and their aliases
entity = login["entity_id"]
identity.update_entity(entity, name="dora", metadata={"team": "sea"}, policies=["reader"])
assert identity.read_entity_by_name("dora")["data"]["metadata"] == {"team": "sea"}
assert dora.sys.list_mounted_secrets_engines()["data"]
aliases = identity.list_entity_aliases()["data"]
alias = [key for key in aliases["keys"] if aliases["key_info"][key]["name"] == "dora"][0]
assert identity.read_entity_alias(alias)["data"]["canonical_id"] == entity
accessor = client.sys.list_auth_methods()["data"]["people/"]["accessor"]
assert identity.lookup_entity(alias_name="dora", alias_mount_accessor=accessor)["data"]["id"] == entity
other = identity.create_or_update_entity("spare")["data"]["id"]
extra = identity.create_or_update_entity_alias("spare-alias", other, client.sys.list_auth_methods()["data"]["machines/"]["accessor"])["data"]["id"]
identity.merge_entities([other], entity)
assert identity.read_entity(entity)["data"]["merged_entity_ids"] == [other]
assert identity.read_entity_alias(extra)["data"]["canonical_id"] == entity
identity.delete_entity_alias(extra)

# Groups and their aliases
group = identity.create_or_update_group("sea", member_entity_ids=[entity], policies=["reader"])["data"]["id"]
assert identity.read_group_by_name("sea")["data"]["member_entity_ids"] == [entity]
outer = identity.create_or_update_group("ocean", member_group_ids=[group])["data"]["id"]
refused(lambda: identity.update_group(group, "sea", member_group_ids=[outer]), exceptions.InvalidRequest, "cyclic relationship")
crew = identity.create_or_update_group("crew", group_type="external")["data"]["id"]
group_alias = identity.create_or_update_group_alias("directory-crew", mount_accessor=accessor, canonical_id=crew)["data"]["id"]
assert identity.read_group_alias(group_alias)["data"]["canonical_id"] == crew
assert identity.list_group_aliases()["data"]["keys"] == [group_alias]
assert identity.lookup_group(name="crew")["data"]["id"] == crew
identity.delete_group_alias(group_alias)
for one in (outer, group, crew):
    identity.delete_group(one)

# Identity tokens
identity.configure_tokens_backend(issuer="https://secrets.example:8200")
assert identity.read_tokens_backend_configuration()["data"]["issuer"] == "https://secrets.example:8200"
identity.create_named_key("pipeline", allowed_client_ids=["*"], algorithm="ES256", verification_ttl="48h")
key = identity.read_named_key("pipeline")["data"]
assert key == {"algorithm": "ES256", "allowed_client_ids": ["*"], "rotation_period": 86400, "verification_ttl": 172800}, key
assert identity.list_named_keys()["data"]["keys"] == ["default", "pipeline"]
identity.create_or_update_role("build", key="pipeline", template='{"team": {{identity.entity.metadata.team}}}', ttl="10m")
role = identity.read_role("build")["data"]
assert role["ttl"] == 600 and identity.list_roles()["data"]["keys"] == ["build"]
client.sys.create_or_update_policy("writer", 'path "identity/oidc/token/build" { capabilities = ["read"] }')
made = dora.secrets.identity.generate_signed_id_token("build")["data"]
assert made["client_id"] == role["client_id"] and made["ttl"] == 600
discovery = identity.read_well_known_configurations()
assert discovery["issuer"] == "https://secrets.example:8200/v1/identity/oidc", discovery
kids = [one["kid"] for one in identity.read_active_public_keys()["keys"]]
assert jwt.get_unverified_header(made["token"])["kid"] in kids
public = [jwt.PyJWK(one).key for one in identity.read_active_public_keys()["keys"] if one["kid"] == jwt.get_unverified_header(made["token"])["kid"]]
claims = jwt.decode(made["token"], public[0], algorithms=["ES256"], audience=role["client_id"], issuer=discovery["issuer"])
assert claims["sub"] == entity and claims["team"] == "sea", claims
assert identity.introspect_signed_id_token(made["token"]) == {"active": True}
assert identity.introspect_signed_id_token(made["token"], client_id="another")["active"] is False
client.write("identity/oidc/key/pipeline/rotate", verification_ttl=0)
assert identity.introspect_signed_id_token(made["token"])["active"] is False
refused(lambda: identity.delete_named_key("pipeline"), exceptions.InvalidRequest, "referenced by these roles: build")
identity.delete_role("build")
identity.delete_named_key("pipeline")

# Second factors: an independent authenticator library reads the URI.
method = client.write("identity/mfa/method/totp", issuer="Acme Co", algorithm="SHA256", digits=8)["data"]["method_id"]
url = client.write("identity/mfa/method/totp/admin-generate", method_id=method, entity_id=entity)["data"]["url"]
authenticator = pyotp.parse_uri(url)
assert authenticator.issuer == "Acme Co" and authenticator.digits == 8
client.write("identity/mfa/login-enforcement/people", mfa_method_ids=[method], auth_method_accessors=[accessor])
waiting = hvac.Client(url=address).auth.userpass.login("dora", "battery staple", mount_point="people", use_token=False)["auth"]
assert waiting["client_token"] == ""
request = waiting["mfa_requirement"]["mfa_request_id"]
assert waiting["mfa_requirement"]["mfa_constraints"]["people"]["any"][0]["id"] == method
code = authenticator.at(time.time())
anyone = hvac.Client(url=address)
done = anyone.write("sys/mfa/validate", mfa_request_id=request, mfa_payload={method: [code]})["auth"]
assert done["entity_id"] == entity
assert hvac.Client(url=address, token=done["client_token"]).is_authenticated()
refused(lambda: anyone.write("sys/mfa/validate", mfa_request_id=request, mfa_payload={method: [code]}), exceptions.InvalidRequest, "invalid request ID")
client.delete("identity/mfa/login-enforcement/people")
client.delete("identity/mfa/method/totp/" + method)

identity.delete_entity(entity)
assert not dora.is_authenticated()
print("hvac identity: done")
