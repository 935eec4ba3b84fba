import { execFileSync } from 'node:child_process';
import { createHash, type KeyObject } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { AcmeClient, type AcmeReply } from '../../apps/secrets/test/acme-client';
import { work } from './clients';

const [directory, resolver, clients, seconds] = process.argv.slice(2) as [string, string, string, string];
const ACCOUNTS = 4;
const challengeAt = '_acme-challenge.';
const proofs = new Map<string, string>();

/** The clients order certificates and prove their names by dns-01; this program is also their DNS server. */
async function main() {
  const dns = createSocket('udp4');
  dns.on('message', (query, { port, address }) => dns.send(answerTo(query), port, address));
  dns.bind(Number(resolver.split(':')[1]), '127.0.0.1');
  await once(dns, 'listening');
  // A network may make 100 accounts an hour; the orders of one account are decided one after the other.
  const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => new Client(directory).start()));
  const names = Array.from({ length: Number(clients) }, (_, n) => `c${n}.example.com`);
  const all = await Promise.all(names.map((name, n) => orderer(name, accounts[n % ACCOUNTS]!.key)));
  const figures = await work(all, Number(seconds));
  dns.close();
  console.log(JSON.stringify(figures));
}

/** An ACME client. Like ordinary clients, it takes its next nonce from the last response. */
class Client extends AcmeClient {
  private next: string | undefined;

  override async nonce(): Promise<string> {
    const nonce = this.next ?? (await super.nonce());
    this.next = undefined;
    return nonce;
  }

  override async send(url: string, message: unknown): Promise<AcmeReply> {
    const answer = await posted(url, JSON.stringify(message));
    this.next = answer.headers.get('replay-nonce') ?? undefined;
    if (answer.status >= 400) throw new Error(`${url}: ${answer.text}`);
    return answer;
  }
}

const agent = new Agent({ keepAlive: true });

/**
 * Sends a POST. `fetch` would take several times the processor time, and the service shares the processor with its
 * clients.
 */
function posted(url: string, message: string): Promise<AcmeReply> {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/jose+json', 'Content-Length': Buffer.byteLength(message) };
    const sending = request(url, { method: 'POST', headers, agent }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (piece) => (text += piece));
      answer.on('end', () => {
        const body = answer.headers['content-type']?.includes('json') ? JSON.parse(text) : undefined;
        const { location = '', 'replay-nonce': nonce } = answer.headers;
        const shown = new Headers({ location, 'replay-nonce': String(nonce) });
        resolve({ status: answer.statusCode!, body, text, headers: shown });
      });
    });
    sending.on('error', reject);
    sending.end(message);
  });
}

/** A client for the account of a key; each call repeats everything from the order to the certificate. */
async function orderer(name: string, key: KeyObject): Promise<() => Promise<void>> {
  const client = await new Client(directory, key).start();
  const csr = execFileSync(
    'openssl',
    `req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /dev/null -subj / -addext subjectAltName=DNS:${name} -outform DER`.split(
      ' ',
    ),
    { stdio: 'pipe' },
  ).toString('base64url');
  return async () => {
    const order = await client.order(name);
    const [at] = order.body.authorizations;
    const { challenges } = (await client.post(at)).body;
    const challenge = challenges.find(({ type }: { type: string }) => type === 'dns-01');
    proofs.set(challengeAt + name, createHash('sha256').update(client.answerTo(challenge.token)).digest('base64url'));
    await client.post(challenge.url, {});
    const { body } = await client.until(at, 'valid', 'invalid');
    if (body.status !== 'valid') throw new Error(JSON.stringify(body));
    const finalized = await client.post(order.body.finalize, { csr });
    await client.post(finalized.body.certificate);
  };
}

/** Answers a query with the TXT record of its name. */
function answerTo(query: Buffer): Buffer {
  const labels: string[] = [];
  let at = 12;
  for (; query[at] !== 0; at += query[at]! + 1) labels.push(query.toString('latin1', at + 1, at + 1 + query[at]!));
  const text = proofs.get(labels.join('.').toLowerCase()) ?? '';
  const head = Buffer.from(query.subarray(0, 12));
  // Header of a successful answer with one question and one record.
  for (const [word, value] of [0x8180, 1, 1, 0, 0].entries()) head.writeUInt16BE(value, 2 + word * 2);
  // The name of the question, TXT, IN, no lifetime.
  const record = Buffer.from([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 0, 0, text.length + 1, text.length]);
  return Buffer.concat([head, query.subarray(12, at + 5), record, Buffer.from(text)]);
}

void main();
