/**
 * Writes of one mount that are not committed yet, as reads must see them; on top of those that will be committed before
 * them, if there are any.
 */
export class Pending {
  /** Values by path; null for deleted. */
  private readonly values = new Map<string, string | null>();
  private readonly cleared: string[] = [];

  constructor(private readonly before?: Pending) {}

  /** What a path will hold; null for nothing, undefined if no write is pending. */
  value(path: string): string | null | undefined {
    const own = this.values.get(path);
    if (own !== undefined) return own;
    return this.cleared.some((prefix) => path.startsWith(prefix)) ? null : this.before?.value(path);
  }

  put(path: string, value: string): void {
    this.values.set(path, value);
  }

  delete(path: string): void {
    this.values.set(path, null);
  }

  /** Deletes every path that begins with a prefix. */
  clear(prefix: string): void {
    for (const path of this.values.keys()) if (path.startsWith(prefix)) this.values.delete(path);
    this.cleared.push(prefix);
  }

  /** Lays later writes over these. */
  add(later: Pending): void {
    for (const prefix of later.cleared) this.clear(prefix);
    for (const [path, value] of later.values) this.values.set(path, value);
  }

  /** The names that a folder will hold, of those it holds now; sorted bytewise. */
  names(folder: string, now: readonly string[]): readonly string[] {
    const before = this.before?.names(folder, now) ?? now;
    if (this.values.size === 0 && this.cleared.length === 0) return before;
    const kept = new Set(
      before.filter((name) => {
        const path = folder + name;
        return this.values.get(path) !== null && !this.cleared.some((prefix) => path.startsWith(prefix));
      }),
    );
    for (const [path, value] of this.values) {
      if (value === null || !path.startsWith(folder)) continue;
      const slash = path.indexOf('/', folder.length);
      kept.add(slash < 0 ? path.slice(folder.length) : path.slice(folder.length, slash + 1));
    }
    return [...kept].sort();
  }
}
