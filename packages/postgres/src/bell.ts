/** Wakes waiters when something happens elsewhere. */
export class Bell {
  private readonly waiting = new Set<() => void>();

  /** Wakes all current waiters. */
  ring(): void {
    for (const wake of [...this.waiting]) wake();
  }

  /** Resolves at the next ring, after `longestMs`, or when `signal` is aborted. */
  async next(longestMs: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.waiting.delete(wake);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const timer = setTimeout(wake, longestMs);
      this.waiting.add(wake);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }
}
