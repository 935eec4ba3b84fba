/**
 * What a rule can grant; `deny` overrides everything, `sudo` is needed in addition to the operation's own capability.
 */
export type Capability = 'create' | 'read' | 'update' | 'patch' | 'delete' | 'list' | 'scan' | 'sudo' | 'deny';

/** A capability a request can need. */
export type Operation = Exclude<Capability, 'sudo' | 'deny'>;

/** One bit per capability, so that grants are merged by one `|`. */
export const capabilityBits: Readonly<Record<Capability, number>> = {
  deny: 1,
  create: 2,
  read: 4,
  update: 8,
  delete: 16,
  list: 32,
  sudo: 64,
  patch: 128,
  scan: 256,
};

/** The names in a set of capability bits, sorted. */
export function capabilityNames(bits: number): Capability[] {
  const names = Object.keys(capabilityBits) as Capability[];
  return names.filter((name) => (bits & capabilityBits[name]) !== 0).sort();
}
