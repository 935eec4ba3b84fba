import { freePort } from '../free-port';
import { freshDatabase, type TestDatabase } from '../fresh-database';
import { type FuzzTarget, fuzz } from './fuzz';
import { fuzzPlan, isFlat, reaches } from './plan';
import { type ServiceProgram, startServiceProgram } from './service-program';

/** Calls a service with the token of the test's setup. */
export interface Asker {
  ask(method: string, at: string, body?: object): Promise<{ status: number; body: Body }>;
  /** The body of a successful answer; throws for others. */
  must(method: string, at: string, body?: object): Promise<Body>;
}
// biome-ignore lint/suspicious/noExplicitAny: bodies of every endpoint
type Body = any;

/** The service before the fuzzing. */
export interface Standing {
  readonly service: ServiceProgram;
  readonly databaseUrl: string;
  readonly sealKey: string;
}

/** A service that must withstand generated requests. */
export interface FuzzSubject {
  readonly name: 'secrets' | 'workspaces';
  /** Its main program. */
  readonly main: string;
  /** Settings in addition to those of every service, without its prefix; `url` is its address. */
  env(url: string): Record<string, string>;
  /** Prepares it, and returns how to call it and the tokens to use. */
  target(service: Standing): Promise<Omit<FuzzTarget, 'service' | 'metricsUrl'>>;
  /** Stops what was started with it. */
  end?(): Promise<void>;
}

/** Sends requests below an address with these headers, which may change. */
export function asker(url: string, headers: () => Record<string, string>): Asker {
  const ask: Asker['ask'] = async (method, at, body) => {
    const answer = await fetch(`${url}${at}`, { method, headers: headers(), body: body && JSON.stringify(body) });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
  };
  return {
    ask,
    async must(method, at, body) {
      const answer = await ask(method, at, body);
      if (answer.status >= 300) throw new Error(`${method} ${at}: ${answer.status} ${JSON.stringify(answer.body)}`);
      return answer.body;
    },
  };
}

const sealKey = '07'.repeat(32);

/** Declares the test that a service withstands generated requests: a few thousand, or a million with --long. */
export function withstandsMadeUpRequests(subject: FuzzSubject): void {
  // Imported here because programs that are not tests import this package, too, and Jest's functions cannot be loaded
  // there.
  const { afterAll, beforeAll, describe, expect, it }: typeof import('@jest/globals') = require('@jest/globals');
  const { name } = subject;
  describe(`generated requests to the ${name} service`, () => {
    let database: TestDatabase;
    let service: ServiceProgram;
    let metricsPort: number;

    beforeAll(async () => {
      database = await freshDatabase(name);
      const port = await freePort();
      metricsPort = await freePort();
      const env: Record<string, string> = {
        PORT: String(port),
        METRICS_PORT: String(metricsPort),
        DATABASE_URL: database.url,
        SEAL_KEY: sealKey,
        MIGRATE: 'off',
        DRAIN_SECONDS: '1',
        ...subject.env(`http://127.0.0.1:${port}`),
      };
      const settings = Object.entries(env).map(([key, value]) => [`${name.toUpperCase()}_${key}`, value]);
      service = await startServiceProgram(subject.main, Object.fromEntries(settings));
    }, 120_000);
    afterAll(async () => {
      await subject.end?.();
      await service?.stop();
      await database?.drop();
    });

    it('are answered as documented, and change neither its health nor its size', async () => {
      const target = await subject.target({ service, databaseUrl: database.url, sealKey });
      const metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`;
      const report = await fuzz({ ...target, service, metricsUrl }, fuzzPlan(name));
      process.stderr.write(`${name}, ${report.text}\n`);
      expect(report.findings).toEqual([]);
      const { prefix, token } = target.place.dialect;
      const self = { headers: { [token.header]: token.before + (await target.token()) } };
      expect((await fetch(`${service.url}${prefix}${target.place.paths.found}`)).status).toBe(200);
      expect((await fetch(`${service.url}${prefix}${target.place.paths.self}`, self)).status).toBe(200);
      expect(isFlat(report)).toBe(true);
      // Operations that never succeed are hardly tested, however many requests were sent.
      const { share, least } = reaches(report);
      expect(share).toBeGreaterThanOrEqual(least);
    }, 14_400_000);
  });
}
