import type { ResponseBody, ServiceResponse } from '../client';
import type { CommandSpec } from '../command';
import type { Context } from '../context';
import { exitCodes, Problem } from '../problem';
import { listNames } from './data';
import { findKvPath, findVersioned, type KvPath } from './kv-mount';
import { print, printField, printOrField, printOrSay, withoutEmptyParts } from './print';
import { count, listed, parseValues, valuesHelp } from './values';

const mount = { '--mount <path>': 'mount path of the engine; by default found from the path' } as const;
const field = { '--field <name>': 'print only this field' } as const;
const key = { '<path>': 'the secret, for example kv/app/db, or app/db with --mount' } as const;
const cas = { '--cas <version>': 'only if this is the newest version; 0: only if the secret does not exist' } as const;
const versions = {
  '--versions <numbers>': { help: 'version numbers, separated by commas', required: true },
} as const;

interface KvFlags {
  mount?: string;
  field?: string;
  version?: string;
  versions?: string;
  cas?: string;
  method?: string;
  removeData?: string[];
  overwrite?: boolean;
  allVersions?: boolean;
}

/** `kv …`: key/value secrets, with and without versions. */
export const kvCommands: readonly CommandSpec[] = [
  {
    name: 'kv get',
    help: 'Read a secret.',
    args: key,
    flags: { ...mount, ...field, '--version <number>': 'an older version' },
    examples: ['kv get kv/app/db', 'kv get -mount=kv -field=password app/db', 'kv get -version=2 kv/app/db'],
    async run(context, flags: KvFlags, path: string) {
      const found = await findKvPath(context, path, flags.mount);
      if (flags.version && !found.versioned) await findVersioned(context, path, flags.mount);
      const query = flags.version ? { version: String(count(flags.version, '--version')) } : undefined;
      const answer = await context.client.get(found.at('data'), { query, accept: [404] });
      const { body } = answer;
      if (answer.status === 404 && !body?.data) {
        throw new Problem(`GET ${found.at('data')}: 404: there is nothing here`, exitCodes.refused);
      }
      if (!found.versioned || body?.wrap_info) return printOrField(context, answer, flags.field);
      const data = body?.data?.data as Record<string, unknown> | null | undefined;
      if (flags.field) {
        if (!data) throw new Problem(`this version of ${found.key} is deleted`, exitCodes.refused);
        const whole = flags.field === 'data' && !('data' in data) ? { data } : data;
        return printField(context, whole, flags.field);
      }
      showVersion(context, answer, found.at('data'), data);
    },
  },
  {
    name: 'kv put',
    help: 'Write a secret. In an engine with versions, this creates a new version.',
    args: { ...key, '[values...]': 'name=value, name:=json, name=@file, or - for a JSON object' },
    flags: { ...mount, ...field, ...cas },
    examples: ['kv put kv/app/db user=ada', 'kv put -mount=kv -cas=1 app/db user=ada'],
    more: valuesHelp,
    async run(context, flags: KvFlags, path: string, ...pairs: string[]) {
      if (pairs.length === 0) throw new Problem('give values to write');
      const data = await parseValues(pairs, context.ask);
      const found = await findKvPath(context, path, flags.mount);
      if (flags.cas && !found.versioned) await findVersioned(context, path, flags.mount);
      const body = found.versioned ? { data, options: casOf(flags) } : data;
      const answer = await context.client.put(found.at('data'), body);
      if (flags.field) printOrField(context, answer, flags.field);
      else printOrSay(context, answer, `written: ${found.at('data')}`);
    },
  },
  {
    name: 'kv patch',
    help: 'Change some fields of a secret and keep the others, as a new version.',
    args: { ...key, '[values...]': 'name=value, name:=json, name=@file, or - for a JSON object' },
    flags: {
      ...mount,
      ...field,
      ...cas,
      '--remove-data <field>': { help: 'a field to remove', repeatable: true },
      '--method <method>': 'patch: one request; rw: read and write, for tokens that may not patch [patch]',
    },
    examples: ['kv patch kv/app/db password=@/run/secrets/db', 'kv patch -remove-data=old kv/app/db'],
    more: valuesHelp,
    async run(context, flags: KvFlags, path: string, ...pairs: string[]) {
      const { removeData = [] } = flags;
      if (pairs.length + removeData.length === 0) throw new Problem('give values to change, or --remove-data');
      const values = pairs.length === 0 ? {} : await parseValues(pairs, context.ask);
      const both = removeData.find((name) => name in values);
      if (both !== undefined) throw new Problem(`${both} is both set and removed`);
      const found = await findVersioned(context, path, flags.mount);
      const { method = 'patch' } = flags;
      const data = { ...values, ...Object.fromEntries(removeData.map((name) => [name, null])) };
      if (method !== 'patch' && method !== 'rw') throw new Problem(`--method ${method}: use patch or rw`);
      const answer =
        method === 'patch'
          ? await context.client.patch(found.at('data'), { data, options: casOf(flags) })
          : await readAndWrite(context, found.at('data'), data);
      printOrField(context, answer, flags.field);
    },
  },
  {
    name: 'kv delete',
    help: 'Delete a secret, or versions of it. kv undelete restores versions.',
    args: key,
    flags: { ...mount, '--versions <numbers>': 'these versions, separated by commas [the newest]' },
    examples: ['kv delete kv/app/db', 'kv delete -versions=1,2 kv/app/db'],
    async run(context, flags: KvFlags, path: string) {
      const found = flags.versions
        ? await findVersioned(context, path, flags.mount)
        : await findKvPath(context, path, flags.mount);
      const answer = flags.versions
        ? await context.client.post(found.at('delete'), { versions: versionsOf(flags) })
        : await context.client.delete(found.at('data'));
      printOrSay(context, answer, `deleted: ${found.at('data')}`);
    },
  },
  {
    name: 'kv undelete',
    help: 'Restore deleted versions.',
    args: key,
    flags: { ...mount, ...versions },
    examples: ['kv undelete -versions=2 kv/app/db'],
    async run(context, flags: KvFlags, path: string) {
      const found = await findVersioned(context, path, flags.mount);
      const answer = await context.client.post(found.at('undelete'), { versions: versionsOf(flags) });
      printOrSay(context, answer, `undeleted: ${found.at('data')}`);
    },
  },
  {
    name: 'kv destroy',
    help: 'Destroy versions permanently.',
    args: key,
    flags: { ...mount, ...versions },
    examples: ['kv destroy -versions=1 kv/app/db'],
    async run(context, flags: KvFlags, path: string) {
      const found = await findVersioned(context, path, flags.mount);
      const answer = await context.client.put(found.at('destroy'), { versions: versionsOf(flags) });
      printOrSay(context, answer, `destroyed: ${found.at('data')}`);
    },
  },
  relocation('move', 'Move or rename a secret, or a folder (with a slash at its end).', {}),
  relocation('copy', 'Copy the newest value of a secret, or of all secrets in a folder (with a slash at its end).', {
    '--all-versions': 'copy older versions and the metadata as well',
  }),
  {
    name: 'kv list',
    help: 'List secrets; names ending in / are folders.',
    args: { '[path]': 'the folder, for example kv/app; with --mount the whole engine when left out' },
    flags: mount,
    examples: ['kv list kv/app', 'kv list -mount=kv'],
    async run(context, flags: KvFlags, path?: string) {
      if (!path && !flags.mount) throw new Problem('give a path or --mount');
      const found = await findKvPath(context, path ?? '', flags.mount);
      await listNames(context, found.at('metadata'));
    },
  },
  {
    name: 'kv scan',
    help: 'List secrets, including those in folders.',
    args: { '[path]': 'the folder, for example kv/app; with --mount the whole engine when left out' },
    flags: mount,
    examples: ['kv scan kv', 'kv scan -mount=kv app'],
    async run(context, flags: KvFlags, path?: string) {
      if (!path && !flags.mount) throw new Problem('give a path or --mount');
      const found = await findKvPath(context, path ?? '', flags.mount);
      await listNames(context, found.at('metadata'), true);
    },
  },
  {
    name: 'kv rollback',
    help: 'Write the data of an older version as a new version.',
    args: key,
    flags: { ...mount, '--version <number>': { help: 'the older version to restore', required: true } },
    examples: ['kv rollback -version=1 kv/app/db'],
    async run(context, flags: KvFlags, path: string) {
      const found = await findVersioned(context, path, flags.mount);
      const newest = await context.client.get(found.at('metadata'), { unwrapped: true });
      const query = { version: String(count(flags.version ?? '', '--version')) };
      const older = await context.client.get(found.at('data'), { query, unwrapped: true });
      const data = older.body?.data?.data;
      if (!data) throw new Problem(`version ${flags.version} of ${found.key} is deleted`, exitCodes.refused);
      const options = { cas: newest.body?.data?.current_version };
      print(context, await context.client.put(found.at('data'), { data, options }));
    },
  },
  {
    name: 'kv enable-versioning',
    help: 'Enable versions for an engine.',
    args: { '<mount>': 'mount path of the engine' },
    flags: {},
    examples: ['kv enable-versioning kv'],
    async run(context, _, path: string) {
      const answer = await context.client.post(`sys/mounts/${path.replace(/\/$/, '')}/tune`, {
        options: { version: '2' },
      });
      printOrSay(context, answer, `${path} keeps versions`);
    },
  },
];

