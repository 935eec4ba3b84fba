import { Refused } from './refused';
import type { Remote } from './remote';
import type { Report } from './report';
import type { RemoteResource } from './resource';

/** One import: source, target, options and report. */
export interface Import {
  from: Remote;
  to: Remote;
  /** Writes nothing, but counts what would be written. */
  plan: boolean;
  /** Copy all state versions, not only the current ones. */
  history: boolean;
  report: Report;
  progress: ImportSteps;
}

/** Receives the progress of an import. Each call throws if the import should stop. */
export interface ImportSteps {
  /** Starts the next part of the import, with its number of items. */
  begin(what: string, total?: number): void;
  /** Names the next item. */
  about(what: string): void;
  /** Counts the current item as done. */
  step(): void;
}

/** Target ids by source ids; empty for objects that a plan would create. */
export type Ids = Map<string, string>;

/** A resource to create. */
export interface Draft {
  type: string;
  attributes: Record<string, unknown>;
  relationships?: Record<string, unknown>;
}

/** Required attributes: without them the resource is not created. */
const essential = ['name', 'key', 'value', 'category', 'access'];

/** Creates an object that does not exist yet; a plan creates nothing. Counts the object in the report in any case. */
export async function once(
  job: Import,
  kind: string,
  before: RemoteResource | undefined,
  make: () => Promise<RemoteResource>,
): Promise<RemoteResource | undefined> {
  if (before) {
    job.report.skip(kind);
    return before;
  }
  const created = job.plan ? undefined : await make();
  job.report.add(kind);
  return created;
}

/**
 * Creates a resource here without the settings that this service refuses, which are reported for manual work. A refused
 * setting is first tried with its value in `instead`.
 */
export async function make(
  job: Import,
  label: string,
  path: string,
  draft: Draft,
  instead: Readonly<Record<string, unknown>> = {},
): Promise<RemoteResource> {
  try {
    return await job.to.create(path, draft);
  } catch (error) {
    const attributes = error instanceof Refused ? withoutObjected(draft.attributes, error) : undefined;
    if (!attributes) throw error;
    for (const { detail, source } of (error as Refused).objections) {
      const [name = '', ...part] = settingOf(source?.pointer);
      const other = name in instead && draft.attributes[name] !== instead[name] ? instead[name] : undefined;
      if (other !== undefined) attributes[name] = other;
      const alternative = other === undefined ? '' : `; ${other} is tried instead`;
      job.report.manualStep(`${label}: ${[name, ...part].join(' ')} could not be copied: ${detail}${alternative}`);
    }
    return make(job, label, path, { ...draft, attributes }, instead);
  }
}

/** Does one piece of work. If a server refuses it, this is reported and the rest continues. */
export async function attempt<T>(job: Import, label: string, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refused) || error.isFinal) throw error;
    job.report.fail(`${label}: ${error.message}`);
    return undefined;
  }
}

/** A list of the other server. Missing or hidden lists are reported: an import must not silently lose anything. */
export async function listOrReport(job: Import, kind: string, label: string, path: string): Promise<RemoteResource[]> {
  if (job.report.isUnknown(kind)) return [];
  try {
    const { items, absent, unknown, withheld } = await job.from.survey(path);
    if (absent) job.report.miss(kind, unknown);
    if (withheld > 0) job.report.manualStep(`${label}: the other server holds back ${withheld} ${kind}`);
    return items;
  } catch (error) {
    if (!(error instanceof Refused) || error.isFinal) throw error;
    const why = error.status === 403 ? 'the token there may not read them' : error.message;
    job.report.fail(`${label}: ${kind}: ${why}`);
    return [];
  }
}

const settingOf = (pointer = '') => pointer.replace(/^\/data\/attributes\//, '').split('/');

function withoutObjected(attributes: Record<string, unknown>, { status, objections }: Refused) {
  const names = objections.map(({ source }) => settingOf(source?.pointer));
  const supported = names.every(([name = '']) => name in attributes && !essential.includes(name));
  if (status !== 422 || names.length === 0 || !supported) return undefined;
  const rest = structuredClone(attributes);
  for (const [name = '', part] of names) {
    const value = rest[name];
    const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (isGroup && part !== undefined && part in value) delete (value as Record<string, unknown>)[part];
    else delete rest[name];
  }
  return rest;
}
