import type { Policy } from './types';

/** Names that cannot be written, deleted or given to tokens. */
export const rootPolicyName = 'root';

/** The policy of wrapping tokens. */
export const wrappingPolicyName = 'response-wrapping';

/** The policy every token gets unless it asks not to. */
export const defaultPolicyName = 'default';

/** The policy `root`, which exists in every namespace without being stored, and allows everything. */
export const rootPolicy: Policy = { rules: [], templated: false };

/** What a wrapping token may do. */
export const wrappingPolicyText = `
path "cubbyhole/response" {
  capabilities = ["create", "read"]
}

path "sys/wrapping/unwrap" {
  capabilities = ["update"]
}
`;

/** What every token may do unless an operator edits it. */
export const defaultPolicyText = `# Look up, renew and revoke your own token.
path "auth/token/lookup-self" {
  capabilities = ["read"]
}

path "auth/token/renew-self" {
  capabilities = ["update"]
}

path "auth/token/revoke-self" {
  capabilities = ["update"]
}

# Ask what your own token may do.
path "sys/capabilities-self" {
  capabilities = ["update"]
}

path "sys/policies/explain" {
  capabilities = ["update"]
}

path "sys/internal/ui/resultant-acl" {
  capabilities = ["read"]
}

# Read your own entity.
path "identity/entity/id/{{identity.entity.id}}" {
  capabilities = ["read"]
}

path "identity/entity/name/{{identity.entity.name}}" {
  capabilities = ["read"]
}

# Renew and look up leases by their id.
path "sys/leases/renew" {
  capabilities = ["update"]
}

path "sys/leases/lookup" {
  capabilities = ["update"]
}

# The token's private storage.
path "cubbyhole/*" {
  capabilities = ["create", "read", "update", "delete", "list"]
}

# Wrap, look up and unwrap responses.
path "sys/wrapping/wrap" {
  capabilities = ["update"]
}

path "sys/wrapping/lookup" {
  capabilities = ["update"]
}

path "sys/wrapping/unwrap" {
  capabilities = ["update"]
}

# General purpose tools.
path "sys/tools/hash" {
  capabilities = ["update"]
}

path "sys/tools/hash/*" {
  capabilities = ["update"]
}

# Authorise at an OIDC provider whose client allows your entity.
path "identity/oidc/provider/+/authorize" {
  capabilities = ["read", "update"]
}
`;
