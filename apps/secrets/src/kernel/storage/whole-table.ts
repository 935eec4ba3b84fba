import type { ChangeNotices, Topic } from './types';

/**
 * What is kept wholly in memory and read again as a whole: when another node has changed it, or when this node does not
 * hear the others. Those who ask at the same time share one reading.
 */
export class WholeTable {
  private known = false;
  private loading: Promise<void> | undefined;
  /** The reading after that one, for all who ask meanwhile. */
  private next: Promise<void> | undefined;

  constructor(
    private readonly changes: ChangeNotices,
    topic: Topic,
    private readonly read: () => Promise<void>,
  ) {
    changes.listen(topic, () => this.forget());
  }

  /** Reads it again where it may have changed; nothing to wait for where it has not. */
  refresh(): Promise<void> | undefined {
    const { known, loading } = this;
    if (known && this.changes.fresh) return loading;
    if (!loading) return this.load();
    // A reading that began before the last notice, or that no notice would have reached, shows what was before.
    const load = () => {
      this.next = undefined;
      return this.loading ?? this.load();
    };
    this.next ??= loading.then(load, load);
    return this.next;
  }

  /** Reads until nothing was heard of a change meanwhile, so that the caller sees what it has just written. */
  async reload(): Promise<void> {
    await this.loading;
    await this.refresh();
  }

  /** It is read again before it is used again. */
  forget(): void {
    this.known = false;
  }

  private load(): Promise<void> {
    // Set before reading: a change heard meanwhile must not be overwritten by its older state.
    this.known = true;
    const loading = this.read()
      .catch((error) => {
        this.known = false;
        throw error;
      })
      .finally(() => {
        if (this.loading === loading) this.loading = undefined;
      });
    this.loading = loading;
    return loading;
  }
}
