import type { Hints } from './worst-values';

const lines = (count: number, line: (n: number) => string) => Array.from({ length: count }, (_, n) => line(n)).join('');
const list = (count: number, item: (n: number) => string) => Array.from({ length: count }, (_, n) => item(n));

const policies = [
  lines(9_900, (n) => `path "a/${n}" { policy = "read" }\n`),
  lines(9_900, (n) => `path "+/a/${n}*" { policy = "read" }\n`),
  lines(4_900, (n) => `path "a" {allowed_parameters={"b${n}"=[]}}\n`),
  `path "a" { denied_parameters = { "b" = [${'1,'.repeat(9_900)}1] } }`,
  `path "a" { allowed_parameters = { ${'b=[1] '.repeat(4_900)} } }`,
  lines(9_900, (n) => `path "{{identity.entity.id}}/${n}" { policy = "read" }\n`),
  lines(520, (n) => `path "${'a/'.repeat(495)}${n}*" { policy = "read" }\n`),
  `{"path":{${lines(9_900, (n) => `"a${n}":{"policy":"read"},`)}"z":{}}}`,
  '\n'.repeat(524_000),
  '# \n'.repeat(170_000),
  'path "'.concat('{{'.repeat(250_000), '" {}'),
  `path "a" { comment = "${'\\n'.repeat(250_000)}" }`,
  `path "a" { comment = <<-E\n${' \n'.repeat(250_000)}E\n}`,
  'k=1\n'.repeat(130_000),
  '{'.repeat(59_000),
];

/**
 * The longest and worst values that the validators of the secrets service accept, or examine before they refuse them.
 */
export function secretsHints(): Hints {
  return {
    policy: policies,
    rules: policies.slice(0, 2),
    policies: [list(10_000, (n) => `p${n}`), lines(10_000, (n) => `p${n},`)],
    token_policies: [list(10_000, (n) => `p${n}`)],
    allowed_policies_glob: [list(10_000, (n) => `*${'a'.repeat(50)}b${n}*`)],
    disallowed_policies_glob: [list(10_000, (n) => `*a*b*${n}`)],
    token_bound_cidrs: [list(10_000, (n) => `10.${n >> 8}.${n & 255}.0/24`), list(10_000, (n) => `2001:db8::${n}/128`)],
    secret_id_bound_cidrs: [list(10_000, (n) => `10.${n >> 8}.${n & 255}.0/24`)],
    cidr_list: [list(10_000, (n) => `10.${n >> 8}.${n & 255}.1/32`)],
    username_template: [
      lines(200, () => '{{ printf "%64s" .DisplayName | replace "a" "bb" | truncate 60 | uppercase | lowercase }}'),
      '{{'.repeat(10_000),
      '{{ random 64 }}'.repeat(200),
      `{{ .DisplayName${' | uppercase'.repeat(2_000)} }}`,
    ],
    policy_document: [
      `{"Version":"2012-10-17","Statement":[${lines(9_000, () => '{"Effect":"Allow","Action":"*"},')}{}]}`,
    ],
    policy_arns: [list(10_000, (n) => `arn:aws:iam::aws:policy/p${n}`)],
    pgp_keys: [list(900, () => 'mDMEXEcE6RYJKwYBBAHaRw8BAQdArjWwk3FAqyiFbFBKT4TzXcVBqPTB3gmzlC'), ['x'.repeat(60_000)]],
    jwt: [`${'e30.'.repeat(10_000)}`, `eyJhbGciOiJSUzI1NiJ9.${'e'.repeat(60_000)}.x`],
    jwt_validation_pubkeys: [
      list(1_000, () => `-----BEGIN PUBLIC KEY-----\n${'A'.repeat(1_500)}\n-----END PUBLIC KEY-----`),
    ],
    oidc_discovery_ca_pem: ['-----BEGIN CERTIFICATE-----\n'.repeat(60_000)],
    bound_claims: [Object.fromEntries(list(500, (n) => `c${n}`).map((name) => [name, list(90, (m) => `*a${m}*`)]))],
    ttl: ['1h'.repeat(500_000), '9'.repeat(1_000_000)],
    expiration: ['9'.repeat(1_000_000)],
    input: ['A'.repeat(1_900_000)],
    bytes: [10_000_000, '9'.repeat(100_000)],
    paths: [list(10_000, (n) => `kv1/a/${n}`), [`${'a/'.repeat(2_000)}`]],
    metadata: [Object.fromEntries(list(9_000, (n) => `k${n}`).map((key) => [key, 'v']))],
    custom_metadata: [Object.fromEntries(list(9_000, (n) => `k${n}`).map((key) => [key, 'v']))],
    versions: [list(10_000, (n) => `${n}`)],
    password: ['x'.repeat(60_000), '😀'.repeat(15_000)],
    qr_size: [1024],
    key: ['A'.repeat(60_000)],
    entity_ids: [list(10_000, (n) => `7b3f4044-0000-4000-8000-${String(n).padStart(12, '0')}`)],
    member_entity_ids: [list(10_000, (n) => `7b3f4044-0000-4000-8000-${String(n).padStart(12, '0')}`)],
    alias_names: [list(10_000, (n) => `a${n}`)],
  };
}
