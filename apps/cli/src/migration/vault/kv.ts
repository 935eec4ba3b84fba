import { jsonText } from '@keystead/envelope';
import { same } from './carry';
import { attempt, findHere, labelOf, type NamespacePair, namesThere } from './job';
import { inParallel } from './pace';
import type { Data, SecretsServer } from './server';

/** The version data of a secret, as kv engines return it. */
interface Facts {
  readonly current_version: number;
  readonly versions: Readonly<Record<string, { deletion_time?: string; destroyed?: boolean }>>;
}

/** Settings of a secret, apart from its values, that may be set. */
const settings = ['max_versions', 'cas_required', 'delete_version_after', 'custom_metadata'] as const;
/** Versions kept by default, on either side. */
const KEPT = 10;

/** Copies all secrets of an engine. `mount` ends in a slash. */
export async function copySecrets(place: NamespacePair, mount: string, versioned: boolean): Promise<void> {
  const { job } = place;
  const keptByMount = versioned ? Number((await place.from.find(`${mount}config`))?.max_versions ?? 0) || KEPT : 0;
  await inParallel(pathsBelow(place, versioned ? `${mount}metadata/` : mount, ''), job.parallel, async (path) => {
    await attempt(job, () =>
      versioned ? copyVersions(place, mount, path, keptByMount) : copyValue(place, `${mount}${path}`),
    );
    job.progress.step();
  });
}

/** The secrets below a folder, depth first and in the order of names. Only one page of each level is in memory. */
async function* pathsBelow(place: NamespacePair, root: string, folder: string): AsyncGenerator<string> {
  for await (const name of namesThere(place, `${root}${folder}`)) {
    if (name.endsWith('/')) yield* pathsBelow(place, root, `${folder}${name}`);
    else yield `${folder}${name}`;
  }
}

async function copyValue(place: NamespacePair, path: string): Promise<void> {
  const { job, from, to } = place;
  const here = await findHere(place, path);
  if (job.dryRun) return here ? job.report.skip('secret') : job.report.add('secret');
  const value = await from.find(path);
  // The secret was deleted after it was listed.
  if (!value) return;
  if (here && !sameValue(here, value)) {
    return job.report.manualStep(`${labelOf(place, path)}: has another value here, which stays`);
  }
  if (here) return job.report.skip('secret');
  await to.write(path, value);
  job.report.add('secret');
}

async function copyVersions(place: NamespacePair, mount: string, path: string, keptByMount: number): Promise<void> {
  const { job, from } = place;
  const { report } = job;
  const label = labelOf(place, `${mount}${path}`);
  const meta = `${mount}metadata/${path}`;
  const there = await from.find(meta);
  if (!there) return;
  const here = await findHere(place, meta);
  const sourceFacts = factsOf(there);
  const targetFacts = here && factsOf(here);
  const lastCopied = targetFacts?.current_version ?? 0;
  const why =
    targetFacts && lastCopied > 0 ? await whyNotOurs(place, mount, path, sourceFacts, targetFacts) : undefined;
  if (why) return report.manualStep(`${label}: ${why}`);
  const numbers = Object.keys(sourceFacts.versions).map(Number);
  const first = Math.min(...numbers, sourceFacts.current_version + 1);
  const gap = Math.max(0, first - lastCopied - 1);
  if (gap > job.longestGap) {
    return report.fail(`${label}: begins with version ${first}: -longest-gap=${gap} skips the numbers before it`);
  }
  if (here) report.skip('secret');
  else report.add('secret');
  report.skip('version', numbers.filter((number) => number <= lastCopied).length);
  const missing = numbers.filter((number) => number > lastCopied).length;
  tellUnread(place, label, sourceFacts, lastCopied);
  if (there.metadata_cas_required === true) report.manualStep(`${label}: metadata_cas_required is unknown here`);
  if (job.dryRun) return report.add('version', missing);
  const settingsThere = Object.fromEntries(settings.map((name) => [name, there[name]]));
  const keptVersions = Number(there.max_versions) || keptByMount;
  // While versions are written, the limits are those of the source.
  const meanwhile = missing > 0 && (first > 1 || keptVersions < numbers.length) ? { max_versions: numbers.length } : {};
  await bring(place, meta, here ?? {}, { ...settingsThere, ...meanwhile }, here === undefined);
  for (let number = lastCopied + 1; number <= sourceFacts.current_version; number += 1) {
    await copyVersion(place, mount, path, number, sourceFacts);
    if (sourceFacts.versions[number]) report.add('version');
  }
  await mark(place, mount, path, sourceFacts, lastCopied, targetFacts);
  if ('max_versions' in meanwhile) await bring(place, meta, meanwhile, settingsThere, false);
}

