/** Filters of the lease list, kept in the address. */
export interface LeaseSearch {
  readonly prefix?: string;
  /** Accessor of the token that requested them. */
  readonly accessor?: string;
  readonly failing?: boolean;
}

/** Reads them from an address. */
export const leaseSearch = (search: Record<string, unknown>): LeaseSearch => ({
  ...(typeof search.prefix === 'string' && search.prefix !== '' ? { prefix: search.prefix } : {}),
  ...(typeof search.accessor === 'string' && search.accessor !== '' ? { accessor: search.accessor } : {}),
  ...(search.failing === true ? { failing: true } : {}),
});
