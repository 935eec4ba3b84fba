import type { Claims } from './signature';

/** A scalar that a claim can be compared with. */
type Scalar = string | number | bigint | boolean;

/** A claim by its name, or by a JSON pointer if the name begins with a slash. Undefined if the claim does not exist. */
export function claimAt(claims: Claims, name: string): unknown {
  const steps = name.startsWith('/') ? pointerSteps(name) : [name];
  let value: unknown = claims;
  for (const step of steps) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value ?? undefined;
}

function pointerSteps(pointer: string): string[] {
  return pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The strings of a scalar or a list of scalars; undefined for anything else. */
export function textsOf(value: unknown): string[] | undefined {
  const list = Array.isArray(value) ? value : [value];
  return list.every(isScalar) ? list.map(String) : undefined;
}

/** Whether the value is a scalar, which can be compared with a string. */
export function isScalar(value: unknown): value is Scalar {
  return ['string', 'boolean', 'bigint'].includes(typeof value) || Number.isFinite(value);
}
