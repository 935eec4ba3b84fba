import { Refusal } from '@keystead/refusal';

/** Refuses a change of something that is no longer what the caller read. Under the row's lock, so that none slips by. */
export function requireRevision(current: { readonly revision: bigint }, ifMatch: bigint | undefined): void {
  if (ifMatch !== undefined && current.revision !== ifMatch) {
    throw new Refusal('precondition', 'the resource has changed since it was read');
  }
}
