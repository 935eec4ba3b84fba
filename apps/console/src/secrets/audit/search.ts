/** The filters of an audit search. */
export type AuditFilter = 'path' | 'accessor' | 'entity_id' | 'request_id' | 'operation' | 'since' | 'until';

/** A search for changes. It is kept in the address of the page, so that it can be shared. */
export interface AuditSearch extends Readonly<Partial<Record<AuditFilter, string>>> {
  /** Whether to include requests that the console makes in the background. */
  readonly own?: true;
}
/** A search for reads. */
export type ReadSearch = Readonly<Partial<Record<'path' | 'entity_id' | 'since' | 'until', string>>>;

export const filters = [
  ['path', 'Path begins with'],
  ['operation', 'Operation'],
  ['entity_id', 'Who'],
  ['since', 'When'],
  ['until', 'Until'],
  ['request_id', 'Request'],
  ['accessor', 'Accessor'],
] as const;

export const readFilters = [
  ['path', 'Path, or folder/'],
  ['entity_id', 'Who'],
  ['since', 'When'],
  ['until', 'Until'],
] as const;

const textsOf = (search: Record<string, unknown>, of: readonly (readonly [AuditFilter, string])[]) =>
  Object.fromEntries(of.flatMap(([name]) => (typeof search[name] === 'string' ? [[name, search[name]]] : [])));

/** Reads the search from an address; ignores values that are not strings. */
export const auditSearch = (search: Record<string, unknown>): AuditSearch => ({
  ...textsOf(search, filters),
  ...(search.own === true ? { own: true } : {}),
});

/** Parses a search for reads from an address. */
export const readSearch = (search: Record<string, unknown>): ReadSearch => textsOf(search, readFilters);

/** Whether pages call this path to find out permissions. Such requests are hidden by default. */
export const isAskedByPages = (path: string): boolean =>
  /^sys\/(capabilities-self|policies\/explain)|^ui\/|^auth\/token\/lookup/.test(path);
