import semver from 'semver';
import { download } from './release-download';
import { folderOf, names, type Releases, signedSums, type WantedTool } from './releases';

/** A version that a vendor has released, with the data about its archives from the signed list of checksums. */
export interface ReleasedVersion {
  readonly version: string;
  readonly archs: readonly { readonly os: string; readonly arch: string; readonly url: string; readonly sha: string }[];
}

/** The new versions, and a sentence about each untrusted version. */
export interface Found {
  readonly versions: readonly ReleasedVersion[];
  readonly problems: readonly string[];
}

const indexLimit = 32 * 1024 * 1024;
/** The maximum number of versions that are read, which is more than a vendor releases in years. */
const mostVersions = 200;

/** The vendors whose releases can be looked for. */
export type Product = WantedTool['product'];

/** How to read the versions in an index. Terraform's index is an object with versions as keys; OpenTofu's is a list. */
const namedIn: Readonly<Record<Product, (index: { versions?: unknown }) => string[] | undefined>> = {
  Terraform: ({ versions }) => (typeof versions === 'object' && versions !== null ? Object.keys(versions) : undefined),
  OpenTofu: ({ versions }) =>
    Array.isArray(versions) ? versions.map((one: { id?: unknown } | null) => String(one?.id)) : undefined,
};

/** The stable versions in an index, oldest first. The index is not signed, so it is only used to find the files. */
async function listVersions(product: Product, { indexes, reach, milliseconds }: Releases): Promise<string[]> {
  const pieces: Buffer[] = [];
  const address = new URL(indexes[product]);
  for await (const piece of download(address, { reach, milliseconds, bytes: indexLimit })) pieces.push(piece);
  const named = namedIn[product](JSON.parse(Buffer.concat(pieces).toString('utf8')) ?? {});
  if (!named) throw new Error(`${address.href} is not an index of releases`);
  const stable = named.filter((one) => semver.valid(one) === one && semver.prerelease(one) === null);
  return stable.sort(semver.compare);
}

/**
 * The new versions at the vendors or mirrors. A version is accepted if a key of the operator has signed its list of
 * checksums, and the list names archives of exactly this version. If both vendors have the version, the release of the
 * first vendor is used.
 */
export async function findReleased(
  releases: Releases,
  knownVersions: ReadonlySet<string>,
  products: readonly Product[],
): Promise<Found> {
  const versions: ReleasedVersion[] = [];
  const problems: string[] = [];
  for (const product of products) {
    const unknown = (version: string) =>
      !knownVersions.has(version) && !versions.some((one) => one.version === version);
    const found = await findOf(product, releases, unknown);
    versions.push(...found.versions);
    problems.push(...found.problems);
  }
  return { versions, problems };
}

async function findOf(product: Product, releases: Releases, unknown: (version: string) => boolean): Promise<Found> {
  const versions: ReleasedVersion[] = [];
  const refused = new Map<string, string[]>();
  let listed: string[];
  try {
    listed = await listVersions(product, releases);
  } catch (error) {
    return { versions, problems: [`${product} is left out: ${(error as Error).message}`] };
  }
  for (const version of listed.filter(unknown).slice(-mostVersions)) {
    try {
      const sums = await signedSums({ product, version }, releases);
      const archs = archsOf(sums, { product, version }, folderOf({ product, version }, releases));
      if (archs.length === 0) throw new Error('its list of checksums contains no archive for it');
      versions.push({ version, archs });
    } catch (error) {
      const { message } = error as Error;
      refused.set(message, [...(refused.get(message) ?? []), version]);
    }
  }
  // Equal messages are joined, so a vendor without a key is reported only once.
  const problems = [...refused].map(([message, those]) => `${product} ${those.join(', ')} left out: ${message}`);
  return { versions, problems };
}

function archsOf(sums: string, { product, version }: WantedTool, folder: string): ReleasedVersion['archs'] {
  const { program } = names[product];
  return sums.split('\n').flatMap((line) => {
    const [sha = '', file = ''] = line.trim().split(/\s+/);
    const name = file.replace(/^\*/, '');
    const [, of, found, os, arch] = /^([a-z]+)_(\d+\.\d+\.\d+)_([a-z\d]+)_([a-z\d]+)\.zip$/.exec(name) ?? [];
    if (of !== program || found !== version || !os || !arch || !/^[0-9a-f]{64}$/.test(sha)) return [];
    return [{ os, arch, url: `${folder}/${name}`, sha }];
  });
}
