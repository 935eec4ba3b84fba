import type { startEmbedded } from '@keystead/postgres';
import type { Generator } from './load';

/** What a service under load needs: its database, its cores, and who ends it. */
export interface Setting {
  readonly folder: string;
  readonly postgres: Awaited<ReturnType<typeof startEmbedded>>;
  readonly generator: Generator;
  readonly cores: string | undefined;
  atEnd(cleanup: () => unknown): void;
  wanted(name: string): boolean;
}