/** Why the versions here cannot come from an earlier run; undefined if they can. */
async function whyNotOurs(place: NamespacePair, mount: string, path: string, there: Facts, targetFacts: Facts) {
  const newest = targetFacts.current_version;
  if (newest > there.current_version) return 'has more versions here, which stay';
  const valueAt = async (side: SecretsServer, version: string | number) =>
    (await side.find(`${mount}data/${path}`, { version: String(version) }))?.data;
  if (!there.versions[newest]) {
    // An earlier run may have been interrupted while it bridged a gap: then all versions here are empty.
    for (const number of Object.keys(targetFacts.versions)) {
      const own = await valueAt(place.to, number);
      if (!isEmpty(own))
        return `version ${newest}, the newest here, is missing there: delete it here to copy the secret again`;
    }
    return undefined;
  }
  const [value, own] = await Promise.all([valueAt(place.from, newest), valueAt(place.to, newest)]);
  // A value that could not be read was copied as an empty version, which was then destroyed.
  const equal = value ? !own || sameValue(own, value) : isEmpty(own);
  return equal ? undefined : `version ${newest} has another value here, which stays`;
}

const isEmpty = (value: unknown): boolean => !value || Object.keys(value).length === 0;

/** Writes the next version: the source's, or an empty one if the source's no longer exists or cannot be read. */
async function copyVersion(
  place: NamespacePair,
  mount: string,
  path: string,
  number: number,
  there: Facts,
): Promise<void> {
  const version = there.versions[number];
  const value =
    version && !version.destroyed
      ? (await place.from.find(`${mount}data/${path}`, { version: String(number) }))?.data
      : undefined;
  // Check-and-set: a concurrent write here is not overwritten.
  await place.to.write(`${mount}data/${path}`, { data: value ?? {}, options: { cas: number - 1 } });
}

/** Marks versions like the source. A value that was deleted at the source cannot be read, so it is destroyed here. */
async function mark(
  place: NamespacePair,
  mount: string,
  path: string,
  there: Facts,
  lastCopied: number,
  targetFacts: Facts | undefined,
) {
  const now = Date.now();
  const entries = Object.entries(there.versions);
  const isNew = (number: string) => Number(number) > lastCopied;
  const open = ([number]: [string, unknown]) => isNew(number) || targetFacts?.versions[number]?.destroyed === false;
  const deleted = entries.filter(([, facts]) => isPast(facts.deletion_time, now) && !facts.destroyed).filter(open);
  const destroyed = entries.filter(([, facts]) => facts.destroyed).filter(open);
  const both = entries.filter(
    ([number, facts]) => isNew(number) && facts.destroyed && isPast(facts.deletion_time, now),
  );
  const send = async (what: string, entries: [string, unknown][]) => {
    if (entries.length === 0) return;
    await place.to.write(`${mount}${what}/${path}`, { versions: entries.map(([number]) => Number(number)) });
  };
  await send('delete', [...deleted, ...both]);
  await send('destroy', [...destroyed, ...deleted.filter(([number]) => isNew(number))]);
}

function tellUnread({ job }: NamespacePair, label: string, { versions }: Facts, lastCopied: number): void {
  const now = Date.now();
  const fresh = Object.entries(versions).filter(([number, { destroyed }]) => Number(number) > lastCopied && !destroyed);
  const deleted = fresh.filter(([, facts]) => isPast(facts.deletion_time, now)).map(([number]) => number);
  const ending = fresh.filter(([, { deletion_time: at }]) => at && !isPast(at, now)).map(([number]) => number);
  if (deleted.length > 0) {
    job.report.manualStep(`${label}: deleted versions cannot be read, and are destroyed here: ${deleted.join(', ')}`);
  }
  if (ending.length > 0) {
    job.report.manualStep(
      `${label}: the time until these versions are deleted starts again here: ${ending.join(', ')}`,
    );
  }
}

/** Writes the settings of a secret if they differ. With `always`, writes them even if none differs. */
async function bring(place: NamespacePair, meta: string, before: Data, changes: Data, always: boolean): Promise<void> {
  const changed = Object.entries(changes).filter(([name, value]) => !same(value, before[name]));
  if (always || changed.length > 0) await place.to.write(meta, Object.fromEntries(changed.map(settable)));
}

const settable = ([name, value]: [string, unknown]): [string, unknown] => [
  name,
  name === 'custom_metadata' ? (value ?? {}) : value,
];

const isPast = (time: string | undefined, now: number): boolean => Boolean(time) && Date.parse(String(time)) <= now;

function factsOf(data: Data): Facts {
  return { current_version: Number(data.current_version ?? 0), versions: (data.versions ?? {}) as Facts['versions'] };
}

/** Values are equal if their JSON with sorted names is. */
const sameValue = (one: unknown, other: unknown): boolean => jsonText(inOrder(one)) === jsonText(inOrder(other));

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const ordered: [string, unknown][] = Object.entries(value).map(([name, item]) => [name, inOrder(item)]);
  return Object.fromEntries(ordered.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}
