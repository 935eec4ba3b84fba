import { Failure, toText } from '../../sdk/coerce';
import { parseDuration } from '../../sdk/duration';
import { field } from '../../sdk/fields';

/** A duration that is stored and returned as sent. Error messages begin with `problem`. */
export const keptDuration = (problem: string) =>
  field({ type: 'string' }, (value) => {
    const text = toText(value);
    if (text instanceof Failure) return text;
    if (text !== '' && parseDuration(text) !== undefined) return text;
    return new Failure(`${problem}: invalid duration ${JSON.stringify(text.slice(0, 100))}`, true);
  });

/** The duration in seconds. */
export const secondsOf = (text: string): number => parseDuration(text)!;
