/**
 * One planted fault: `of` names the declaration (`attributes of organizations`), `part` the wrong part (`email`), and
 * `how` the kind of error (`missing`). A fault in the text of a source has the file, the expression, and what replaces
 * it.
 */
export interface Mutant {
  readonly of: string;
  readonly part: string;
  readonly how: string;
}

/** The name under which a mutant is reported. */
export const nameOf = ({ of, part, how }: Mutant): string => `${of}${part && ` ${part}`}: ${how}`;

interface Play {
  mutant?: Mutant;
  /** The mutated declaration was used since `play`. */
  reached: boolean;
  /** The first values of constants. */
  first?: { value: unknown };
}

// On the global object, because mutated sources also read it.
const state = globalThis as typeof globalThis & { keysteadMutant?: Play; playsMutant?: (name: string) => boolean };
state.keysteadMutant ??= { reached: false };
const current = state.keysteadMutant;
state.playsMutant = (name) => {
  if (current.mutant === undefined || nameOf(current.mutant) !== name) return false;
  current.reached = true;
  return true;
};

/** Activates this mutant and no other. */
export function play(mutant: Mutant | undefined): void {
  current.mutant = mutant;
  current.reached = false;
  current.first = undefined;
}

/** Whether the code of the mutant was used since it was activated. */
export const wasReached = (): boolean => current.reached;

/** The active mutant, if it changes this declaration. */
export function playing(of: string): Mutant | undefined {
  return current.mutant?.of === of ? current.mutant : undefined;
}

/** Records that the active mutant took effect. */
export function reached(): void {
  current.reached = true;
}

function otherThan(value: unknown): unknown {
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'string') return `${value}x`;
  if (Array.isArray(value)) return value.length === 0 ? ['x'] : [];
  return value === null || value === undefined ? 'x' : {};
}

/** The replacement of a value; undefined if there is none. */
export function changed(value: unknown, how: string): unknown {
  switch (how) {
    case 'missing':
      return undefined;
    case 'null':
      return null;
    case 'true':
      return true;
    case 'false':
      return false;
    case 'constant':
      current.first ??= { value: structuredClone(value) };
      return current.first.value;
    case 'other':
      return otherThan(value);
    default:
      throw new Error(`no mutant is made by "${how}"`);
  }
}

/** Applies the active mutant to an object in an answer, if it changes this declaration. */
export function change(of: string, holder: unknown): void {
  const mutant = playing(of);
  if (mutant === undefined) return;
  const steps = mutant.part.split('.');
  const last = steps.pop()!;
  let at = holder as Record<string, unknown> | undefined | null;
  for (const step of steps) at = at?.[step] as Record<string, unknown> | undefined | null;
  if (typeof at !== 'object' || at === null || !(last in at)) return;
  reached();
  const value = changed(at[last], mutant.how);
  if (value === undefined) delete at[last];
  else at[last] = value;
}
