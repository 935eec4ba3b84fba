import { type HclToken, tokenize } from './hcl-tokens';
import { maxDepth, type Position, syntaxError, type Tree, type TreeItem } from './policy-tree';

/** Parses HCL policy text. Throws `PolicySyntaxError` with line and column. */
export function parseHcl(text: string): Tree {
  const parser = new HclParser(tokenize(text));
  const items = parser.parseItems(0, false);
  return { kind: 'object', items, at: { line: 1, column: 1 } };
}

class HclParser {
  private index = 0;

  constructor(private readonly tokens: readonly HclToken[]) {}

  private peek(): HclToken {
    return this.tokens[this.index]!;
  }

  private take(): HclToken {
    const token = this.peek();
    if (token.kind !== 'EOF') this.index += 1;
    return token;
  }

  /** Items up to the end of the text, or up to (not including) a closing brace. */
  parseItems(depth: number, inObject: boolean): TreeItem[] {
    const items: TreeItem[] = [];
    for (;;) {
      const { kind } = this.peek();
      if (kind === 'EOF' || (inObject && kind === 'RBRACE')) return items;
      items.push(this.parseItem(depth));
      if (this.peek().kind === 'COMMA') this.take();
    }
  }

  private parseItem(depth: number): TreeItem {
    const keys: string[] = [];
    for (;;) {
      const token = this.take();
      switch (token.kind) {
        case 'IDENT':
        case 'STRING':
          keys.push(token.text);
          continue;
        case 'ASSIGN':
          if (keys.length === 0) throw syntaxError(token.at, 'no object keys found!');
          if (keys.length > 1) throw syntaxError(token.at, 'nested object expected: LBRACE got: ASSIGN');
          return { keys, value: this.parseValue(depth), at: token.at };
        case 'LBRACE':
          if (keys.length === 0) throw syntaxError(token.at, 'expected: IDENT | STRING got: LBRACE');
          return { keys, value: this.parseObject(token.at, depth), at: token.at };
        case 'ILLEGAL':
          throw syntaxError(token.at, 'illegal character');
        default:
          if (keys.length > 0 && (token.kind === 'EOF' || token.kind === 'RBRACE')) {
            throw syntaxError(token.at, `key '${keys.join(' ')}' expected start of object ('{') or assignment ('=')`);
          }
          throw syntaxError(token.at, `expected: IDENT | STRING | ASSIGN | LBRACE got: ${token.kind}`);
      }
    }
  }

  private parseValue(depth: number): Tree {
    const token = this.take();
    switch (token.kind) {
      case 'LBRACE':
        return this.parseObject(token.at, depth);
      case 'LBRACK':
        return this.parseList(token.at, depth);
      default: {
        const literal = asLiteral(token);
        if (literal) return literal;
        throw syntaxError(token.at, `Unknown token: ${token.at.line}:${token.at.column} ${token.kind} ${token.text}`);
      }
    }
  }

  private parseObject(at: Position, depth: number): Tree {
    checkDepth(at, depth);
    const items = this.parseItems(depth + 1, true);
    const end = this.take();
    if (end.kind !== 'RBRACE') throw syntaxError(end.at, `object expected closing RBRACE got: ${end.kind}`);
    return { kind: 'object', items, at };
  }

  private parseList(at: Position, depth: number): Tree {
    checkDepth(at, depth);
    const values: Tree[] = [];
    let commaNeeded = false;
    for (;;) {
      const token = this.take();
      if (token.kind === 'RBRACK') return { kind: 'list', values, at };
      if (token.kind === 'COMMA') {
        commaNeeded = false;
        continue;
      }
      if (commaNeeded) {
        throw syntaxError(token.at, `error parsing list, expected comma or list end, got: ${token.kind}`);
      }
      if (token.kind === 'LBRACE') values.push(this.parseObject(token.at, depth + 1));
      else if (token.kind === 'LBRACK') values.push(this.parseList(token.at, depth + 1));
      else {
        const literal = asLiteral(token);
        if (!literal) throw syntaxError(token.at, `unexpected token while parsing list: ${token.kind}`);
        values.push(literal);
      }
      commaNeeded = true;
    }
  }
}

function asLiteral({ kind, text, at }: HclToken): Tree | undefined {
  switch (kind) {
    case 'STRING':
    case 'HEREDOC':
      return { kind: 'string', value: text, at };
    case 'NUMBER':
    case 'FLOAT':
      return { kind: 'number', value: text, at };
    case 'BOOL':
      return { kind: 'bool', value: text === 'true', at };
    default:
      return undefined;
  }
}

function checkDepth(at: Position, depth: number): void {
  if (depth >= maxDepth) throw syntaxError(at, `nesting deeper than ${maxDepth} levels`);
}
