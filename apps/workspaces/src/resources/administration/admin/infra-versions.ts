import { anything, document, flag, instant, text, whole } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import { compare, rcompare } from 'semver';
import { z } from 'zod';
import type { Prisma, InfraVersion as Row } from '../../../generated/prisma/client';
import type { Policy } from '../../../kernel/access/policy';
import { type Actor, actorOf, recordChange, system } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { literally } from '../../../kernel/database/like';
import { type Call, type Endpoint, endpoints, type LookupBy, serializerOf } from '../../../kernel/endpoints/endpoint';
import { isExact, releaseUrl, shippedVersions } from '../../../kernel/installation/infra-versions';

/** The two lists of versions: of the infrastructure tool, and of policy engines. */
type Tool = 'infra' | 'opa' | 'sentinel';

/** A version of a tool, and the number of workspaces or policy sets that use it. */
interface InfraVersion extends Row {
  readonly usage: number;
}

const serializerFor = (type: string) =>
  serializerOf<InfraVersion>()({
    type,
    shape: {
      version: text,
      url: text.nullable(),
      sha: text.nullable(),
      official: flag,
      deprecated: flag,
      'deprecated-reason': text.nullable(),
      enabled: flag,
      beta: flag,
      usage: whole,
      archs: anything,
      'created-at': instant,
    },
    id: ({ id }) => id,
    attributes: (version) => ({
      version: version.version,
      // Archives of built-in versions are not stored, because the vendor's site has them.
      url: version.url ?? releasedAt(version),
      sha: version.sha,
      official: version.official,
      deprecated: version.deprecated,
      'deprecated-reason': version.deprecatedReason || null,
      enabled: version.enabled,
      beta: version.beta,
      usage: version.usage,
      archs: archsOf(version),
      'created-at': version.createdAt,
    }),
  });

const releasedAt = ({ official, tool, version }: Row) => (official && tool === 'infra' ? releaseUrl(version) : null);

/** The stored archives, or the only archive whose URL is known. */
function archsOf(row: Row): unknown {
  const stored = row.archs as readonly unknown[];
  const url = row.url ?? releasedAt(row);
  return stored.length > 0 || url === null ? stored : [{ url, sha: row.sha, ...platform }];
}

const exact = z.string().min(1).max(64).refine(isExact, 'must be a complete version such as 1.11.4');
const url = z.string().max(2048).nullable().optional();
const arch = z.object({ url: z.string(), sha: z.string(), os: z.string(), arch: z.string() });
const shared = {
  url,
  sha: z.string().max(128).nullable().optional(),
  official: z.boolean().optional(),
  deprecated: z.boolean().optional(),
  'deprecated-reason': z.string().max(1024).nullable().optional(),
  enabled: z.boolean().optional(),
  beta: z.boolean().optional(),
  archs: z.array(arch).max(64).optional(),
};

/** Rows of one tool, with the number of uses of each version. */
async function withUsage(db: Database, rows: readonly Row[]): Promise<InfraVersion[]> {
  const versions = rows.map(({ version }) => version);
  const tool = rows[0]?.tool;
  const counts =
    tool === 'infra'
      ? await db.prisma.$queryRaw<Count[]>`
          SELECT infra_version AS version, count(*)::int AS count FROM workspace
           WHERE infra_version = ANY(${versions}) GROUP BY infra_version`
      : await db.prisma.$queryRaw<Count[]>`
          SELECT policy_tool_version AS version, count(*)::int AS count FROM policy_set
           WHERE kind = ${tool} AND policy_tool_version = ANY(${versions}) GROUP BY policy_tool_version`;
  const usage = new Map(counts.map(({ version, count }) => [version, count]));
  return rows.map((row) => ({ ...row, usage: usage.get(row.version) ?? 0 }));
}

interface Count {
  readonly version: string;
  readonly count: number;
}

/**
 * Adds rows for the built-in versions when they are first listed, so that administrators can change them like their
 * own.
 */
