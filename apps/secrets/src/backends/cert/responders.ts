import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '@keystead/refusal';
import { CertID, OCSPRequest, Request, TBSRequest } from '@peculiar/asn1-ocsp';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import { AlgorithmIdentifier, Extension } from '@peculiar/asn1-x509';
import { LRUCache } from 'lru-cache';
import { NotNow, Unreachable } from '../../sdk/outside';
import { OutsideCalls, type OutsideResponse } from '../../sdk/outside-call';
import type { Certificate } from './certificate';
import { BadAnswer, nameOf, nonceId, type OcspAnswer, readAnswer, type Standing } from './ocsp-answer';

/** The OCSP settings of a role. */
export interface OcspRules {
  /** Responders to use instead of the certificate's. */
  readonly servers: readonly string[];
  /** Certificates that may sign answers, in addition to the issuer's certificate. */
  readonly trusted: readonly Certificate[];
  /** True: all responders must agree. False: the first definite response is used. */
  readonly everyone: boolean;
  readonly maxAgeMs: number;
  /** How often a failing responder is called again, within two seconds. */
  readonly retries: number;
}

/** The cache of one mount. */
export interface OcspMemory {
  readonly mount: string;
  /** The number of responses to cache. Each response is cached until it expires. */
  readonly size: number;
  /** The generation of the configuration. Responses from another generation are not reused. */
  readonly generation: string;
}

type Answers = LRUCache<string, OcspAnswer & { untilMs: number }>;

const who = 'the OCSP responder';
const sha1 = '1.3.14.3.2.26';
const timeoutMs = 5_000;
const retryForMs = 2_000;
const firstPauseMs = 100;
const mostServers = 10;
const mostMounts = 1_000;

/** Asks OCSP responders whether certificates are still valid. */
export class Responders {
  private readonly calls: OutsideCalls;
  private readonly memories = new LRUCache<string, { generation: string; answers: Answers }>({ max: mostMounts });

  constructor(clock: { now(): number }) {
    this.calls = new OutsideCalls(clock);
  }

  /** Throws `upstream` if there is no trustworthy response, and `invalid` if there is no responder. */
  async commitStatusOf(
    leaf: Certificate,
    issuer: Certificate,
    rules: OcspRules,
    memory: OcspMemory,
    nowMs: number,
  ): Promise<Standing> {
    const servers = (rules.servers.length > 0 ? rules.servers : leaf.responders).slice(0, mostServers);
    if (servers.length === 0) throw new Refusal('invalid', 'the certificate does not name an OCSP responder');
    const cache = this.memoryOf(memory);
    const key = JSON.stringify([
      leaf.x509.fingerprint256,
      issuer.x509.fingerprint256,
      servers,
      rules.trusted.map(({ x509 }) => x509.fingerprint256),
      rules.everyone,
      rules.maxAgeMs,
    ]);
    const before = cache.get(key);
    if (before && before.untilMs > nowMs) return before.status;
    const ask = (server: string) => this.ask(server, leaf, issuer, rules, nowMs);
    const { status, untilMs } = await (rules.everyone ? allOf(servers, ask) : firstOf(servers, ask));
    if (status !== 'unknown' && untilMs !== undefined) cache.set(key, { status, untilMs });
    return status;
  }

  private memoryOf({ mount, size, generation }: OcspMemory): Answers {
    const cache = this.memories.get(mount);
    if (cache?.generation === generation && cache.answers.max === size) return cache.answers;
    const answers: Answers = new LRUCache({ max: size });
    this.memories.set(mount, { generation, answers });
    return answers;
  }

  private async ask(server: string, leaf: Certificate, issuer: Certificate, rules: OcspRules, nowMs: number) {
    const nonce = Buffer.from(AsnConvert.serialize(new OctetString(randomBytes(16))));
    const { status, bytes } = await this.send(server, questionOf(leaf, issuer, nonce), rules.retries);
    if (status !== 200) throw new Refusal('upstream', `${who} answered ${status}`);
    try {
      const { trusted, maxAgeMs } = rules;
      return readAnswer(bytes, { leaf, issuer, trusted, nonce, nowMs, maxAgeMs });
    } catch (error) {
      if (!(error instanceof BadAnswer)) throw error;
      throw new Refusal('upstream', `${who} gave an invalid answer: ${error.message}`, [], {
        cause: error,
      });
    }
  }

