import { ExactNumber } from '@keystead/envelope';
import { attempt, findHere, labelOf, type NamespacePair } from './job';
import type { Data } from './server';

/** Settings to copy. */
export interface Carried {
  /** Its kind in the report. */
  readonly kind: string;
  readonly path: string;
  /** Its settings on the other server. */
  readonly there: Data;
  /** Fields of `there` that are not settings. */
  readonly ignored?: readonly string[];
  /** Additional fields to write. */
  readonly besides?: Data;
  /** Whether the settings here are treated as unset, like defaults. */
  readonly isUnset?: (here: Data) => boolean;
}

/**
 * Copies settings if the target has none, compares the result, and reports unknown and refused ones. Returns true if
 * they were or would be written.
 */
export async function carry(
  place: NamespacePair,
  { kind, path, there, ignored = [], ...how }: Carried,
): Promise<boolean> {
  const { job, to } = place;
  const label = labelOf(place, path);
  const settings = Object.entries(there).filter(([name]) => !ignored.includes(name) && !isOlderName(name, there));
  const nonEmpty = Object.fromEntries(settings.filter(([, value]) => normal(value) !== ''));
  // Empty values are not sent, except false and 0, which may not be the default here.
  const quiet = Object.fromEntries(settings.filter(([, value]) => value === false || value === 0));
  const done = await attempt(job, async () => {
    const before = await findHere(place, path);
    if (before && !how.isUnset?.(before)) {
      job.report.skip(kind);
      reportDifferences(place, label, nonEmpty, before);
      return false;
    }
    if (!job.dryRun) {
      const { warnings } = await to.write(path, { ...quiet, ...nonEmpty, ...how.besides });
      for (const warning of warnings) job.report.manualStep(`${label}: ${warning}`);
    }
    job.report.add(kind);
    if (job.dryRun) return true;
    reportDifferences(place, label, nonEmpty, (await to.find(path)) ?? {});
    return true;
  });
  return done ?? false;
}

/** Names the settings that differ from the source's. Values may be confidential, so they are not printed. */
function reportDifferences({ job }: NamespacePair, label: string, there: Data, here: Data): void {
  const names = Object.entries(there).flatMap(([name, value]) => (same(value, here[name]) ? [] : [name]));
  if (names.length > 0) job.report.manualStep(`${label}: not as it is there: ${names.join(', ')}`);
}

/** Whether two settings are equal, in any spelling. */
export function same(one: unknown, other: unknown): boolean {
  return normal(one) === normal(other);
}

const newer: ReadonlyMap<string, string> = new Map(
  Object.entries({
    policies: 'token_policies',
    ttl: 'token_ttl',
    max_ttl: 'token_max_ttl',
    period: 'token_period',
    num_uses: 'token_num_uses',
    bound_cidrs: 'token_bound_cidrs',
  }),
);

/** Old names of settings are shown next to the new ones. */
const isOlderName = (name: string, all: Data): boolean => Object.hasOwn(all, newer.get(name) ?? '');

/**
 * The same text for all values with one meaning: empty values are equal, durations become seconds, lists are sorted.
 */
function normal(value: unknown): string {
  if (value === null || value === undefined || value === false || value === '') return '';
  if (value instanceof ExactNumber) return value.digits;
  if (value === 0) return '';
  if (typeof value === 'string') return secondsIn(value) ?? normalList(value.split(','));
  if (Array.isArray(value)) return normalList(value);
  if (typeof value !== 'object') return String(value);
  // An empty string in a map has a meaning, for example in the extensions of a certificate.
  const entries = Object.entries(value).map(([name, item]) => [name, item === '' ? "''" : normal(item)] as const);
  const pairs = entries.filter(([, item]) => item !== '').sort(([a], [b]) => (a < b ? -1 : 1));
  return pairs.length === 0 ? '' : JSON.stringify(pairs);
}

function normalList(items: readonly unknown[]): string {
  const texts = items.map((item) => (typeof item === 'string' ? item.trim() : normal(item))).filter(Boolean);
  return texts.sort().join(',');
}

/** Durations as Go writes them: `768h0m0s`. */
function secondsIn(text: string): string | undefined {
  const parts = /^(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?$/.exec(text);
  if (!parts || text === '') return undefined;
  const [hours = 0, minutes = 0, seconds = 0] = parts.slice(1).map((part) => Number(part ?? 0));
  const sum = hours * 3600 + minutes * 60 + seconds;
  return sum === 0 ? '' : String(sum);
}