async function ensureShipped(db: Database): Promise<void> {
  const data = shippedVersions.map((version) => ({ id: newId('tool'), version, official: true }));
  await db.prisma.infraVersion.createMany({ data, skipDuplicates: true });
}

/** A version that its vendor has released, with the addresses of its archives. */
interface Released {
  readonly version: string;
  readonly archs: readonly Arch[];
}

/** Versions in the catalogue, including the built-in ones. */
export async function knownVersions(db: Database): Promise<ReadonlySet<string>> {
  const rows = await db.prisma.infraVersion.findMany({ where: { tool: 'infra' }, select: { version: true } });
  return new Set([...shippedVersions, ...rows.map(({ version }) => version)]);
}

/** Adds a version that its vendor has released. A version that an administrator has added does not change. */
export async function addReleased(db: Database, { version, archs }: Released): Promise<void> {
  await db.transaction(async (tx) => {
    const data = { id: newId('tool'), official: true, ...inStep({ version, archs: [...archs] }) };
    const { count } = await tx.prisma.infraVersion.createMany({ data: [data], skipDuplicates: true });
    if (count === 0) return;
    const where = { tool_version: { tool: 'infra', version } };
    await record(tx, system, 'create', await tx.prisma.infraVersion.findUniqueOrThrow({ where }));
  });
}

async function find(db: Database, tool: Tool, id: string): Promise<InfraVersion | undefined> {
  const row = await db.prisma.infraVersion.findUnique({ where: { id, tool } });
  return row === null ? undefined : (await withUsage(db, [row]))[0];
}

const platform = { os: 'linux', arch: 'amd64' } as const;
type Arch = z.infer<typeof arch>;

/**
 * The address of a version is stored twice: by platform, and separately for the first platform. A change in one place
 * is also made in the other. After such a change, the URLs of other platforms are deleted, because they belong to
 * another file.
 */
function inStep<I extends VersionInput>(input: I, before?: Row): I & { archs?: Arch[] } {
  const isFirst = ({ os, arch: kind }: Arch) => os === platform.os && kind === platform.arch;
  if (input.archs !== undefined) {
    const first = input.archs.find(isFirst);
    return { url: first?.url ?? null, sha: first?.sha ?? null, ...input };
  }
  if (input.url === undefined && input.sha === undefined) return input;
  const url = input.url === undefined ? before?.url : input.url;
  const sha = input.sha === undefined ? before?.sha : input.sha;
  if (before !== undefined && url === before.url && sha === before.sha) return input;
  return { ...input, archs: url && sha ? [{ url, sha, ...platform }] : [] };
}

interface VersionInput {
  version?: string;
  url?: string | null;
  sha?: string | null;
  deprecated?: boolean;
  deprecatedReason?: string | null;
  archs?: { url: string; sha: string; os: string; arch: string }[];
}

async function record(db: Database, actor: Actor, verb: string, version: Row, before?: Row): Promise<void> {
  const shown = (row: Row) => ({
    version: row.version,
    enabled: row.enabled,
    deprecated: row.deprecated,
    beta: row.beta,
  });
  await recordChange(db, actor, {
    organizationId: null,
    action: `${version.tool}-version.${verb}`,
    target: { type: `${version.tool}-versions`, id: version.id, name: version.version },
    before: before && shown(before),
    after: verb === 'delete' ? undefined : shown(version),
  });
}

const named = { infra: 'the tool', opa: 'OPA', sentinel: 'Sentinel' } as const;

/**
 * The endpoints of one tool. The endpoints of the infrastructure tool exist at two paths, each with a different
 * resource type.
 */
