/** A value that is usually available immediately, otherwise its promise. */
export type Soon<T> = T | Promise<T>;

/** Continues with a value: immediately if it is available. */
export function soon<T, U>(value: Soon<T>, next: (value: T) => Soon<U>): Soon<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
