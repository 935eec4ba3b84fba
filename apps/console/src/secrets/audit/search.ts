/** The search, kept in the address, so that it can be shared. */
export interface AuditSearch {
  readonly path?: string;
  readonly accessor?: string;
  readonly entity_id?: string;
  readonly request_id?: string;
  readonly operation?: string;
  readonly since?: string;
  readonly until?: string;
  /** Include requests that the console makes in the background. */
  readonly own?: true;
}
export const filters = [
  ['path', 'Path begins with'],
  ['operation', 'Operation'],
  ['entity_id', 'Who'],
  ['since', 'When'],
  ['until', 'Until'],
  ['request_id', 'Request'],
  ['accessor', 'Accessor'],
] as const;

/** Reads the search from an address; ignores values that are not strings. */
export const auditSearch = (search: Record<string, unknown>): AuditSearch => ({
  ...Object.fromEntries(filters.flatMap(([name]) => (typeof search[name] === 'string' ? [[name, search[name]]] : []))),
  ...(search.own === true ? { own: true } : {}),
});

/** Paths that pages call to find permissions, hidden unless included. */
export const isAskedByPages = (path: string): boolean =>
  /^sys\/(capabilities-self|policies\/explain)|^ui\/|^auth\/token\/lookup/.test(path);
