import semver from 'semver';
import { download } from './release-download';
import { type Releases, signedSums } from './releases';

/** A version that a vendor has released, with what its signed list of sums says of its archives. */
export interface ReleasedVersion {
  readonly version: string;
  readonly archs: readonly { readonly os: string; readonly arch: string; readonly url: string; readonly sha: string }[];
}

/** What was found, and what was not believed: a sentence each. */
export interface Found {
  readonly versions: readonly ReleasedVersion[];
  readonly problems: readonly string[];
}

const indexLimit = 32 * 1024 * 1024;
/** More than a vendor releases in years. */
const mostVersions = 200;

/** The stable versions that the index of a place names, oldest first. Nobody has signed it: it only says where to look. */
async function listVersions({ places, reach, milliseconds }: Releases): Promise<string[]> {
  const pieces: Buffer[] = [];
  const address = new URL(`${places.Terraform}/index.json`);
  for await (const piece of download(address, { reach, milliseconds, bytes: indexLimit })) pieces.push(piece);
  const { versions } = JSON.parse(Buffer.concat(pieces).toString('utf8')) as { versions?: unknown };
  if (typeof versions !== 'object' || versions === null) throw new Error(`${address.href} is no index of releases`);
  const stable = Object.keys(versions).filter((one) => semver.valid(one) === one && semver.prerelease(one) === null);
  return stable.sort(semver.compare);
}

/**
 * The versions of Terraform that its vendor, or a mirror, has and that are not known. One counts when a key that the operator
 * named has signed the list of its sums, and that list names archives of this very version. Throws where there is no index.
 */
export async function findReleased(releases: Releases, known: ReadonlySet<string>): Promise<Found> {
  const fresh = (await listVersions(releases)).filter((version) => !known.has(version)).slice(-mostVersions);
  const versions: ReleasedVersion[] = [];
  const problems: string[] = [];
  for (const version of fresh) {
    try {
      const sums = await signedSums({ product: 'Terraform', version }, releases);
      const archs = archsOf(sums, version, `${releases.places.Terraform}/${version}`);
      if (archs.length === 0) throw new Error('its list of sums names no archive of it');
      versions.push({ version, archs });
    } catch (error) {
      problems.push(`${version} is left out: ${(error as Error).message}`);
    }
  }
  return { versions, problems };
}

function archsOf(sums: string, version: string, folder: string): ReleasedVersion['archs'] {
  return sums.split('\n').flatMap((line) => {
    const [sha = '', file = ''] = line.trim().split(/\s+/);
    const name = file.replace(/^\*/, '');
    const [, found, os, arch] = /^terraform_(\d+\.\d+\.\d+)_([a-z\d]+)_([a-z\d]+)\.zip$/.exec(name) ?? [];
    if (found !== version || !os || !arch || !/^[0-9a-f]{64}$/.test(sha)) return [];
    return [{ os, arch, url: `${folder}/${name}`, sha }];
  });
}
