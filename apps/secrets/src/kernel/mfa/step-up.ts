import { Refusal } from '@keystead/refusal';
import type { Factors, RightFactor } from './factors';
import { type Passcodes, passcodeFor, passcodesOf } from './logins';
import type { Methods } from './methods';
import type { MfaMethod } from './types';

/** A method that a policy asks for: by id or name, as its own namespace sees it. */
export interface WantedMethod {
  readonly namespaceId: string;
  readonly method: string;
}

/** Second factors of single requests, where a policy asks for them (`mfa_methods`). Decision 0035. */
export class StepUp {
  constructor(
    private readonly methods: Methods,
    private readonly factors: Factors,
  ) {}

  /**
   * Makes sure that every method is proven by a passcode sent along, for the entity of the caller. Throws `denied` for
   * every fault alike. No code is used up where another one is missing or wrong.
   */
  async prove(entityId: string, wanted: readonly WantedMethod[], sentAlong: readonly string[]): Promise<void> {
    const passcodes = passcodesOf(sentAlong);
    const proofs = new Map<string, { method: MfaMethod; passcode: string }>();
    for (const { namespaceId, method: named } of wanted) {
      const proof = await this.proofOf(namespaceId, named, passcodes);
      if (!proof || entityId === '') throw refused();
      proofs.set(proof.method.id, proof);
    }
    const right: RightFactor[] = [];
    for (const { method, passcode } of proofs.values()) {
      const factor = await this.factors.judge(method, entityId, passcode);
      if (!factor.ok) {
        await this.factors.giveBack(right);
        throw refused();
      }
      right.push(factor);
    }
    if ((await this.factors.settle(right)) !== undefined) throw refused();
  }

  /** Those of some methods that do not exist in the eyes of a namespace. */
  async unknown(namespaceId: string, named: readonly string[]): Promise<string[]> {
    const found = await Promise.all(named.map((name) => this.methods.named(namespaceId, name)));
    return named.filter((_name, at) => !found[at]);
  }

  private async proofOf(namespaceId: string, named: string, passcodes: Passcodes) {
    const method = await this.methods.named(namespaceId, named);
    const passcode = method && (passcodes.get(named) ?? passcodeFor(method, passcodes));
    return method && passcode !== undefined ? { method, passcode } : undefined;
  }
}

const refused = () => new Refusal('denied', 'permission denied');
