/** Uncommitted writes of one mount, as reads must see them, on top of those that will be committed before. */
export class Pending {
  /** Values by path; null for deleted. */
  private readonly values = new Map<string, string | null>();
  private readonly cleared: string[] = [];

  constructor(private readonly before?: Pending) {}

  /** The future value of a path; null for none, undefined if no write is pending. */
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

  /** Adds later writes on top. */
  add(later: Pending): void {
    for (const prefix of later.cleared) this.clear(prefix);
    for (const [path, value] of later.values) this.values.set(path, value);
  }

  /** The future names of a folder, from its current ones; sorted bytewise. */
  names(folder: string, now: readonly string[]): readonly string[] {
    const before = this.before?.names(folder, now) ?? now;
    if (this.values.size === 0 && this.cleared.length === 0) return before;
    const remaining = new Set(
      before.filter((name) => {
        const path = folder + name;
        return this.values.get(path) !== null && !this.cleared.some((prefix) => path.startsWith(prefix));
      }),
    );
    for (const [path, value] of this.values) {
      if (value === null || !path.startsWith(folder)) continue;
      const slash = path.indexOf('/', folder.length);
      remaining.add(slash < 0 ? path.slice(folder.length) : path.slice(folder.length, slash + 1));
    }
    return [...remaining].sort();
  }
}
