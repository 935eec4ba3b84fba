import { Refusal } from '@keystead/refusal';

/** Refuses input with this text. */
export function refuse(text: string): never {
  throw new Refusal('invalid', text);
}

/** Whether a parser accepts something, for example a certificate. */
export function parses(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}
