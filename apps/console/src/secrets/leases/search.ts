/** Which leases are shown; kept in the address. */
export interface LeaseSearch {
  readonly prefix?: string;
  /** Of the token that asked for them. */
  readonly accessor?: string;
  readonly failing?: boolean;
}

/** Reads it out of an address. */
export const leaseSearch = (search: Record<string, unknown>): LeaseSearch => ({
  ...(typeof search.prefix === 'string' && search.prefix !== '' ? { prefix: search.prefix } : {}),
  ...(typeof search.accessor === 'string' && search.accessor !== '' ? { accessor: search.accessor } : {}),
  ...(search.failing === true ? { failing: true } : {}),
});
