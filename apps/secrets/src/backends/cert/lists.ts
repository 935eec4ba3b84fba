import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { BackgroundCall } from '../../sdk/call';
import { collection } from '../../sdk/collection';
import { string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { namesPath } from '../../sdk/records';
import { data, empty } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import type { Certificate } from './certificate';
import type { ListSource } from './list-source';
import { listIn, type RevocationList } from './revocation-list';

const Stored = z.object({
  url: z.string(),
  /** See `nameKey`. */
  issuer: z.string(),
  authority_key_id: z.string(),
  this_update_ms: z.number(),
  /** Null if the list does not contain it. */
  next_update_ms: z.number().nullable(),
  /** When the list is fetched again. */
  try_at_ms: z.number(),
  /** The number of entries that hold the list's serial numbers. */
  pieces: z.number(),
});
type StoredList = z.output<typeof Stored>;
const lists = collection('crls/', Stored);

const inOnePiece = 200;
const retryMs = 60_000;
const unsaidMs = 3_600_000;

const pieceKey = (name: string, serial: string, pieces: number): string =>
  `crl-serials/${name}/${Number(BigInt(serial) % BigInt(pieces))}`;

/** The names of the lists. */
export const listListPath = namesPath('crls', lists, {
  summary: 'Certificate revocation lists (CRLs).',
  list: 'List the names of the CRLs.',
});

/** One list. */
export const listPath = (source: ListSource) =>
  path('crls/:name', {
    folds: { name: 'case' },
    summary:
      'A certificate revocation list (CRL). Certificates on a CRL of their issuer, and certificates that they issued, cannot log in.',
    stored: ({ params, storage }) => lists.find(storage, params.name),
    read: {
      summary: 'Read the serial numbers on the CRL, and its source.',
      output: z.object({
        serials: z.record(z.string(), z.object({})).optional(),
        cdp: z.object({ url: z.string(), valid_until: z.string() }).optional(),
      }),
      async run({ params, storage }) {
        const stored = await lists.find(storage, params.name);
        if (!stored) throw noSuch(params.name);
        const all = Array.from({ length: stored.pieces }, (_, at) => `crl-serials/${params.name}/${at}`);
        const texts = await storage.getMany(all);
        const serials = all.flatMap((key) => JSON.parse(texts.get(key) ?? '[]') as string[]);
        const { url, next_update_ms: until } = stored;
        return data({
          ...(serials.length > 0 ? { serials: Object.fromEntries(serials.map((serial) => [serial, {}])) } : {}),
          ...(url === '' ? {} : { cdp: { url, valid_until: until === null ? '' : new Date(until).toISOString() } }),
        });
      },
    },
    write: {
      summary: 'Store a CRL, or fetch one from a URL now and whenever it expires.',
      input: z.object({
        crl: string()
          .optional()
          .describe(
            'The CRL: PEM, or DER in base64. It is used until it is replaced, even after its next update is due.',
          ),
        url: string().optional().describe('URL of the CRL. A certificate of a role must have signed the CRL.'),
      }),
      async run({ params, input, storage, nowMs }) {
        const { crl, url } = input;
        if (crl !== undefined && url !== undefined)
          throw new Refusal('invalid', "only one of 'crl' and 'url' can be set");
        if (crl !== undefined) await keep(storage, params.name, listIn(crl), '', nowMs);
        else if (url === undefined) throw new Refusal('invalid', "one of 'crl' or 'url' must be provided");
        else await keep(storage, params.name, await source.fetch(url, storage, nowMs), url, nowMs);
        return empty;
      },
    },
    delete: {
      summary: 'Delete a CRL.',
      async run({ params, storage }) {
        if (!(await lists.find(storage, params.name))) throw noSuch(params.name);
        lists.delete(storage, params.name);
        storage.deletePrefix(`crl-serials/${params.name}/`);
        return empty;
      },
    },
  });

/**
 * An older CRL would make revoked certificates valid again, so it is refused if it comes from a URL. With `again`, the
 * CRL only replaces a stored CRL from the same URL, which may have been deleted in the meantime.
 */
function keep(
  storage: Storage,
  name: string,
  list: RevocationList,
  url: string,
  nowMs: number,
  again = false,
): Promise<void> {
  return storage.transaction(`crls/${name}`, async (tx) => {
    const before = await lists.find(tx, name);
    if (again && before?.url !== url) return;
    const isSame = url !== '' && before?.url === url && before.issuer === list.issuer;
    if (isSame && list.thisUpdateMs < before.this_update_ms) {
      throw new Refusal('upstream', 'the URL of the CRL returned an older CRL than before');
    }
    const pieces = Math.max(1, Math.ceil(list.serials.length / inOnePiece));
    const byPiece = new Map<string, string[]>();
    for (const serial of list.serials) {
      const key = pieceKey(name, serial, pieces);
      const piece = byPiece.get(key);
      if (piece) piece.push(serial);
      else byPiece.set(key, [serial]);
    }
    tx.deletePrefix(`crl-serials/${name}/`);
    for (const [key, serials] of byPiece) tx.put(key, JSON.stringify(serials));
    lists.put(tx, name, {
      url,
      issuer: list.issuer,
      authority_key_id: list.authorityKeyId,
      this_update_ms: list.thisUpdateMs,
      next_update_ms: list.nextUpdateMs ?? null,
      try_at_ms: Math.max(list.nextUpdateMs ?? nowMs + unsaidMs, nowMs + retryMs),
      pieces,
    });
  });
}

/** The certificates that are on a list of their issuer. */
export async function revokedAmong(
  storage: Storage,
  certificates: readonly Certificate[],
): Promise<ReadonlySet<Certificate>> {
  const found = await allLists(storage);
  const addresses = certificates.flatMap((certificate) =>
    found
      .filter(({ list }) => concerns(list, certificate))
      .map(({ name, list }) => ({ certificate, key: pieceKey(name, certificate.serial, list.pieces) })),
  );
  if (addresses.length === 0) return new Set();
  const texts = await storage.getMany([...new Set(addresses.map(({ key }) => key))]);
  const isOn = ({ certificate, key }: (typeof addresses)[number]) =>
    (JSON.parse(texts.get(key) ?? '[]') as string[]).includes(certificate.serial);
  return new Set(addresses.filter(isOn).map(({ certificate }) => certificate));
}

/**
 * Whether a list is from the issuer of a certificate. A CA may have a new key under its old name. In this case both key
 * ids are present and differ.
 */
function concerns(list: StoredList, { issuerName, authorityKeyId }: Certificate): boolean {
  if (list.issuer !== issuerName) return false;
  const keyId = authorityKeyId.toString('hex');
  return list.authority_key_id === '' || keyId === '' || list.authority_key_id === keyId;
}

/**
 * Fetches expired lists. Every node checks, and the first node that moves the time in the database fetches. A list that
 * cannot be fetched stays in use and is retried a minute later.
 */
export const fetchWhenDue =
  (source: ListSource) =>
  async ({ storage, nowMs }: BackgroundCall): Promise<void> => {
    for (const { name, list } of await allLists(storage)) {
      if (list.url === '' || list.try_at_ms > nowMs || !(await claim(storage, name, list, nowMs))) continue;
      await keep(storage, name, await source.fetch(list.url, storage, nowMs), list.url, nowMs, true);
    }
  };

function claim(storage: Storage, name: string, list: StoredList, nowMs: number): Promise<boolean> {
  return storage.transaction(`crls/${name}`, async (tx) => {
    const now = await lists.find(tx, name);
    if (now?.url !== list.url || now.try_at_ms !== list.try_at_ms) return false;
    lists.put(tx, name, { ...now, try_at_ms: nowMs + retryMs });
    return true;
  });
}

async function allLists(storage: Storage): Promise<{ name: string; list: StoredList }[]> {
  const names = await lists.list(storage);
  if (names.length === 0) return [];
  const texts = await storage.getMany(names.map((name) => `crls/${name}`));
  return names.flatMap((name) => {
    const text = texts.get(`crls/${name}`);
    return text === undefined ? [] : [{ name, list: JSON.parse(text) as StoredList }];
  });
}

const noSuch = (name: string): Refusal => new Refusal('invalid', `no such CRL ${name}`);
