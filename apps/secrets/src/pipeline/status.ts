import { type RefusalKind, usualStatus } from '@keystead/refusal';

/** Statuses of refusals in this service: its clients expect one for denied requests and one for invalid requests. */
export const statusOf: Readonly<Record<RefusalKind, number>> = {
  ...usualStatus,
  unauthenticated: 403,
  conflict: 400,
  transition: 400,
  invalid: 400,
};