  private async send(server: string, content: Buffer, retries: number): Promise<OutsideResponse> {
    const bytes = { type: 'application/ocsp-request', content };
    const headers = { accept: 'application/ocsp-response' };
    const startedAtMs = performance.now();
    for (let pauseMs = firstPauseMs, remainingTries = retries; ; pauseMs *= 2, remainingTries--) {
      const mayAgain = () => remainingTries > 0 && performance.now() - startedAtMs + pauseMs < retryForMs;
      try {
        const answer = await this.calls.call(who, server, { method: 'POST', bytes, headers }, timeoutMs);
        if (answer.status < 500 || !mayAgain()) return answer;
      } catch (error) {
        if (!(error instanceof Unreachable) || error instanceof NotNow || !mayAgain()) throw error;
      }
      await sleep(pauseMs);
    }
  }
}

function questionOf(leaf: Certificate, issuer: Certificate, nonce: Buffer): Buffer {
  const { issuerName, issuerKey } = nameOf({ leaf, issuer }, 'sha1');
  const serial = BigInt(leaf.serial).toString(16);
  const digits = Buffer.from(serial.length % 2 === 0 ? serial : `0${serial}`, 'hex');
  // If the first bit were set, the number would be negative.
  const serialNumber = digits[0]! >= 0x80 ? Buffer.concat([Buffer.from([0]), digits]) : digits;
  const reqCert = new CertID({
    hashAlgorithm: new AlgorithmIdentifier({ algorithm: sha1, parameters: null }),
    issuerNameHash: new OctetString(issuerName),
    issuerKeyHash: new OctetString(issuerKey),
    serialNumber: new Uint8Array(serialNumber).buffer,
  });
  const tbsRequest = new TBSRequest({
    requestList: [new Request({ reqCert })],
    requestExtensions: [new Extension({ extnID: nonceId, extnValue: new OctetString(nonce) })],
  });
  return Buffer.from(AsnConvert.serialize(new OCSPRequest({ tbsRequest })));
}

/** The worst status of all responses. The certificate is good only if all responders report that it is good. */
function agreed(answers: readonly OcspAnswer[]): OcspAnswer {
  const worst = (['revoked', 'unknown', 'good'] as const).find((one) => answers.some(({ status }) => status === one))!;
  const ends = answers.filter(({ status }) => status === worst).map(({ untilMs }) => untilMs);
  const limits = ends.filter((untilMs) => untilMs !== undefined);
  return { status: worst, untilMs: limits.length < ends.length ? undefined : Math.min(...limits) };
}

/** The response of all responders. One "revoked" is enough, even if others fail. Throws if one does not answer. */
async function allOf(servers: readonly string[], ask: (server: string) => Promise<OcspAnswer>): Promise<OcspAnswer> {
  const outcomes = await Promise.allSettled(servers.map(ask));
  const answers = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const failed = outcomes.find((one) => one.status === 'rejected');
  const revoked = answers.find(({ status }) => status === 'revoked');
  if (failed && !revoked) throw failed.reason;
  return revoked ?? agreed(answers);
}

/** The first definite response, otherwise the first "unknown". Throws if no responder gives one of these. */
async function firstOf(servers: readonly string[], ask: (server: string) => Promise<OcspAnswer>): Promise<OcspAnswer> {
  let unknown: OcspAnswer | undefined;
  let failure: unknown;
  for (const server of servers) {
    try {
      const answer = await ask(server);
      if (answer.status !== 'unknown') return answer;
      unknown ??= answer;
    } catch (error) {
      failure ??= error;
    }
  }
  if (unknown === undefined) throw failure;
  return unknown;
}
