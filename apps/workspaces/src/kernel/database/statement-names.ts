import { LRUCache } from 'lru-cache';

/** At most this many statements get a name: each takes memory on every connection. */
const MOST_NAMES = 150;
/** A statement used this often is assumed to recur. */
const USES = 4;
/** Longer texts usually hold long lists of values, and rarely repeat. */
const LONGEST_TEXT = 20_000;

interface SeenText {
  uses: number;
  name?: string;
}

/** Names for statements that are sent often, so that each connection parses and plans them once. A text keeps its name. */
export class StatementNames {
  private readonly seen = new LRUCache<string, SeenText>({ max: 1000 });
  private names = 0;
  private generation = 0;

  /** The name for a statement with values; empty while it is too rare to have one. */
  readonly of = ({ sql, args }: { sql: string; args: readonly unknown[] }): string => {
    if (args.length === 0 || sql.length > LONGEST_TEXT) return '';
    let text = this.seen.get(sql);
    if (text === undefined) {
      text = { uses: 0 };
      this.seen.set(sql, text);
    }
    if (++text.uses >= USES && text.name === undefined && this.names < MOST_NAMES) text.name = `often_${++this.names}`;
    return text.name === undefined ? '' : `${text.name}_${this.generation}`;
  };

  /** A migration changed what prepared statements return: all are prepared again, under new names. */
  forget(): void {
    this.generation++;
  }
}
