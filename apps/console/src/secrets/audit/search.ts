/** What is searched for; it is kept in the address, so that a search can be shared. */
export interface AuditSearch {
  readonly path?: string;
  readonly accessor?: string;
  readonly entity_id?: string;
  readonly request_id?: string;
  readonly operation?: string;
  readonly since?: string;
  readonly until?: string;
  /** Also what pages of the console ask by themselves. */
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

/** Reads the search out of an address; values that are not text are left out. */
export const auditSearch = (search: Record<string, unknown>): AuditSearch => ({
  ...Object.fromEntries(filters.flatMap(([name]) => (typeof search[name] === 'string' ? [[name, search[name]]] : []))),
  ...(search.own === true ? { own: true } : {}),
});

/** What pages ask to know what they may show; people who look for changes do not mean it. */
export const isAskedByPages = (path: string): boolean =>
  /^sys\/(capabilities-self|policies\/explain)|^ui\/|^auth\/token\/lookup/.test(path);
