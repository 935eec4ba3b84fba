import { parseExact } from '@keystead/envelope';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Call } from '../../sdk/call';
import { bool, string } from '../../sdk/fields';
import { type Operation, path } from '../../sdk/path';
import { pathProblem } from '../../sdk/path-text';
import { data, type Reply } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { checkCas } from './data';
import {
  authorOf,
  configOf,
  findKeys,
  type KeyMetadata,
  type KvConfig,
  newKey,
  putKey,
  readable,
  removeKey,
  scanKeys,
  valueKey,
  versionedKey,
  withNextVersion,
} from './key-metadata';

/**
 * The limits of one request. They limit its memory, and how long other requests wait for the entries that it writes.
 */
const most = { secrets: 200, versions: 2000, bytes: 32 * 1024 * 1024 };

const MoveInput = z.object({
  from: string().optional().describe('The secret. Or, with a slash at the end, a folder with everything below it.'),
  to: string().optional().describe('The new path. For a folder, it also ends with a slash; / is the whole engine.'),
  overwrite: bool().optional().describe('Replace existing secrets. By default the request is refused if one exists.'),
});
const CopyInput = MoveInput.extend({
  all_versions: bool()
    .optional()
    .describe('Also copy versions and metadata. By default only the newest value is copied, as a new version.'),
});
const output = z.object({ secrets: z.array(z.object({ from: z.string(), to: z.string() })) });
const auditClear = ['from', 'to', 'overwrite', 'all_versions', 'secrets'];

/** Moves and copies secrets and folders within an engine, atomically. */
export const relocationPaths = [
  path('move', {
    summary: 'Moves secrets.',
    write: {
      summary: 'Move or rename a secret or a folder, with all versions and metadata.',
      description: rightsText('read and delete them at the source, and write them at the target'),
      operationId: 'move',
      input: MoveInput,
      output,
      auditClear,
      run: (call) => relocate(call, { ...call.input, whole: true, moves: true }),
    },
  }),
  path('copy', {
    summary: 'Copies secrets.',
    write: {
      summary: 'Copy a secret or a folder.',
      description: rightsText('read them at the source and write them at the target'),
      operationId: 'copy',
      input: CopyInput,
      output,
      auditClear,
      run: (call) => relocate(call, { ...call.input, whole: call.input.all_versions ?? false, moves: false }),
    },
  }),
];

function rightsText(rights: string): NonNullable<Operation['description']> {
  return `The caller must be allowed to ${rights}, each secret. At most ${most.secrets} secrets and ${most.versions} versions at once.`;
}

interface Wish extends z.output<typeof MoveInput> {
  /** Whether all versions and the metadata are included. */
  readonly whole: boolean;
  readonly moves: boolean;
}

type Relocation = { readonly from: string; readonly to: string };

async function relocate(call: Call, request: Wish): Promise<Reply> {
  const { storage } = call;
  const planned = await plan(call, request);
  const config = await configOf(storage);
  const carryAll = async (tx: Storage) => {
    const names = planned.flatMap(({ from, to }) => [from, to]).sort();
    const found = await findKeys(tx, '', names);
    const budget = { versions: most.versions, bytes: most.bytes };
    const relocations: Relocation[] = [];
    for (const one of planned) {
      requireSource(call, one.from, request);
      const key = found.get(one.from);
      if (key && (await carry(call, tx, { ...one, key, before: found.get(one.to), config, wish: request, budget })))
        relocations.push(one);
    }
    if (relocations.length === 0) throw new Refusal('missing', `there is no secret at ${request.from}`);
    return relocations;
  };
  const secrets = await storage.transaction(versionedKey(planned[0]!.from), carryAll, true);
  return data({ secrets });
}

/** The affected secrets, each with its new path. */
async function plan({ storage, requireRight }: Call, request: Wish): Promise<readonly Relocation[]> {
  const from = placeOf(request.from, 'from');
  const to = placeOf(request.to, 'to');
  const isFolder = from === '' || from.endsWith('/');
  if (isFolder !== (to === '' || to.endsWith('/'))) {
    throw invalid('to', 'from and to must both be secrets, or both be folders that end with a slash');
  }
  if (!isFolder && from !== to) return [{ from, to }];
  if (to.startsWith(from)) throw invalid('to', 'to must not be the same as from or below it');
  requireRight({ operation: 'list', path: `metadata/${from}` });
  const names = await scanKeys(storage, from, { limit: most.secrets + 1 });
  if (names.length === 0) throw new Refusal('missing', `there is no secret below ${request.from}`);
  if (names.length > most.secrets) {
    throw invalid(
      'from',
      `more than ${most.secrets} secrets are below ${request.from}: move or copy its folders one by one`,
    );
  }
  const folders = new Set(names.map((name) => name.slice(0, name.lastIndexOf('/') + 1)));
  for (const folder of folders) requireRight({ operation: 'list', path: `metadata/${from}${folder}` });
  const sources = new Set(names.map((name) => from + name));
  const inTheWay = names.find((name) => sources.has(to + name));
  if (inTheWay !== undefined) {
    throw invalid('to', `${from + inTheWay} would replace ${to + inTheWay}, which is also in the folder`);
  }
  return names.map((name) => ({ from: from + name, to: to + name }));
}