/** Declares `kv move` or `kv copy`. Both are atomic. */
function relocation(verb: 'move' | 'copy', help: string, flags: CommandSpec['flags']): CommandSpec {
  return {
    name: `kv ${verb}`,
    help,
    args: {
      '<from>': 'the secret or folder, for example kv/app/db or kv/app/',
      '<to>': 'new path, in the same engine',
    },
    flags: { ...mount, ...flags, '--overwrite': 'replace existing secrets' },
    examples: [`kv ${verb} kv/app/db kv/app/database`, `kv ${verb} kv/app/ kv/team/app/`],
    async run(context, { mount: engine, overwrite, allVersions }: KvFlags, from: string, to: string) {
      const source = await findVersioned(context, from, engine);
      const target = await findVersioned(context, to, engine);
      if (source.mount !== target.mount)
        throw new Problem(`${from} and ${to} are in different engines: use kv get and kv put`);
      const place = (text: string, { key: at }: KvPath) => (text.endsWith('/') || at === '' ? `${at}/` : at);
      const body = { from: place(from, source), to: place(to, target), overwrite, all_versions: allVersions };
      const answer = await context.client.post(`${source.mount}/${verb}`, body);
      const { secrets = [] } = (answer.body?.data ?? {}) as { secrets?: { from: string; to: string }[] };
      if (context.output.forPrograms) print(context, answer);
      else for (const one of secrets) context.output.line(`${source.mount}/${one.from} -> ${source.mount}/${one.to}`);
    },
  };
}

async function readAndWrite(
  { client }: Context,
  path: string,
  change: Record<string, unknown>,
): Promise<ServiceResponse> {
  const { body } = await client.get(path, { unwrapped: true });
  const { data, metadata } = (body?.data ?? {}) as { data?: object; metadata?: { version?: number } };
  const changed = Object.entries({ ...data, ...change }).filter(([name]) => change[name] !== null);
  return client.put(path, { data: Object.fromEntries(changed), options: { cas: metadata?.version } });
}

function showVersion(
  { output }: Context,
  { body }: ServiceResponse,
  path: string,
  data: object | null | undefined,
): void {
  if (output.forPrograms) {
    output.show(withoutEmptyParts(body ?? {}));
    return;
  }
  output.warnings(body?.warnings);
  const metadata = body?.data?.metadata as ResponseBody | undefined;
  output.show(body, { path, ...metadata });
  output.line('');
  if (data) output.show(data);
  else output.note('this version is deleted');
}

function casOf({ cas: version }: KvFlags): { cas?: number } {
  return version === undefined ? {} : { cas: count(version, '--cas') };
}

function versionsOf({ versions: text = '' }: KvFlags): number[] {
  return (listed([text]) ?? []).map((one) => count(one, '--versions'));
}
