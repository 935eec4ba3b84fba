/** The search fields with their labels; they are kept in the address, so that a search can be shared. */
export const auditFilters = [
  ['actor', 'Who'],
  ['since', 'When'],
  ['action', 'Action, or its first part'],
  ['outcome', 'Outcome'],
  ['target', 'What, by name or id'],
  ['request', 'Request'],
] as const;

export type AuditFilter = (typeof auditFilters)[number][0];
