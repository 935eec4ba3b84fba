import { Refusal } from '@keystead/refusal';
import type { CorrectFactor, Factors } from './factors';
import { type Passcodes, passcodeFor, passcodesOf } from './logins';
import type { Methods } from './methods';
import type { MfaMethod } from './types';

/** A method that a policy requires, by id, or by name in the policy's namespace. */
export interface RequiredMethod {
  readonly namespaceId: string;
  readonly method: string;
}

/** Second factors of single requests, if a policy requires them (`mfa_methods`). Decision 0035. */
export class StepUp {
  constructor(
    private readonly methods: Methods,
    private readonly factors: Factors,
  ) {}

  /**
   * Checks that the request has a passcode for every method, for the caller's entity. Throws `denied` for every
   * failure. No code is used up if another code is missing or wrong.
   */
  async prove(entityId: string, required: readonly RequiredMethod[], sentPasscodes: readonly string[]): Promise<void> {
    const passcodes = passcodesOf(sentPasscodes);
    const proofs = new Map<string, { method: MfaMethod; passcode: string }>();
    for (const { namespaceId, method: idOrName } of required) {
      const proof = await this.proofOf(namespaceId, idOrName, passcodes);
      if (!proof || entityId === '') throw refused();
      proofs.set(proof.method.id, proof);
    }
    const correct: CorrectFactor[] = [];
    for (const { method, passcode } of proofs.values()) {
      const factor = await this.factors.judge(method, entityId, passcode);
      if (!factor.ok) {
        await this.factors.giveBack(correct);
        throw refused();
      }
      correct.push(factor);
    }
    if ((await this.factors.settle(correct)) !== undefined) throw refused();
  }

  /** The given methods that are not visible in a namespace. */
  async unknown(namespaceId: string, names: readonly string[]): Promise<string[]> {
    const found = await Promise.all(names.map((name) => this.methods.findMethod(namespaceId, name)));
    return names.filter((_name, at) => !found[at]);
  }

  private async proofOf(namespaceId: string, idOrName: string, passcodes: Passcodes) {
    const method = await this.methods.findMethod(namespaceId, idOrName);
    const passcode = method && (passcodes.get(idOrName) ?? passcodeFor(method, passcodes));
    return method && passcode !== undefined ? { method, passcode } : undefined;
  }
}

const refused = () => new Refusal('denied', 'permission denied');
