import { createHash } from 'node:crypto';
import { instant, type Page, serializer, text, whole } from '@keystead/jsonapi';
import { Prisma } from '../../../generated/prisma/client';
import type { Database } from '../../../kernel/database/database';
import type { View } from '../../../kernel/endpoints/endpoint';
import type { Workspace } from './workspace';

/** A resource that the current state of a workspace manages. */
export interface ManagedResource {
  readonly id: string;
  readonly organizationId: string;
  readonly address: string;
  readonly name: string;
  readonly type: string;
  readonly module: string;
  readonly provider: string;
  /** How many instances it has. */
  readonly count: number;
  readonly stateVersionId: string;
  readonly updatedAt: Date;
}

interface ManagedResourceRow {
  readonly address: string;
  readonly name: string;
  readonly type: string;
  readonly module: string;
  readonly provider: string;
  readonly count: number;
  readonly state_version_id: string;
  readonly created_at: Date;
}

const QUALIFIED = /^(?:module\..+\.)?provider\["(?:[^"/]+\/)?([^"]+)"\]/;
const BARE = /^(?:module\..+\.)?provider\.([^.]+)/;

/** `hashicorp/null` of `provider["registry.example.org/hashicorp/null"]`, `null` of `provider.null`. */
function providerName(text: string): string {
  return QUALIFIED.exec(text)?.[1] ?? BARE.exec(text)?.[1] ?? text;
}

/** The same for the same resource of the same workspace, in every state. */
function idOf(workspaceId: string, address: string): string {
  const digest = createHash('sha256').update(`${workspaceId} ${address}`).digest('hex');
  return `wsr-${digest.slice(0, 16)}`;
}

/** A page of the resources in the current state, by address; what it only reads (`data`) is left out. */
export async function listResources(
  db: Database,
  workspace: Workspace,
  page: Page,
): Promise<{ items: ManagedResource[]; total: number }> {
  const { id, organizationId, currentStateVersionId } = workspace;
  const managed = Prisma.sql`
    FROM state_version v CROSS JOIN LATERAL json_array_elements(v.resources) r(said)
   WHERE v.id = ${currentStateVersionId} AND r.said->>'type' NOT LIKE 'data.%'`;
  const rows = await db.prisma.$queryRaw<ManagedResourceRow[]>`
    SELECT x.* FROM (
      SELECT CASE r.said->>'module' WHEN 'root' THEN '' ELSE (r.said->>'module') || '.' END
               || (r.said->>'type') || '.' || (r.said->>'name') AS address,
             r.said->>'name' AS name, r.said->>'type' AS type, r.said->>'module' AS module,
             r.said->>'provider' AS provider, (r.said->>'count')::int AS count,
             v.id AS state_version_id, v.created_at ${managed}) x
     ORDER BY x.address COLLATE "C" LIMIT ${page.size} OFFSET ${page.offset}`;
  const [{ total }] = await db.prisma.$queryRaw<[{ total: number }]>`SELECT count(*)::int AS total ${managed}`;
  const items = rows.map(({ state_version_id, created_at, provider, ...row }) => ({
    ...row,
    id: idOf(id, row.address),
    organizationId,
    provider: providerName(provider),
    stateVersionId: state_version_id,
    updatedAt: created_at,
  }));
  return { items, total };
}

const managedResourceAttributes = {
  address: text,
  name: text,
  module: text,
  provider: text,
  'provider-type': text,
  instances: whole,
  'created-at': instant,
  'updated-at': instant,
  'modified-by-state-version-id': text,
  'name-index': text.nullable(),
};

/** A managed resource; `instances` tells how many it has. */
export const managedResourceSerializer = serializer<ManagedResource, View, typeof managedResourceAttributes>({
  type: 'resources',
  shape: managedResourceAttributes,
  id: ({ id }) => id,
  attributes: ({ address, name, type, module, provider, count, stateVersionId, updatedAt }) => ({
    address,
    name,
    module,
    provider,
    'provider-type': type,
    instances: count,
    // Of the state it is seen in: earlier ones are not compared.
    'created-at': updatedAt,
    'updated-at': updatedAt,
    'modified-by-state-version-id': stateVersionId,
    'name-index': null,
  }),
});
