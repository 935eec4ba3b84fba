import type { Readable } from 'node:stream';
import type { Keyring } from '@keystead/keyring';
import type { Database } from '../../../kernel/database/database';
import type { Environment } from '../../../kernel/endpoints/environment';

/** The dependencies of publishing. */
export interface Publishing extends Pick<Environment, 'configurationBytes' | 'largeUploads' | 'publicUrl'> {
  readonly db: Database;
  readonly keyring: Keyring;
}

/** A commit that a version waited for. */
export interface FetchedCommit {
  /** Why it could not be fetched. */
  readonly problem?: string;
  /** Its content; undefined if it no longer exists. */
  archive(): Promise<Readable | undefined>;
}
