import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { access, chmod, mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createMessage, readKeys, readSignature, verify } from 'openpgp';
import { openPromise } from 'yauzl';
import { askVersion, type Binary } from './binaries';
import { type DownloadLimits, download, NoDownload } from './release-download';

/** A version of the tool that a worker should have. */
export interface WantedTool {
  readonly product: Binary['product'];
  readonly version: string;
}

/** Where versions come from, who signs them, and where they are stored. */
export interface Releases {
  /** Address of the folder of all versions, by product, without a slash at its end. */
  readonly places: Readonly<Record<Binary['product'], string>>;
  /** Address of the list of versions, by product. */
  readonly indexes: Readonly<Record<Binary['product'], string>>;
  /** OpenPGP keys, armored, whose signatures are trusted. */
  readonly keys: string;
  /** Folder in which versions are stored. Workers of one machine may share it. */
  readonly folder: string;
  readonly reach: DownloadLimits['reach'];
  /** How long downloading one version may take. */
  readonly milliseconds: number;
}

/**
 * A version that cannot be downloaded, or does not match its checksum or signature. The message is for the operator.
 */
class BadRelease extends Error {
  override readonly name = 'BadRelease';
}

const sumsLimit = 256 * 1024;
const archiveLimit = 512 * 1024 * 1024;
const binaryLimit = 1024 * 1024 * 1024;

/** The names of programs, and the files of their releases. */
export const names = {
  Terraform: { program: 'terraform', prefix: '', signature: 'SHA256SUMS.sig' },
  OpenTofu: { program: 'tofu', prefix: 'v', signature: 'SHA256SUMS.gpgsig' },
} as const;

const platform = `${process.platform}_${process.arch === 'x64' ? 'amd64' : process.arch}`;

/**
 * The binary of a version: the stored binary, otherwise a new download. It is accepted if its archive has the SHA-256
 * in the list of the release, if one of the keys has signed that list, and if it reports that version itself. Throws
 * `BadRelease`.
 */
export async function fetchTool(tool: WantedTool, releases: Releases): Promise<string> {
  const { program } = names[tool.product];
  const folder = path.join(releases.folder, program, tool.version, platform);
  const file = path.join(folder, program);
  if (await isThere(file)) return file;
  const partial = path.join(releases.folder, `.partial-${randomBytes(8).toString('hex')}`);
  await mkdir(partial, { recursive: true, mode: 0o755 });
  try {
    const unpacked = await fetchInto(partial, tool, releases);
    await mkdir(folder, { recursive: true, mode: 0o755 });
    // The file is renamed in one step, so that other processes find either the whole file or no file.
    await rename(unpacked, file);
    return file;
  } catch (error) {
    if (error instanceof BadRelease) throw error;
    const what = `${tool.product} ${tool.version}`;
    throw new BadRelease(`${what} cannot be fetched: ${(error as Error).message}`, { cause: error });
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

const isThere = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

/** The common beginning of the addresses of a release's files. */
function baseOf(tool: WantedTool, releases: Releases): string {
  return `${folderOf(tool, releases)}/${names[tool.product].program}_${tool.version}_`;
}

/** Where the files of a release are. */
export const folderOf = ({ product, version }: WantedTool, { places }: Releases): string =>
  `${places[product]}/${names[product].prefix}${version}`;

/** The list of checksums of a release. Throws `BadRelease` unless one of the keys has signed it. */
export async function signedSums(tool: WantedTool, releases: Releases): Promise<string> {
  const { reach, milliseconds, keys } = releases;
  const whole = async (name: string): Promise<Buffer> => {
    const pieces: Buffer[] = [];
    const address = new URL(baseOf(tool, releases) + name);
    for await (const piece of download(address, { reach, milliseconds, bytes: sumsLimit })) pieces.push(piece);
    return Buffer.concat(pieces);
  };
  const sums = await whole('SHA256SUMS');
  await requireSigned(sums, await whole(names[tool.product].signature), keys);
  return sums.toString('utf8');
}

async function fetchInto(partial: string, tool: WantedTool, releases: Releases): Promise<string> {
  const { product, version } = tool;
  const { program } = names[product];
  const { reach, milliseconds } = releases;
  const sums = await signedSums(tool, releases);
  const archiveName = `${program}_${version}_${platform}.zip`;
  const sum = sumOf(sums, archiveName);
  const archive = path.join(partial, 'archive.zip');
  const hash = createHash('sha256');
  const pieces = download(new URL(`${baseOf(tool, releases)}${platform}.zip`), {
    reach,
    milliseconds,
    bytes: archiveLimit,
  });
  const hashed = async function* () {
    for await (const piece of pieces) {
      hash.update(piece);
      yield piece;
    }
  };
  await pipeline(Readable.from(hashed()), createWriteStream(archive, { mode: 0o600 }));
  if (!timingSafeEqual(hash.digest(), sum))
    throw new BadRelease(`${archiveName} does not match the checksum in the list of its release`);
  const unpacked = path.join(partial, program);
  await unpackProgram(archive, program, unpacked);
  const reported = await askVersion(unpacked);
  if (reported?.version !== version || reported.product !== product) {
    throw new BadRelease(
      `${archiveName} holds ${reported ? `${reported.product} ${reported.version}` : 'something else'}`,
    );
  }
  return unpacked;
}

/** Throws `BadRelease` unless one of the keys has signed the bytes. */
async function requireSigned(bytes: Buffer, signature: Buffer, armoredKeys: string): Promise<void> {
  try {
    const verificationKeys = await readKeys({ armoredKeys });
    const message = await createMessage({ binary: new Uint8Array(bytes) });
    const isArmored = signature.subarray(0, 5).toString('latin1') === '-----';
    const read = isArmored
      ? await readSignature({ armoredSignature: signature.toString('latin1') })
      : await readSignature({ binarySignature: new Uint8Array(signature) });
    const { signatures } = await verify({ message, signature: read, verificationKeys });
    await Promise.any(signatures.map(({ verified }) => verified));
  } catch (error) {
    throw new BadRelease('the list of checksums is not signed by a trusted key', { cause: error });
  }
}

/** The SHA-256 of a file in a list of checksums. Throws `BadRelease`. */
function sumOf(sums: string, name: string): Buffer {
  for (const line of sums.split('\n')) {
    const [sum = '', file] = line.trim().split(/\s+/);
    if (file?.replace(/^\*/, '') === name && /^[0-9a-f]{64}$/i.test(sum)) return Buffer.from(sum, 'hex');
  }
  throw new BadRelease(`the release has no ${name}`);
}

/** Writes one program of an archive to a file. Other files are ignored. */
async function unpackProgram(archive: string, program: string, to: string): Promise<void> {
  const zip = await openPromise(archive, { strictFileNames: true });
  try {
    for await (const entry of zip.eachEntry()) {
      if (entry.fileName !== program) continue;
      if (entry.uncompressedSize > binaryLimit) throw new BadRelease(`${program} is too large`);
      await pipeline(await zip.openReadStreamPromise(entry), createWriteStream(to, { mode: 0o755, flags: 'wx' }));
      await chmod(to, 0o755);
      return;
    }
  } finally {
    zip.close();
  }
  throw new NoDownload(`the archive has no ${program}`);
}

/** The spellings of a version: `1.11.4`, `terraform 1.11.4` or `tofu 1.10.0`; undefined for anything else. */
export function wantedTool(text: string): WantedTool | undefined {
  const [, program, version] = /^(?:(terraform|tofu) +)?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?)$/.exec(text) ?? [];
  return version === undefined ? undefined : { product: program === 'tofu' ? 'OpenTofu' : 'Terraform', version };
}
