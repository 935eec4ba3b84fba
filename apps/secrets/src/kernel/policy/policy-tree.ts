/** A position in a policy text; both count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A value of the policy language, from either notation. */
export type Tree =
  | { readonly kind: 'string'; readonly value: string; readonly at: Position }
  | { readonly kind: 'number'; readonly value: string; readonly at: Position }
  | { readonly kind: 'bool'; readonly value: boolean; readonly at: Position }
  | { readonly kind: 'null'; readonly at: Position }
  | { readonly kind: 'list'; readonly values: readonly Tree[]; readonly at: Position }
  | { readonly kind: 'object'; readonly items: readonly TreeItem[]; readonly at: Position };

/** `key = value`, or a block with one or more keys: `path "x" { … }`. */
export interface TreeItem {
  readonly keys: readonly string[];
  readonly value: Tree;
  readonly at: Position;
}

/** The deepest nesting of lists and objects, so that hostile text cannot exhaust the stack. */
export const maxDepth = 32;

/** Text that violates the grammar. The message contains the position. */
export class PolicySyntaxError extends Error {
  override readonly name = 'PolicySyntaxError';
}

/** Builds a syntax error with its position. */
export function syntaxError(at: Position, message: string): PolicySyntaxError {
  return new PolicySyntaxError(`At ${at.line}:${at.column}: ${message}`);
}
