import path from 'node:path';
import { parseExact } from '@keystead/envelope';
import type { Keyring } from '@keystead/keyring';
import { readWholeBlob } from '../../../kernel/blobs/blobs';
import type { Database } from '../../../kernel/database/database';
import type { ModuleVersion } from './module';
import { readInThread } from './reading-thread';

/** A module that cannot be read. The message is for the user who uploads it. */
export class BadModule extends Error {
  override readonly name = 'BadModule';
}

/** The declarations of one folder of a module, under the names of the registry protocol. */
export interface FolderDocs {
  readonly path: string;
  readonly name: string;
  readonly readme: string;
  readonly empty: boolean;
  readonly inputs: readonly {
    readonly name: string;
    readonly type: string;
    readonly description: string;
    /** The default value as JSON; empty if there is none. */
    readonly default: string;
    readonly required: boolean;
    /** Undefined for modules that were read before this fact was stored. */
    readonly sensitive?: boolean;
  }[];
  readonly outputs: readonly { readonly name: string; readonly description: string; readonly sensitive?: boolean }[];
  readonly dependencies: readonly { readonly name: string; readonly source: string; readonly version: string }[];
  readonly provider_dependencies: readonly {
    readonly name: string;
    readonly namespace: string;
    readonly source: string;
    readonly version: string;
  }[];
  readonly resources: readonly { readonly name: string; readonly type: string }[];
}

/** The declarations of a module, in its root and in the folders of its submodules and examples. */
export interface ModuleDocs {
  readonly root: FolderDocs;
  readonly submodules: readonly FolderDocs[];
  readonly examples: readonly FolderDocs[];
}

/** Files of the root, and of folders directly below `modules` and `examples`. */
const described = /^(?:(?:modules|examples)\/[^/]+\/)?(?:README\.md|[^/]+\.(?:tf|tofu)(?:\.json)?)$/;

/** Whether a file describes its module. */
export const isDescribed = (file: string): boolean => described.test(file);

/**
 * Reads the files of a module in a separate thread, because a third-party parser cannot be interrupted. Throws
 * BadModule if the files are not in the language of the tools, take too long, or declare nothing in the root.
 */
export async function readModule(files: ReadonlyMap<string, Uint8Array>): Promise<ModuleDocs> {
  const answer = await readInThread<ModuleDocs>(path.join(__dirname, 'module-thread'), files, 'the module');
  if (typeof answer === 'string') throw new BadModule(answer);
  if (answer.root.empty) throw new BadModule('the archive has no .tf files of a module in its root');
  return answer;
}

/** The data read from a version when it was published; undefined before that. */
export async function docsOf(
  db: Database,
  keyring: Keyring,
  { docsBlobId }: Pick<ModuleVersion, 'docsBlobId'>,
): Promise<ModuleDocs | undefined> {
  const bytes = docsBlobId ? await readWholeBlob(db, keyring, docsBlobId) : undefined;
  return bytes && (parseExact(bytes.toString('utf8')) as ModuleDocs);
}
