import { type RefusalKind, usualStatus } from '@keystead/refusal';

/** Statuses of refusals in this service: its clients know one for whoever may not, and one for what cannot be meant. */
export const statusOf: Readonly<Record<RefusalKind, number>> = {
  ...usualStatus,
  unauthenticated: 403,
  conflict: 400,
  transition: 400,
  invalid: 400,
};
