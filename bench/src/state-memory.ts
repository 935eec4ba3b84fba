import { setTimeout as sleep } from 'node:timers/promises';
import { residentKib } from './machine';
import { madeState } from './made-state';
import { StateClient } from './state-client';
import { runOnStateService, type StateService } from './state-service';

const mebibytes = 100;
const warmUps = Number(process.argv[2] ?? 10);
const mib = (kib: number) => (kib / 1024).toFixed(0);

/** The peak memory of a process during some work. */
async function peakWhile(pid: number, work: () => Promise<unknown>): Promise<number> {
  let peak = residentKib(pid);
  let done = false;
  const watching = (async () => {
    while (!done) {
      peak = Math.max(peak, residentKib(pid));
      await sleep(5);
    }
  })();
  try {
    await work();
  } finally {
    done = true;
    await watching;
  }
  return peak;
}

/** Shows how much the service's memory grows while large states pass through it. Linux only. */
async function measure({ url, pid, token }: StateService): Promise<void> {
  const clients = await StateClient.prepare(url, token, 4);
  const [one, two, three] = clients as [StateClient, StateClient, StateClient];
  let serial = 0;
  const upload = async (client: StateClient, size: number, options: { json?: boolean; noise?: boolean } = {}) => {
    const state = madeState(size, ++serial, options.noise ? 'noise' : 'realistic');
    const links = await client.announce(state, serial);
    if (options.json) await client.put(links.json, state);
    const status = await client.put(links.raw, state);
    if (status !== 200) throw new Error(`an upload was answered ${status}`);
  };
  const inline = (client: StateClient) => client.createInline(madeState(15.9, ++serial), serial);
  const started = residentKib(pid);
  // The initial growth of every process is not measured.
  for (let i = 0; i < warmUps; i++) for (const client of clients) await upload(client, 0.1, { json: true });
  await one.download();
  await sleep(2000);
  const restingKib = residentKib(pid);
  process.stdout.write(
    `started ${mib(started)} MiB, at rest after small states ${mib(restingKib)} MiB\n\n` +
      '| what | most above rest (MiB) | above what it was before (MiB) | s |\n|---|---|---|---|\n',
  );
  const row = async (name: string, work: () => Promise<unknown>) => {
    const start = Date.now();
    const before = residentKib(pid);
    const peak = await peakWhile(pid, work);
    const seconds = ((Date.now() - start) / 1000).toFixed(1);
    process.stdout.write(`| ${name} | ${mib(peak - restingKib)} | ${mib(peak - before)} | ${seconds} |\n`);
  };
  await row(`upload of ${mebibytes} MiB`, () => upload(one, mebibytes));
  await row('the same with its JSON form', () => upload(one, mebibytes, { json: true }));
  await row(`download of ${mebibytes} MiB`, () => one.download());
  await row('two uploads at once', () => Promise.all([upload(one, mebibytes), upload(two, mebibytes)]));
  await row('four uploads at once', () => Promise.all(clients.map((client) => upload(client, mebibytes))));
  await row('two downloads and two uploads', () =>
    Promise.all([one.download(), one.download(), upload(two, mebibytes), upload(three, mebibytes)]),
  );
  await row('eight downloads at once', () => Promise.all([...clients, ...clients].map((client) => client.download())));
  await row('rollback to a state of such a size', () => one.rollback());
  await row('promotion of a refused one', () => one.promoteRefused(madeState(mebibytes, ++serial), serial));
  await row('upload of 100 MiB that hardly shrinks', () => upload(one, mebibytes, { noise: true }));
  await row('download of it', () => one.download());
  await row('two downloads of it at once', () => Promise.all([one.download(), one.download()]));
  await row('16 MiB inline in base64', () => inline(one));
  await row('four of those at once', () => Promise.all(clients.map(inline)));
}

runOnStateService(measure);
