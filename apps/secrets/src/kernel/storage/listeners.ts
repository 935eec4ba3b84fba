import type { Notice, Topic } from './types';

/** Those who want to know what to forget. */
export class Listeners {
  private readonly listeners = new Map<Topic, Set<(key: string) => void>>();

  listen(topic: Topic, forget: (key: string) => void): void {
    const listeners = this.listeners.get(topic) ?? new Set();
    listeners.add(forget);
    this.listeners.set(topic, listeners);
  }

  /** Forgets on this node; called after the commit that made the notices true. */
  apply(notices: readonly Notice[]): void {
    for (const { topic, key } of notices) {
      const listeners = this.listeners.get(topic);
      if (listeners) for (const forget of listeners) forget(key);
    }
  }

  /** Forgets everything on this node. */
  applyAll(): void {
    for (const listeners of this.listeners.values()) for (const forget of listeners) forget('*');
  }
}
