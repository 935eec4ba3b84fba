import { Refusal } from '@keystead/refusal';

/**
 * The budget of one request for comparing strings with patterns: about 20 ms. A search may examine every character of
 * the text once for every character of the pattern.
 */
const mostSteps = 100_000_000;
/** The cost of any comparison, in steps. */
const stepsOfOne = 300;

/** Compares strings with patterns in which `*` matches any text, within the budget of one request. */
export class Globs {
  private remainingSteps = mostSteps;

  /**
   * Whether a string matches a pattern. Throws `too-large` if the request has too many strings and patterns, or too
   * long ones.
   */
  fits(glob: string, text: string): boolean {
    if (!glob.includes('*')) return this.take(glob === text, 0);
    const parts = glob.split('*');
    const [first, last] = [parts[0]!, parts.at(-1)!];
    if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) {
      return this.take(false, glob.length);
    }
    this.take(true, parts.length > 2 ? glob.length * text.length : glob.length);
    let at = first.length;
    const end = text.length - last.length;
    for (const part of parts.slice(1, -1)) {
      const found = text.indexOf(part, at);
      if (found < 0 || found + part.length > end) return false;
      at = found + part.length;
    }
    return true;
  }

  private take(result: boolean, steps: number): boolean {
    this.remainingSteps -= stepsOfOne + steps;
    if (this.remainingSteps < 0)
      throw new Refusal('too-large', 'too many or too long strings to compare with patterns');
    return result;
  }
}
