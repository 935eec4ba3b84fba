/** The server no longer accepts a statement that this connection prepared, because a migration has added a column. */
export function isStalePlan(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return code === '0A000' && String(message).startsWith('cached plan must not change result type');
}

/** The maximum number of attempts. Every connection of a pool may have prepared the statement. */
const ATTEMPTS = 200;

/**
 * Repeats a statement that was prepared before a migration. The failed statement changed nothing, and the pool drops
 * the connection. So nodes of the old version keep working while the tables are migrated.
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