function endpointsUnder(type: string, tool: Tool): Endpoint[] {
  const { get, list, post, patch, remove } = endpoints({} as Policy<undefined>, serializerFor(type));
  // Policies are evaluated in both editions, by engines that the operators of the service provide.
  const admin = { siteAdmin: true, ...(tool === 'infra' ? { edition: 'self-hosted' as const } : {}) };
  const path = `/admin/${type}/:version_id` as const;
  const load = ({ db, params }: LookupBy<'version_id'>) => find(db, tool, params.version_id);
  type VersionCall<Body> = Call<typeof path, Body, InfraVersion>;
  return [
    list(`/admin/${type}`, {
      ...admin,
      summary: `List the versions of ${named[tool]} that ${tool === 'infra' ? 'workspaces' : 'policy sets'} may choose.`,
      query: { 'filter[version]': 'The exact version.', 'search[version]': 'Part of the version.' },
      sort: ['version'],
      async run({ db, query, page, sort: [order] }) {
        if (tool === 'infra') await ensureShipped(db);
        const part = query.get('search[version]');
        const where: Prisma.InfraVersionWhereInput = {
          tool,
          AND: [{ version: query.get('filter[version]') }, { version: { contains: part && literally(part) } }],
        };
        const all = await db.prisma.infraVersion.findMany({
          where,
          select: { id: true, version: true },
          orderBy: [{ createdAt: 'asc' }, { version: 'asc' }],
        });
        // The database does not know that 1.10 follows 1.9, so the numbers (a few hundred) are sorted here.
        if (order) all.sort((one, other) => (order.descending ? rcompare : compare)(one.version, other.version));
        const ids = all.slice(page!.offset, page!.offset + page!.size).map(({ id }) => id);
        const rows = await db.prisma.infraVersion.findMany({ where: { id: { in: ids } } });
        rows.sort((one, other) => ids.indexOf(one.id) - ids.indexOf(other.id));
        return { items: await withUsage(db, rows), total: all.length };
      },
    }),
    post(`/admin/${type}`, {
      ...admin,
      summary: `Add a version of ${named[tool]}.`,
      idempotent: false,
      body: document(type, { attributes: { version: exact, ...shared } }),
      async run({ db, body, ...call }) {
        const id = newId('tool');
        await db.transaction(async (tx) => {
          await record(
            tx,
            actorOf(call),
            'create',
            await tx.prisma.infraVersion.create({ data: { id, tool, ...inStep(body) } }),
          );
        });
        return still(await find(db, tool, id));
      },
    }),
    get(path, {
      ...admin,
      summary: `Show a version of ${named[tool]}.`,
      load,
      run: async ({ target }: VersionCall<undefined>) => target,
    }),
    patch(path, {
      ...admin,
      summary: `Change a version of ${named[tool]}.`,
      body: document(type, { untyped: true, attributes: { version: exact.optional(), ...shared } }),
      load,
      async run({ db, target, body, ...call }: VersionCall<VersionInput>) {
        await db.transaction(async (tx) => {
          const after = await tx.prisma.infraVersion.update({ where: { id: target.id }, data: inStep(body, target) });
          await record(tx, actorOf(call), 'update', after, target);
        });
        return still(await find(db, tool, target.id));
      },
    }),
    remove(path, {
      ...admin,
      summary:
        tool === 'infra'
          ? 'Delete a version of the tool. Refused while a workspace uses it.'
          : `Delete a version of ${named[tool]} from the list. Policy sets keep the version that they selected.`,
      load,
      async run({ db, target, ...call }: VersionCall<undefined>) {
        if (tool === 'infra' && target.usage > 0) {
          throw new Refusal('invalid', `This version is used by ${target.usage} workspaces`);
        }
        if (target.official) throw new Refusal('invalid', 'An official version cannot be deleted, only disabled');
        await db.transaction(async (tx) => {
          await tx.prisma.infraVersion.deleteMany({ where: { id: target.id } });
          await record(tx, actorOf(call), 'delete', target);
        });
      },
    }),
  ];
}

/** Site administration of tool versions. */
export const infraVersionEndpoints: readonly Endpoint[] = [
  ...endpointsUnder('infra-versions', 'infra'),
  ...endpointsUnder('terraform-versions', 'infra'),
  ...endpointsUnder('opa-versions', 'opa'),
  ...endpointsUnder('sentinel-versions', 'sentinel'),
];
