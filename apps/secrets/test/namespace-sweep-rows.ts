import type { Furnished, Sql } from './namespace-sweep';

const entities = 'SELECT id FROM entity WHERE namespace_id = $1';
const inMounts = 't.mount_id IN (SELECT id FROM mount WHERE namespace_id = $1)';
const ofRoot = `$1 = '00000000-0000-0000-0000-000000000000'::uuid`;

/** Which rows of a table belong to a namespace. Rows of the installation belong to the root namespace. */
export const owned: Readonly<Record<string, string>> = {
  namespace: 't.id = $1',
  mount: 't.namespace_id = $1',
  entry: inMounts,
  entry_witness: inMounts,
  intent: inMounts,
  policy: 't.namespace_id = $1',
  entity: 't.namespace_id = $1',
  entity_alias: 't.namespace_id = $1',
  entity_merge: `t.entity_id IN (${entities})`,
  group: 't.namespace_id = $1',
  group_alias: 't.namespace_id = $1',
  group_member: 't.group_id IN (SELECT id FROM "group" WHERE namespace_id = $1)',
  mfa_method: 't.namespace_id = $1',
  mfa_secret: `t.entity_id IN (${entities})`,
  mfa_recovery_code: `t.entity_id IN (${entities})`,
  mfa_enforcement: 't.namespace_id = $1',
  mfa_pending: 't.namespace_id = $1',
  console_session: 't.token_hash IN (SELECT hash FROM token WHERE namespace_id = $1)',
  token: 't.namespace_id = $1',
  lease: 't.namespace_id = $1',
  quota: 't.owner_id = $1 OR t.namespace_id = $1',
  job: `t.key LIKE $1::text || '/%' OR t.key LIKE '["' || $1::text || '%'`,
  seal: ofRoot,
  rekey: ofRoot,
  // The use of the encryption key, which every request increases.
  setting: `${ofRoot} AND t.name <> 'key-use'`,
};

/** Rows of nodes and of all requests; and guesses, whose hashes do not reveal the namespace. */
export const nobodys = ['node', 'change', 'audit_record', 'audit_read', 'attempt', '_prisma_migrations'];

/** A digest of all rows of a namespace, by table. */
export async function snapshot(sql: Sql, { uuid }: Furnished): Promise<Record<string, string>> {
  const parts = Object.entries(owned).map(
    // A lease names the quotas it counts towards, also those of namespaces above.
    ([table, whose]) => `SELECT '${table}' AS name, md5(coalesce(string_agg(r, '|' ORDER BY r), '')) AS digest
      FROM (SELECT (to_jsonb(t) - 'quota_ids')::text AS r FROM "${table}" t WHERE ${whose}) rows`,
  );
  const rows = await sql<{ name: string; digest: string }>(parts.join(' UNION ALL '), [uuid]);
  return Object.fromEntries(rows.map(({ name, digest }) => [name, digest]));
}
