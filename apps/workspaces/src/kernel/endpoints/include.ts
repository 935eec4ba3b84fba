import type { Reference, ResourceObject } from '@keystead/jsonapi';
import type { Access } from '../access/access';
import type { Database } from '../database/database';
import type { Includable, View } from './endpoint';
import type { Environment } from './environment';

/** The parts of a request that are needed to include resources. */
export interface IncludeContext {
  readonly db: Database;
  readonly env: Environment;
  readonly includables: ReadonlyMap<string, Includable>;
  readonly view: View;
  accessTo(organizationIds: readonly string[]): Promise<Access>;
}

function referencesOf(resources: readonly ResourceObject[], step: string): Reference[] {
  const names = [step, step.replace(/_/g, '-')];
  return resources.flatMap((resource) => {
    for (const name of names) {
      const data = resource.relationships?.[name]?.data;
      if (data !== undefined && data !== null) return Array.isArray(data) ? data : [data];
    }
    return [];
  });
}

async function fetchType(context: IncludeContext, type: string, ids: readonly string[]): Promise<ResourceObject[]> {
  const includable = context.includables.get(type);
  if (includable === undefined || ids.length === 0) return [];
  const items: readonly unknown[] = await includable.load(context.db, ids, context.env);
  const { organizationsOf } = includable;
  const access =
    organizationsOf === undefined
      ? context.view.access
      : await context.accessTo(items.flatMap((item) => organizationsOf(item)));
  return items
    .filter((item) => includable.visible(access, item))
    .map((item) => includable.serializer.resource(item, { ...context.view, access }));
}

/** Adds references to items to the owners that otherwise only link to them, and returns the items. */
async function nameLinked(
  context: IncludeContext,
  owners: readonly ResourceObject[],
  step: string,
): Promise<ResourceObject[]> {
  const relationship = step.replace(/_/g, '-');
  const includable = context.includables.get(relationship);
  const linking = owners.filter(({ relationships }) => relationships?.[relationship]?.links !== undefined);
  if (includable?.loadOf === undefined || linking.length === 0) return [];
  const found: ReadonlyMap<string, readonly unknown[]> = await includable.loadOf(
    context.db,
    linking.map(({ id }) => id),
  );
  return linking.flatMap((owner) => {
    const resources = (found.get(owner.id) ?? []).map((item) => includable.serializer.resource(item, context.view));
    owner.relationships![relationship]!.data = resources.map(({ id, type }) => ({ id, type }));
    return resources;
  });
}

/**
 * The `included` list of a document: the resources of every step of every path, without duplicates, with one query per
 * type and step. Resources that the caller may not see, and the primary resources themselves, are omitted. Primary
 * resources list the items that they otherwise only link to.
 */
export async function includedFor(
  context: IncludeContext,
  primary: readonly ResourceObject[],
  paths: readonly string[],
): Promise<ResourceObject[]> {
  const resources = new Map(primary.map((resource) => [`${resource.type} ${resource.id}`, resource]));
  const included: ResourceObject[] = [];
  for (const path of paths) {
    let level: readonly ResourceObject[] = primary;
    for (const step of path.split('.')) {
      for (const resource of await nameLinked(context, level, step)) {
        const key = `${resource.type} ${resource.id}`;
        if (!resources.has(key)) {
          resources.set(key, resource);
          included.push(resource);
        }
      }
      const idsByType = new Map<string, Set<string>>();
      const keys = new Set<string>();
      for (const { type, id } of referencesOf(level, step)) {
        keys.add(`${type} ${id}`);
        if (!resources.has(`${type} ${id}`)) {
          idsByType.set(type, (idsByType.get(type) ?? new Set()).add(id));
        }
      }
      for (const [type, ids] of idsByType) {
        for (const resource of await fetchType(context, type, [...ids])) {
          resources.set(`${resource.type} ${resource.id}`, resource);
          included.push(resource);
        }
      }
      level = [...keys].flatMap((key) => resources.get(key) ?? []);
    }
  }
  return included;
}
