import type { ChangeNotices, Topic } from './types';

/**
 * A table that is completely in memory. It is read again as a whole when another node has changed it, or when this node
 * receives no notices. Simultaneous callers share one read.
 */
export class WholeTable {
  private loaded = false;
  private loading: Promise<void> | undefined;
  /** The next read, for all callers that arrived during the current read. */
  private next: Promise<void> | undefined;

  constructor(
    private readonly changes: ChangeNotices,
    topic: Topic,
    private readonly read: () => Promise<void>,
  ) {
    changes.listen(topic, () => this.forget());
  }

  /** Reads the table again if it may have changed; undefined if it has not. */
  refresh(): Promise<void> | undefined {
    const { loaded, loading } = this;
    if (loaded && this.changes.fresh) return loading;
    if (!loading) return this.load();
    // A read shows an older state if it began before the last notice or while this node received no notices.
    const load = () => {
      this.next = undefined;
      return this.loading ?? this.load();
    };
    this.next ??= loading.then(load, load);
    return this.next;
  }

  /** Reads until no change was noticed during the read, so that the caller sees what it has just written. */
  async reload(): Promise<void> {
    await this.loading;
    await this.refresh();
  }

  /** Makes the next caller read the table again. */
  forget(): void {
    this.loaded = false;
  }

  private load(): Promise<void> {
    // Set before reading: a change noticed in the meantime must not be overwritten by an older state.
    this.loaded = true;
    const loading = this.read()
      .catch((error) => {
        this.loaded = false;
        throw error;
      })
      .finally(() => {
        if (this.loading === loading) this.loading = undefined;
      });
    this.loading = loading;
    return loading;
  }
}
