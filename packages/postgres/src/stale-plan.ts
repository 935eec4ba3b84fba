/** The server no longer takes a statement that this connection prepared: meanwhile a migration added a column. */
export function isStalePlan(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return code === '0A000' && String(message).startsWith('cached plan must not change result type');
}

/** Every connection of a pool may have prepared the statement. */
const ATTEMPTS = 200;

/**
 * Asks again where a statement was prepared before a migration: nothing was done, and a pool drops the connection. So the
 * nodes of a version go on while the tables become those of the next one.
 */
export async function withFreshPlan<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (!isStalePlan(error) || attempt === ATTEMPTS) throw error;
    }
  }
}
