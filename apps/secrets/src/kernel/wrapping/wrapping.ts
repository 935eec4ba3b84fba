import { Refusal } from '@keystead/refusal';
import { type Namespace, requireUnlocked } from '../namespaces/namespaces';
import type { StorageKernel } from '../storage/storage';
import type { WriteSet } from '../storage/types';
import { add, newWriteSet } from '../storage/write-set';
import type { TokenRecord, Tokens } from '../tokens/types';

/** The parts of the service that wrapping uses. */
export interface WrappingHosts {
  /** The per-token storage that every namespace has. */
  privateMountId(namespaceId: string): string;
  /** The namespace of a token. */
  findNamespace(namespaceId: string): Namespace | undefined;
  /** Whether the namespace `inner` is the namespace `outer` or below it. */
  within(outer: string, inner: string): boolean;
  endToken(record: TokenRecord): Promise<void>;
}

/** An answer to wrap. */
export interface WrapRequest {
  /** JSON text. */
  readonly envelope: string;
  readonly namespace: Namespace;
  readonly path: string;
  readonly ttlSeconds: number;
  readonly wrappedAccessor?: string;
}

/** A wrapped answer in a write set. */
export interface Wrapped {
  readonly token: string;
  readonly accessor: string;
  readonly createdAtMs: number;
}

/** Information about a wrapped answer. Reading it does not use up the token. */
export interface WrapFacts {
  readonly creationPath: string;
  readonly createdAtMs: number;
  readonly ttlSeconds: number;
}

/** The only policy of a wrapping token. Other tokens cannot have it. */
const WRAPPING_POLICY = 'response-wrapping';

const PATH = 'response';

/**
 * Stores answers under separate tokens. Each answer can be unwrapped only once. The single use is counted in the
 * database, so only one of many simultaneous calls succeeds.
 */
export class Wrapping {
  constructor(
    private readonly storage: StorageKernel,
    private readonly tokens: Tokens,
    private readonly hosts: WrappingHosts,
  ) {}

  /** Adds a wrapping token and its content to the write set. */
  wrap({ envelope, namespace, path, ttlSeconds }: WrapRequest, set: WriteSet): Wrapped {
    const { token, record } = this.tokens.mint(
      {
        type: 'service',
        namespaceId: namespace.uuid,
        namespaceShortId: namespace.parentUuid === undefined ? '' : namespace.id,
        path,
        displayName: '',
        policies: [WRAPPING_POLICY],
        ttlSeconds,
        explicitMaxTtlSeconds: ttlSeconds,
        renewable: false,
        numUses: 1,
        wrapping: { creationPath: path, ttlSeconds },
      },
      set,
    );
    add(set, 'puts', {
      ...this.keyOf(record),
      value: Buffer.from(JSON.stringify({ response: envelope })),
      expiresAtMs: record.expiresAtMs,
    });
    return { token, accessor: record.accessor, createdAtMs: record.createdAtMs };
  }

  /** Describes the content of a wrapping token without using it. Throws `invalid` for other tokens. */
  async lookup(namespaceId: string, token: string): Promise<WrapFacts> {
    const { wrapping, createdAtMs } = await this.require(namespaceId, token);
    return { creationPath: wrapping.creationPath, createdAtMs, ttlSeconds: wrapping.ttlSeconds };
  }

  /**
   * Returns the JSON text of the envelope, only once. Throws `invalid` for a token that is used, expired, or not a
   * wrapping token.
   */
  async unwrap(namespaceId: string, token: string): Promise<string> {
    const record = await this.require(namespaceId, token);
    await this.spend(record);
    await this.storage.fault('unwrap:spent');
    const envelope = await this.read(record);
    await this.hosts.endToken(record);
    return envelope;
  }

  /** Moves a response to a new token. The old token becomes invalid. */
  async rewrap(namespaceId: string, token: string): Promise<Wrapped & WrapFacts> {
    const record = await this.require(namespaceId, token);
    const namespace = this.hosts.findNamespace(record.namespaceId);
    if (!namespace) throw notValid();
    const { creationPath, ttlSeconds } = record.wrapping;
    const envelope = await this.read(record);
    const set = newWriteSet();
    const wrapped = this.wrap({ envelope, namespace, path: creationPath, ttlSeconds }, set);
    add(set, 'run', async (tx) => {
      const { rowCount } = await tx.query(TAKE, [record.hash]);
      if (rowCount === 0) throw notValid();
    });
    await this.storage.committer.commit(set);
    await this.hosts.endToken(record);
    return { ...wrapped, creationPath, ttlSeconds };
  }

  /**
   * Like every token, a wrapping token can be used in its own namespace and below, and is visible from its own
   * namespace and above. Sibling namespaces cannot see it.
   */
  private async require(
    namespaceId: string,
    token: string,
  ): Promise<TokenRecord & Required<Pick<TokenRecord, 'wrapping'>>> {
    const record = await this.tokens.find(token);
    if (!record?.wrapping || record.usesLeft === -1) throw notValid();
    const { within } = this.hosts;
    if (!within(namespaceId, record.namespaceId) && !within(record.namespaceId, namespaceId)) throw notValid();
    // Content of a locked namespace cannot be read through a namespace above.
    requireUnlocked(this.hosts.findNamespace(record.namespaceId));
    return record as TokenRecord & Required<Pick<TokenRecord, 'wrapping'>>;
  }

  private async spend(record: TokenRecord): Promise<void> {
    try {
      await this.tokens.spend(record);
    } catch (error) {
      throw error instanceof Refusal && error.kind === 'denied' ? notValid() : error;
    }
  }

  private async read(record: TokenRecord): Promise<string> {
    const entry = await this.storage.entries.read(this.keyOf(record));
    if (!entry) throw notValid();
    return (JSON.parse(entry.value.toString()) as { response: string }).response;
  }

  private keyOf(record: TokenRecord) {
    return { mountId: this.hosts.privateMountId(record.namespaceId), path: `${record.key}/${PATH}` };
  }
}

const TAKE = {
  name: 'wrapping-take',
  text: 'UPDATE token SET uses_left = 0 WHERE hash = $1 AND state = 0 AND uses_left > 0',
};

const notValid = (): Refusal => new Refusal('invalid', 'wrapping token is not valid or does not exist');
