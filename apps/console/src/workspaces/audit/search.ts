/** The search fields with their labels; stored in the address, so that a search can be shared. */
export const auditFilters = [
  ['actor', 'Who'],
  ['since', 'When'],
  ['action', 'Action, or its first part'],
  ['outcome', 'Outcome'],
  ['target', 'Object, by name or id'],
  ['request', 'Request'],
] as const;

export type AuditFilter = (typeof auditFilters)[number][0];
