import { Refusal } from '@keystead/refusal';

/** Refuses a change of something that is no longer what the caller read. Call it while holding the row's lock, so that no change slips in. */
export function requireRevision(current: { readonly revision: bigint }, ifMatch: bigint | undefined): void {
  if (ifMatch !== undefined && current.revision !== ifMatch) {
    throw new Refusal('precondition', 'the resource has changed since it was read');
  }
}
