/** The parts of a JSON:API resource that copying needs. */
export interface RemoteResource {
  id: string;
  type: string;
  attributes: Record<string, unknown>;
  relationships?: Record<string, { data?: Reference | Reference[] | null } | undefined>;
  links?: Record<string, string>;
}

/** A resource as relationships name it. */
export interface Reference {
  id: string;
  type: string;
}

/** The named attributes, without those that are absent, null or empty: these get the target's default. */
export function pick(resource: RemoteResource, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = resource.attributes[name];
      return value === undefined || value === null || value === '' ? [] : [[name, value]];
    }),
  );
}

export function text(resource: RemoteResource, name: string): string {
  return String(resource.attributes[name] ?? '');
}

/** The id in a to-one relationship. */
export function relation(resource: RemoteResource, name: string): string | undefined {
  const data = resource.relationships?.[name]?.data;
  return data && !Array.isArray(data) ? data.id : undefined;
}

/** The ids in a to-many relationship. */
export function relations(resource: RemoteResource, name: string): string[] {
  const data = resource.relationships?.[name]?.data;
  return Array.isArray(data) ? data.map(({ id }) => id) : [];
}
