import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findProgram } from '../../packages/testing/src/index';
import { pagesRunBy } from '../pages';
import { stepsOf } from './document';
import { found } from './found';
import { type Installation, shell, startInstallation } from './installation';
import { pasteDocument, type Request } from './paste';
import { type PracticeSystems, startPracticeSystems } from './practice-systems';
import { runDocument } from './run-document';

const root = join(__dirname, '../..');
const guides = pagesRunBy['docs/guides/guides.thorough.test.ts'];

const long = process.env.KEYSTEAD_LONG === '1';
/** Each run of the page starts without leftovers of the previous run. */
const times = long ? 2 : 1;

describe('every command of the guides', () => {
  let installation: Installation;
  let outside: PracticeSystems;
  beforeAll(async () => {
    outside = await startPracticeSystems();
    installation = await startInstallation(outside.service);
  });
  afterAll(async () => {
    await installation?.stop();
    await outside.stop();
  });

  const inShell = () => ({ cwd: installation.folder, env: { PATH: installation.path } });
  const withOutside = () => ({ cwd: installation.folder, env: { PATH: installation.path, ...outside.shell } });
  /** Waits until everything is as it was before; background removal takes a few seconds. */
  const asFound = async (before: Record<string, unknown>) => {
    const giveUpAtMs = Date.now() + 60_000;
    for (;;) {
      const now = await found(installation.folder);
      if (isDeepStrictEqual(now, before) || Date.now() > giveUpAtMs) return expect(now).toEqual(before);
      await sleep(100);
    }
  };

  for (const guide of guides) {
    const path = join(root, guide);
    const needs = needsOf(path);
    // A guide that needs a missing tool is shown as skipped, never as passed.
    const runs = needs.length === 0 || findProgram(needs) ? it : it.skip;
    runs(`of ${basename(guide)} works as printed, and leaves everything as it was`, async () => {
      const before = await found(installation.folder);
      const { watched } = installation;
      for (let time = 0; time < times; time++) {
        await expect(runDocument(path, withOutside())).resolves.toBe(stepsOf(path).length);
        await asFound(before);
      }
      expect(watched.requests().filter(touchesOthers)).toEqual([]);
    });
    (long ? runs : it.skip)(
      `of ${basename(guide)} change nothing if nothing was prepared and the first one fails`,
      async () => {
        const before = await found(installation.folder);
        const { watched } = installation;
        watched.failNext();
        const said = await pasteDocument(path, inShell());
        expect({ said, failed: watched.hasFailed() }).toMatchObject({ failed: true });
        await asFound(before);
        expect(watched.requests().filter(touchesOthers)).toEqual([]);
      },
    );
  }

  it('uses no root token if a token is missing', () => {
    for (const page of [...guides, shell]) {
      const text = readFileSync(join(root, page), 'utf8');
      // A default for a token, or a function that sends a token without checking that it is set.
      expect(text).not.toMatch(/\$\{\w*(TOKEN|ROOT|ADMIN)\w*:?[-=]/);
      for (const [definition] of text.matchAll(/^\w+\(\) \{ curl .*$/gm)) {
        if (/Token: |Bearer /.test(definition)) expect(definition).toMatch(/(Token: |Bearer )\$\{\w+:\?\}/);
      }
    }
  });
});

/**
 * Places that a guide may write to: objects that it created itself, by name or id, and objects that belong to its
 * token.
 */
const own: readonly RegExp[] = [
  /\/guide-[a-z]/,
  /\/v1\/auth\/token\/(create|(lookup|renew|revoke)-(self|accessor))$/,
  /\/v1\/sys\/(capabilities-self|policies\/(explain|who-may)|audit-hash\/file|audit-chain\/verify|mfa\/validate)$/,
  /\/v1\/sys\/wrapping\/(lookup|unwrap)$/,
  /\/v1\/sys\/leases\/(lookup|renew|revoke|replay)$/,
  // An accessor is that of the login method which the guide enabled.
  /\/v1\/sys\/locked-users\/\w+\/unlock\/ada$/,
  /\/v1\/sys\/plugins\/reload\/backend$/,
  /\/v1\/sys\/(seal|unseal|rotate|generate-root\/(attempt|update))$/,
  /\/v1\/identity\/(entity|group|group-alias)\/id\/[0-9a-f-]{36}$/,
  /\/v1\/identity\/mfa\/method\/totp(\/[0-9a-f-]{36}|\/admin-\w+|\/self-enroll)?$/,
  /\/v1\/identity\/(group-alias|oidc\/introspect)$/,
  /\/api\/v2\/[a-z/-]+\/[a-z]+-[A-Za-z0-9]{16}(\/|$)/,
  /\/api\/v2\/(state-versions|configuration-versions)\/.*\/upload\//,
  /\/api\/v2\/(runs|team-workspaces)$/,
  // The guide switches a feature on that is off in a new installation, and off again.
  /\/api\/v2\/admin\/(scim|saml)-settings$/,
  /\/scim\/v2\/(Users|Groups)\/sc[ug]-[A-Za-z0-9]{16}$/,
  // An id that no object has.
  /\/api\/v2\/[a-z/-]+\/(\/|$)/,
];

/** Whether a request writes to something that may have been there before the guide. */
function touchesOthers({ method, url, headers, data }: Request): boolean {
  if (method === 'GET' || method === 'LIST' || url === '') return false;
  const { pathname } = new URL(url);
  if (own.some((pattern) => pattern.test(pathname))) return false;
  if (headers.some((header) => /Namespace: guide-/.test(header))) return false;
  // Objects that a command creates are named in the body; those in a cubbyhole are private to the token.
  return (
    !/"(name|description|userName|displayName)": "guide-/.test(data) &&
    !/@-/.test(data) &&
    !/\/v1\/cubbyhole\/(careful|anything|notes\/first)/.test(pathname)
  );
}

/**
 * Tools, one of which must be installed, from a comment at the top of the page: `<!-- needs: tofu or terraform -->`.
 */
function needsOf(path: string): string[] {
  return /^<!-- needs: (.*) -->/.exec(readFileSync(path, 'utf8'))?.[1]?.split(' or ') ?? [];
}
