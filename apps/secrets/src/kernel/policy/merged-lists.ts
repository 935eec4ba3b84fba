import type { ParameterLists, PolicyValue } from './types';

/**
 * Merges the parameter lists of many blocks, one by one, in linear time. The given lists are not modified. An empty
 * list means every value, so it replaces the others.
 */
export class MergedLists {
  private first: ParameterLists | undefined;
  private own: Map<string, PolicyValue[]> | undefined;

  /** The merged lists; undefined if no block has any. */
  get lists(): ParameterLists | undefined {
    return this.own ?? this.first;
  }

  add(lists: ParameterLists | undefined): void {
    if (!lists) return;
    if (!this.first) {
      this.first = lists;
      return;
    }
    this.own ??= new Map([...this.first].map(([name, values]) => [name, [...values]]));
    for (const [name, values] of lists) {
      const before = this.own.get(name);
      if (before === undefined || values.length === 0) this.own.set(name, [...values]);
      else if (before.length > 0) for (const value of values) before.push(value);
    }
  }
}
