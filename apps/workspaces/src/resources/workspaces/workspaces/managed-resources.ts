import { createHash } from 'node:crypto';
import { instant, type Page, text } from '@keystead/jsonapi';
import { Prisma } from '../../../generated/prisma/client';
import type { Database } from '../../../kernel/database/database';
import { serializerOf } from '../../../kernel/endpoints/endpoint';
import type { Workspace } from './workspace';

/** An instance of a resource that the current state of a workspace manages. */
export interface ManagedResource {
  readonly id: string;
  readonly organizationId: string;
  readonly address: string;
  readonly name: string;
  readonly type: string;
  /** The module, for example `network.subnets` for `module.network.module.subnets`; `root` without a module. */
  readonly module: string;
  readonly provider: string;
  /** The key that distinguishes it from other instances of the same resource. */
  readonly index: string | null;
  readonly stateVersionId: string;
  readonly updatedAt: Date;
}

interface ManagedResourceRow {
  readonly address: string;
  readonly name: string;
  readonly type: string;
  readonly module: string;
  readonly provider: string;
  readonly index: string | null;
  readonly is_text: boolean;
  readonly state_version_id: string;
  readonly created_at: Date;
}

const QUALIFIED = /^(?:module\..+\.)?provider\["(?:[^"/]+\/)?([^"]+)"\]/;
const BARE = /^(?:module\..+\.)?provider\.([^.]+)/;

/**
 * The name of a provider: `hashicorp/null` for `provider["registry.example.org/hashicorp/null"]`, `null` for
 * `provider.null`.
 */
function providerName(text: string): string {
  return QUALIFIED.exec(text)?.[1] ?? BARE.exec(text)?.[1] ?? text;
}

/** The index in brackets, such as `[0]` or `["a"]`; empty if there is no index. */
function bracketed({ index, is_text: isText }: ManagedResourceRow): string {
  if (index === null) return '';
  return `[${isText ? JSON.stringify(index).replace(/([$%])\{/g, '$1$1{') : index}]`;
}

/** An id that is the same for an instance of a workspace in every state. */
function idOf(workspaceId: string, address: string): string {
  const digest = createHash('sha256').update(`${workspaceId} ${address}`).digest('hex');
  return `wsr-${digest.slice(0, 16)}`;
}

/**
 * Matches the word `module` before each module name. Also matches quoted strings, because they may contain this word.
 */
const moduleWords = '("(?:[^"\\\\]|\\\\.)*")|(^|\\.)module\\.';

/**
 * A page of the resources in the current state, one row per instance, by address, without data sources. A state that
 * was read before indexes were stored has one row per resource. For a very large state, not all instances are listed;
 * `meta` then contains the number of missing ones.
 */
export async function listResources(
  db: Database,
  workspace: Workspace,
  page: Page,
): Promise<{ items: ManagedResource[]; total: number; meta?: Record<string, unknown> }> {
  const { id, organizationId, currentStateVersionId } = workspace;
  const managed = Prisma.sql`
    FROM state_version v CROSS JOIN LATERAL json_array_elements(v.resources) WITH ORDINALITY r(said, nth)
         CROSS JOIN LATERAL json_array_elements(coalesce(r.said->'keys', '[null]')) WITH ORDINALITY k(key, nth)
   WHERE v.id = ${currentStateVersionId} AND r.said->>'type' NOT LIKE 'data.%'`;
  const rows = await db.prisma.$queryRaw<ManagedResourceRow[]>`
    SELECT x.*, a.address FROM (
      SELECT regexp_replace(r.said->>'module', ${moduleWords}, '\\1\\2', 'g') AS module,
             r.said->>'type' AS type, r.said->>'name' AS name, r.said->>'provider' AS provider,
             k.key #>> '{}' AS index, json_typeof(k.key) = 'string' AS is_text, r.nth AS resource, k.nth AS instance,
             v.id AS state_version_id, v.created_at ${managed}) x
      CROSS JOIN LATERAL
        (SELECT CASE x.module WHEN 'root' THEN '' ELSE x.module || '.' END || x.type || '.' || x.name) a(address)
     ORDER BY a.address COLLATE "C", x.resource, x.instance LIMIT ${page.size} OFFSET ${page.offset}`;
  const [{ total }] = await db.prisma.$queryRaw<[{ total: number }]>`SELECT count(*)::int AS total ${managed}`;
  const items = rows.map((row) => {
    const address = row.address + bracketed(row);
    return {
      id: idOf(id, address),
      organizationId,
      address,
      name: row.name,
      type: row.type,
      module: row.module,
      provider: providerName(row.provider),
      index: row.index,
      stateVersionId: row.state_version_id,
      updatedAt: row.created_at,
    };
  });
  const missing = workspace.resourceCount - total;
  return { items, total, ...(missing > 0 ? { meta: { 'not-listed': missing } } : {}) };
}

/** An instance of a managed resource. */
export const managedResourceSerializer = serializerOf<ManagedResource>()({
  type: 'resources',
  shape: {
    address: text,
    name: text,
    module: text,
    provider: text,
    'provider-type': text,
    'created-at': instant,
    'updated-at': instant,
    'modified-by-state-version-id': text,
    'name-index': text.nullable(),
  },
  id: ({ id }) => id,
  attributes: ({ address, name, type, module, provider, index, stateVersionId, updatedAt }) => ({
    address,
    name,
    module,
    provider,
    'provider-type': type,
    // The times of the current state, because earlier states are not compared.
    'created-at': updatedAt,
    'updated-at': updatedAt,
    'modified-by-state-version-id': stateVersionId,
    'name-index': index,
  }),
});
