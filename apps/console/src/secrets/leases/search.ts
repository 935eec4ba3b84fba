/** Which leases are shown; it stands in the address. */
export interface LeaseSearch {
  readonly prefix?: string;
  readonly failing?: boolean;
}

/** Reads it out of an address. */
export const leaseSearch = (search: Record<string, unknown>): LeaseSearch => ({
  ...(typeof search.prefix === 'string' && search.prefix !== '' ? { prefix: search.prefix } : {}),
  ...(search.failing === true ? { failing: true } : {}),
});
