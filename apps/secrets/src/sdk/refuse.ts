import { Refusal } from '@keystead/refusal';

/** Refuses input with this text. */
export function refuse(text: string): never {
  throw new Refusal('invalid', text);
}

/** Whether something can be read at all, as a certificate by its class. */
export function parses(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}
