/** A reference to a resource. */
export interface Ref {
  readonly type: string;
  readonly id: string;
}

/** A resource as the service shows it. */
export interface Item<A = Readonly<Record<string, unknown>>> {
  readonly id: string;
  readonly type: string;
  readonly attributes: A;
  readonly relationships?: Readonly<Record<string, { readonly data?: Ref | readonly Ref[] | null }>>;
}

export interface One<A> {
  readonly data: Item<A>;
  readonly included?: readonly Item[];
  readonly meta?: Readonly<Record<string, unknown>>;
}

export interface Many<A> {
  readonly data: readonly Item<A>[];
  readonly included?: readonly Item[];
  readonly meta?: {
    readonly pagination?: {
      readonly 'current-page': number;
      readonly 'next-page': number | null;
      readonly 'prev-page': number | null;
      readonly 'total-count'?: number;
      readonly 'total-pages'?: number;
    };
  };
}

/** What one may do, by the names that the service gives it. */
export type Permissions = Readonly<Record<string, boolean>>;

/** The one resource a relationship names. */
export function refOf(item: Item<unknown> | undefined, name: string): Ref | undefined {
  const data = item?.relationships?.[name]?.data;
  return data === null || data === undefined || Array.isArray(data) ? undefined : (data as Ref);
}

/** The resources a relationship names. */
export function refsOf(item: Item<unknown> | undefined, name: string): readonly Ref[] {
  const data = item?.relationships?.[name]?.data;
  return Array.isArray(data) ? data : [];
}

/** What was included of a reference. */
export function includedOf<A>(included: readonly Item[] | undefined, ref: Ref | undefined): Item<A> | undefined {
  return ref && (included?.find(({ type, id }) => type === ref.type && id === ref.id) as Item<A> | undefined);
}

/** The document that makes or changes a resource. */
export function document(
  type: string,
  attributes: object,
  relationships?: Readonly<Record<string, Ref | readonly Ref[] | null>>,
  id?: string,
): object {
  const related = Object.entries(relationships ?? {}).map(([name, data]) => [name, { data }]);
  return {
    data: {
      type,
      ...(id === undefined ? {} : { id }),
      attributes,
      ...(related.length === 0 ? {} : { relationships: Object.fromEntries(related) }),
    },
  };
}

/** Query parameters, those without a value left out. */
export function query(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '');
  return given.length === 0
    ? ''
    : `?${given.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value!)}`).join('&')}`;
}

/** Why a button cannot be pressed: the permission that is missing, and whom to ask. */
export function needs(permissions: Permissions | undefined, name: string, organization: string): string | undefined {
  if (permissions === undefined || permissions[name] === true) return undefined;
  return `This needs ${name}. Ask an owner of ${organization}, or whoever administers the workspace.`;
}
