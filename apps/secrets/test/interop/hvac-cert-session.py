"""The Python client hvac and the method cert, on a listener that speaks TLS. One JSON text comes as argument: where the service
is, and files of certificates."""

import json
import sys

import hvac
from hvac import exceptions

given = json.loads(sys.argv[1])
address, files = given["address"], given["files"]
client = hvac.Client(url=address, token=given["token"], verify=files["service"], cert=(files["cert"], files["key"]))
cert = client.auth.cert
mount = "cert-hvac"
with open(files["cert"]) as file:
    leaf = file.read()


def login(name, **more):
    return cert.login(name=name, cert_pem=files["cert"], key_pem=files["key"], mount_point=mount, use_token=False, **more)


client.sys.enable_auth_method("cert", path=mount)
assert mount + "/" in client.sys.list_auth_methods()
made = cert.create_ca_certificate_role("leaf", certificate=leaf, token_policies=["default"], token_ttl="20m", mount_point=mount)
assert made.status_code == 204
made = cert.create_ca_certificate_role("authority", certificate_file=files["authority"], allowed_common_names=["hv*"], mount_point=mount)
assert made.status_code == 204
read = cert.read_ca_certificate_role("leaf", mount_point=mount)["data"]
assert read["display_name"] == "leaf" and read["certificate"] == leaf and read["token_ttl"] == 1200, read
assert cert.list_certificate_roles(mount_point=mount)["data"]["keys"] == ["authority", "leaf"]
assert cert.configure_tls_certificate(mount_point=mount).status_code == 204

for name in ["leaf", "authority", ""]:
    auth = login(name)["auth"]
    assert auth["metadata"]["common_name"] == "hvac", auth
own = hvac.Client(url=address, token=auth["client_token"], verify=files["service"], cert=(files["cert"], files["key"]))
assert own.auth.token.lookup_self()["data"]["path"] == "auth/cert-hvac/login"
own.auth.token.renew_self()
bare = hvac.Client(url=address, token=auth["client_token"], verify=files["service"])
try:
    bare.auth.token.renew_self()
    raise AssertionError("renewed without the certificate")
except exceptions.InvalidRequest as refusal:
    assert "no client certificate found" in str(refusal)
cert.configure_tls_certificate(mount_point=mount, disable_binding=True)
bare.auth.token.renew_self()

try:
    login("nobody")
    raise AssertionError("a role that is not there")
except exceptions.InvalidRequest as refusal:
    assert "invalid certificate" in str(refusal)
assert cert.delete_certificate_role("leaf", mount_point=mount).status_code == 204
try:
    cert.read_ca_certificate_role("leaf", mount_point=mount)
    raise AssertionError("still there")
except exceptions.InvalidPath:
    pass
print("hvac cert: done")
