import { PrimaryNeeded, type Refusal, type RefusalKind, usualStatus } from '@keystead/refusal';
import type { Kernel } from './kernel';

/** Statuses of refusals in this service: its clients expect one status for denied requests and one for invalid ones. */
export const statusOf: Readonly<Record<RefusalKind, number>> = {
  ...usualStatus,
  unauthenticated: 403,
  conflict: 400,
  transition: 400,
  invalid: 400,
};

/** The status of a refusal: callers who need another node are redirected, if this node knows where. */
export const refusedStatus = ({ standby }: Kernel, refusal: Refusal): number =>
  refusal instanceof PrimaryNeeded && standby?.primaryUrl !== undefined ? 307 : statusOf[refusal.kind];
