import { type PolicyEngine, unjudged } from '../src/resources/runs/policy-evaluations/perform';

/**
 * An engine in which policies whose names begin with `no` fail every plan. `judged` is called after the evaluation of
 * each plan.
 */
export const objectingEngine = (judged: () => void = () => undefined): PolicyEngine => ({
  async judge(sets, { plan }) {
    plan.resume();
    const verdicts = sets.map(({ id, policies }) => ({
      id,
      error: '',
      outcomes: unjudged(policies).map((one) =>
        one.policy_name.startsWith('no')
          ? { ...one, status: 'failed' as const, output: [{ print: 'not so' }] }
          : { ...one, status: 'passed' as const },
      ),
    }));
    judged();
    return verdicts;
  },
});
