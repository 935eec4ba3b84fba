import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Credentials, Settings } from './installation';
import type { Question } from './questions';
import type { Tables } from './tables';

/** A version as it was recorded when it was released. */
export interface Release {
  readonly version: string;
  readonly recordedAt: string;
  readonly settings: Settings;
  readonly credentials: Credentials;
  readonly databases: Readonly<Record<'secrets' | 'workspaces', Tables>>;
  readonly questions: readonly Question[];
}

/** The versions that were recorded. */
export const recordedVersions = (): string[] =>
  readdirSync(__dirname, { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
    .sort((one, other) => one.localeCompare(other, 'en', { numeric: true }));

/** Reads a recorded version. */
export function readRelease(version: string): Release {
  const folder = path.join(__dirname, version);
  const unpacked = (name: string) => JSON.parse(gunzipSync(readFileSync(path.join(folder, name))).toString());
  const plain = JSON.parse(readFileSync(path.join(folder, 'release.json'), 'utf8'));
  const databases = { secrets: unpacked('secrets.json.gz'), workspaces: unpacked('workspaces.json.gz') };
  return { ...plain, databases, questions: unpacked('questions.json.gz') };
}

/** Writes a recorded version into a separate folder; returns the folder. */
export function writeRelease({ databases, questions, ...plain }: Release): string {
  const folder = path.join(__dirname, plain.version);
  mkdirSync(folder, { recursive: true });
  const pack = (name: string, value: unknown) =>
    writeFileSync(path.join(folder, name), gzipSync(JSON.stringify(value), { level: 9 }));
  writeFileSync(path.join(folder, 'release.json'), `${JSON.stringify(plain, null, 2)}\n`);
  pack('secrets.json.gz', databases.secrets);
  pack('workspaces.json.gz', databases.workspaces);
  pack('questions.json.gz', questions);
  return folder;
}
