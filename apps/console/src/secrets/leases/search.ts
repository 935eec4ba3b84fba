/** Filters of the lease list, kept in the address. */
export interface LeaseSearch {
  readonly prefix?: string;
  /** The accessor of the token that requested the leases. */
  readonly accessor?: string;
  readonly failing?: boolean;
}

/** Parses the filters from an address. */
export const leaseSearch = (search: Record<string, unknown>): LeaseSearch => ({
  ...(typeof search.prefix === 'string' && search.prefix !== '' ? { prefix: search.prefix } : {}),
  ...(typeof search.accessor === 'string' && search.accessor !== '' ? { accessor: search.accessor } : {}),
  ...(search.failing === true ? { failing: true } : {}),
});
