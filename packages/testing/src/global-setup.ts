import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
// Jest loads this file with Node's own resolution, so it imports nothing that must be built or needs an export
// condition.
import { BROKER_VARIABLE } from './broker';
import { fromSource } from './from-source';

interface Run {
  broker: Server;
  keeper?: Keeper;
}

/** The process that owns the server; it answers one question at a time, in order. */
class Keeper {
  private readonly waiting: Array<(line: string) => void> = [];
  private readonly process: ChildProcessWithoutNullStreams;
  private output = '';

  constructor() {
    this.process = spawn(
      process.execPath,
      [...fromSource, path.join(__dirname, 'keeper.ts')],
      // A separate session, because it must clean up after Ctrl-C. It ends when its input ends, even if we are killed.
      { detached: true, stdio: 'pipe', env: { ...process.env, NODE_OPTIONS: '' } },
    );
    this.process.stderr.on('data', (chunk) => {
      this.output = (this.output + chunk).slice(-20_000);
    });
    createInterface({ input: this.process.stdout }).on('line', (line) => this.waiting.shift()?.(line));
    this.process.once('exit', () => {
      for (const answer of this.waiting.splice(0))
        answer(JSON.stringify({ error: `test server ended: ${this.output}` }));
    });
    this.process.stdin.on('error', () => {});
  }

  ask(question: string): Promise<string> {
    if (this.process.exitCode !== null)
      return Promise.resolve(JSON.stringify({ error: `test server ended: ${this.output}` }));
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      this.process.stdin.write(`${question}\n`);
    });
  }

  /** Ends the server; returns the statements that it did not understand. */
  async end(): Promise<string> {
    if (this.process.exitCode === null) {
      await new Promise<void>((resolve) => {
        this.process.once('close', () => resolve());
        this.process.stdin.end();
      });
    }
    return this.output;
  }
}

/**
 * Jest's global set-up. Starts nothing by itself: the first test that needs a database starts the run's PostgreSQL, so
 * that other runs do not pay for it.
 */
export default async function globalSetup(): Promise<void> {
  const run: Run = {
    broker: createServer(async (request, response) => {
      run.keeper ??= new Keeper();
      response.end(await run.keeper.ask(request.url!.slice(1)));
    }),
  };
  // On a loaded machine a worker may reuse its connection late, so it stays open until the run ends.
  run.broker.keepAliveTimeout = 0;
  run.broker.requestTimeout = 0;
  await new Promise<void>((resolve) => run.broker.listen(0, '127.0.0.1', resolve));
  run.broker.unref();
  process.env[BROKER_VARIABLE] = `http://127.0.0.1:${(run.broker.address() as AddressInfo).port}`;
  (globalThis as { keysteadTestRun?: Run }).keysteadTestRun = run;
}

/** Jest's global teardown: ends the run's server and leaves nothing behind. The run fails if that server complained. */
export async function globalTeardown(): Promise<void> {
  const run = (globalThis as { keysteadTestRun?: Run }).keysteadTestRun;
  run?.broker.close();
  run?.broker.closeAllConnections();
  const complaints = await run?.keeper?.end();
  if (!complaints) return;
  process.stderr.write(complaints);
  process.exitCode = 1;
}
