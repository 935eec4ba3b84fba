import { PrimaryNeeded, Refusal } from '@keystead/refusal';
import { isReading } from '../sdk/call';
import type { Kernel } from './kernel';
import type { Request } from './request';
import { statusOf } from './status';

/**
 * What a node that reads from a standby lets through: reads, while it is not too far behind. What shows the state of the node
 * itself is answered in any case. Throws `PrimaryNeeded` and `unavailable`.
 */
export function requireReading({ standby, whileSealed }: Kernel, { verb, path, wrapTtl }: Request): void {
  if (!standby) return;
  if (!isReading(verb) || wrapTtl !== undefined) throw new PrimaryNeeded();
  const { trouble } = standby.lag;
  if (trouble !== undefined && !path.locateSystem(whileSealed, verb)) throw new Refusal('unavailable', trouble);
}

/** The status that a refusal is answered with: callers who need another node are sent there, if this one knows where. */
export const refusedStatus = ({ standby }: Kernel, refusal: Refusal): number =>
  refusal instanceof PrimaryNeeded && standby?.primaryUrl !== undefined ? 307 : statusOf[refusal.kind];
