# A session of hvac with the jwt login method, with tokens that PyJWT signs: its own issuer publishes the keys.
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import hvac
import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

address, root = sys.argv[1:3]

keys = {
    "RS256": rsa.generate_private_key(public_exponent=65537, key_size=2048),
    "PS384": rsa.generate_private_key(public_exponent=65537, key_size=3072),
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "ES512": ec.generate_private_key(ec.SECP521R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate(),
}


def public_jwk(name, key):
    kind = RSAAlgorithm if name[0] in "RP" else ECAlgorithm if name[:2] == "ES" else OKPAlgorithm
    return {**json.loads(kind.to_jwk(key.public_key())), "kid": name, "use": "sig", "alg": name}


class Issuer(BaseHTTPRequestHandler):
    def do_GET(self):
        documents = {
            "/.well-known/openid-configuration": {"issuer": issuer, "jwks_uri": issuer + "/keys"},
            "/keys": {"keys": [public_jwk(name, key) for name, key in keys.items()]},
        }
        self.send_response(200 if self.path in documents else 404)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(documents.get(self.path, {})).encode())

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Issuer)
issuer = "http://127.0.0.1:%d" % server.server_port
threading.Thread(target=server.serve_forever, daemon=True).start()


def token(name, **claims):
    now = int(time.time())
    sound = {"iss": issuer, "aud": "secrets", "sub": "build-7", "iat": now, "exp": now + 300, "project": "harbour"}
    return jwt.encode({**sound, **claims}, keys[name], algorithm=name, headers={"kid": name})


client = hvac.Client(url=address, token=root)
client.sys.enable_auth_method("jwt", path="pipelines")
client.auth.jwt.configure(oidc_discovery_url=issuer, default_role="build", path="pipelines")
config = client.auth.jwt.read_config(path="pipelines")["data"]
assert config["oidc_discovery_url"] == issuer and config["default_role"] == "build", config

client.auth.jwt.create_role(
    name="build",
    role_type="jwt",
    user_claim="sub",
    allowed_redirect_uris=[],
    bound_audiences=["secrets"],
    bound_claims={"project": ["harbour", "crane"]},
    claim_mappings={"project": "project"},
    token_ttl=600,
    token_policies=["default"],
    path="pipelines",
)
role = client.auth.jwt.read_role(name="build", path="pipelines")["data"]
assert role["bound_claims"] == {"project": ["harbour", "crane"]} and role["token_ttl"] == 600, role
assert client.auth.jwt.list_roles(path="pipelines")["data"]["keys"] == ["build"]

entities = set()
for name in keys:
    visitor = hvac.Client(url=address)
    login = visitor.auth.jwt.jwt_login(role="build", jwt=token(name), path="pipelines")
    assert login["auth"]["metadata"] == {"role": "build", "project": "harbour"}, login
    assert visitor.lookup_token()["data"]["display_name"] == "pipelines-build-7"
    entities.add(login["auth"]["entity_id"])
assert len(entities) == 1

for wrong in (token("RS256", aud="other"), token("ES256", project="other"), token("EdDSA", exp=int(time.time()) - 90)):
    try:
        hvac.Client(url=address).auth.jwt.jwt_login(role="build", jwt=wrong, path="pipelines")
    except hvac.exceptions.InvalidRequest:
        continue
    raise AssertionError("a wrong token was let in")

pem = keys["ES256"].public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)
client.auth.jwt.configure(jwt_validation_pubkeys=[pem.decode()], bound_issuer=issuer, path="pipelines")
hvac.Client(url=address).auth.jwt.jwt_login(role="build", jwt=token("ES256"), path="pipelines")
client.auth.jwt.delete_role(name="build", path="pipelines")
print("hvac jwt: done")