function placeOf(text: string | undefined, field: 'from' | 'to'): string {
  if (text === undefined || text === '') throw invalid(field, `${field} is missing`);
  const place = text.replace(/^\//, '');
  if (pathProblem(place) !== undefined) {
    throw invalid(field, `${field} must be a path without empty segments, dot segments and invisible characters`);
  }
  return place;
}

/**
 * Requires the rights on a source. They are checked even if the secret does not exist, so that the response does not
 * reveal whether it does.
 */
function requireSource({ requireRight }: Call, from: string, { whole, moves }: Wish): void {
  requireRight({ operation: 'read', path: `data/${from}` });
  if (whole) requireRight({ operation: 'read', path: `metadata/${from}` });
  if (moves) requireRight({ operation: 'delete', path: `metadata/${from}` });
}

/** Relocates one secret within the shared transaction. False if a copy would be empty. */
async function carry(
  call: Call,
  tx: Storage,
  {
    from,
    to,
    key,
    before,
    config,
    wish: { whole, moves, overwrite },
    budget,
  }: Relocation & {
    readonly key: KeyMetadata;
    readonly before: KeyMetadata | undefined;
    readonly config: KvConfig;
    readonly wish: Wish;
    readonly budget: { versions: number; bytes: number };
  },
): Promise<boolean> {
  const { nowMs, requireRight } = call;
  const newest = key.versions[key.currentVersion];
  if (!whole && !(newest && readable(newest, nowMs))) return false;
  const numbers = whole ? Object.keys(key.versions).map(Number) : [key.currentVersion];
  budget.versions -= numbers.length;
  if (budget.versions < 0)
    throw invalid('from', `there are more than ${most.versions} versions: move or copy fewer secrets at once`);
  const values = await tx.getMany(numbers.map((number) => valueKey(from, number)));
  const operation = before ? 'update' : 'create';
  for (const text of values.size === 0 ? ['{}'] : values.values()) {
    budget.bytes -= text.length;
    if (budget.bytes < 0) throw invalid('from', 'the secrets are larger than 32 MiB: move or copy fewer at once');
    const fields = call.caller.root ? undefined : { data: parseExact(text) };
    requireRight({ operation, path: `data/${to}`, fields });
  }
  const { custom_metadata, ...settings } = metadataOf(key);
  if (whole && (custom_metadata || Object.values(settings).some(Boolean))) {
    requireRight({
      operation,
      path: `metadata/${to}`,
      fields: { ...settings, ...(custom_metadata && { custom_metadata }) },
    });
  }
  if (before) {
    if (whole) requireRight({ operation: 'delete', path: `metadata/${to}`, destroys: true });
    if (!overwrite) throw invalid('to', `there is already a secret at ${to}: set overwrite to replace it`);
    checkCas(before, config, undefined);
  }
  if (whole) {
    if (before) removeKey(tx, to, before);
    putKey(tx, to, { ...key, updatedAtMs: nowMs });
    for (const number of numbers) putValue(tx, to, number, values.get(valueKey(from, number)));
  } else {
    const nextVersion = withNextVersion(before ?? newKey(nowMs), config, nowMs, authorOf(call.caller));
    putKey(tx, to, nextVersion.key, before);
    putValue(tx, to, nextVersion.version, values.get(valueKey(from, key.currentVersion)));
    for (const number of nextVersion.dropped) tx.delete(valueKey(to, number));
  }
  if (moves) removeKey(tx, from, key);
  return true;
}

function putValue(tx: Storage, at: string, number: number, text: string | undefined): void {
  if (text !== undefined) tx.put(valueKey(at, number), text);
}

const metadataOf = (key: KeyMetadata) => ({
  max_versions: key.maxVersions,
  cas_required: key.casRequired,
  delete_version_after: key.deleteAfterSeconds,
  custom_metadata: key.customMetadata ?? undefined,
});

function invalid(field: string, message: string): Refusal {
  return new Refusal('invalid', message, [{ path: [field], message }]);
}
