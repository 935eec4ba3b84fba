import { Lexer, type MarkedToken, type Token, type Tokens } from 'marked';
import { Fragment, type ReactNode, useMemo } from 'react';

/** The maximum length of a document. Longer documents are shown as plain text. */
const longest = 200_000;

/**
 * Renders Markdown as elements, never as HTML: tags are omitted, images become links, and links lead only to other
 * sites or to headings of the same document.
 */
export default function Markdown({ text }: { readonly text: string }) {
  const tokens = useMemo(() => read(text), [text]);
  if (tokens === undefined) return <p className="pre">{text}</p>;
  return (
    <div className="markdown stack-tight">
      <Blocks tokens={tokens} />
    </div>
  );
}

/** Parses a document. Undefined if the document is too long, or nested too deeply for the parser. */
function read(text: string): readonly Token[] | undefined {
  if (text.length > longest) return undefined;
  try {
    return outlined(Lexer.lex(text));
  } catch {
    return undefined;
  }
}

const highest = 3;

/**
 * Changes heading levels: all are below the level of the section, and none is skipped, because screen readers announce
 * skipped levels.
 */
function outlined(tokens: readonly Token[]): readonly Token[] {
  let last = highest - 1;
  return tokens.map((token) => {
    if (token.type !== 'heading') return token;
    last = Math.min(token.depth + highest - 1, last + 1, 6);
    return { ...token, depth: last };
  });
}

function Blocks({ tokens }: { readonly tokens: readonly Token[] }) {
  return each(tokens, (token) => <Block token={token as MarkedToken} />);
}

function Inlines({ tokens }: { readonly tokens: readonly Token[] | undefined }) {
  return each(tokens ?? [], (token) => <Inline token={token as MarkedToken} />);
}

/** The parts of a string have no key except their index. */
const each = (tokens: readonly Token[], show: (token: Token) => ReactNode): ReactNode =>
  // biome-ignore lint/suspicious/noArrayIndexKey: the text never changes its order
  tokens.map((token, index) => <Fragment key={index}>{show(token)}</Fragment>);

function Block({ token }: { readonly token: MarkedToken }) {
  switch (token.type) {
    case 'heading':
      return <Heading token={token} />;
    case 'paragraph':
      return (
        <p>
          <Inlines tokens={token.tokens} />
        </p>
      );
    case 'code':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
        <pre className="code-block" tabIndex={0}>
          {token.text}
        </pre>
      );
    case 'blockquote':
      return (
        <blockquote className="stack-tight">
          <Blocks tokens={token.tokens} />
        </blockquote>
      );
    case 'list':
      return <List token={token} />;
    case 'table':
      return <MarkdownTable token={token} />;
    case 'hr':
      return <hr />;
    case 'html':
      return <Tagless text={token.text} />;
    case 'space':
    case 'def':
      return null;
    default:
      return <Inline token={token} />;
  }
}

function Heading({ token: { depth, text, tokens } }: { readonly token: Tokens.Heading }) {
  const Level = `h${Math.max(depth, highest)}` as 'h3';
  return (
    <Level id={idOf(text)}>
      <Inlines tokens={tokens} />
    </Level>
  );
}

/** Heading ids as on Git hosts, with a prefix that separates them from other ids of the page. */
const idOf = (title: string): string =>
  `text-${title
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')}`;

function List({ token: { ordered, start, items } }: { readonly token: Tokens.List }) {
  const rows = items.map(({ tokens }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the text never changes its order
    <li key={index}>
      <Blocks tokens={tokens} />
    </li>
  ));
  return ordered ? <ol start={Number(start)}>{rows}</ol> : <ul>{rows}</ul>;
}

function MarkdownTable({ token: { header, rows } }: { readonly token: Tokens.Table }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <div className="table-frame" tabIndex={0}>
      <table className="table" aria-label={header.map(({ text }) => text).join(', ')}>
        <thead>
          <tr>
            {cells(header, (content) => (
              <th scope="col">{content}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the text never changes its order
            <tr key={index}>
              {cells(row, (content) => (
                <td>{content}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const cells = (row: readonly Tokens.TableCell[], show: (content: ReactNode) => ReactNode): ReactNode =>
  // biome-ignore lint/suspicious/noArrayIndexKey: the text never changes its order
  row.map(({ tokens }, index) => <Fragment key={index}>{show(<Inlines tokens={tokens} />)}</Fragment>);

function Inline({ token }: { readonly token: MarkedToken }) {
  switch (token.type) {
    case 'strong':
      return (
        <strong>
          <Inlines tokens={token.tokens} />
        </strong>
      );
    case 'em':
      return (
        <em>
          <Inlines tokens={token.tokens} />
        </em>
      );
    case 'del':
      return (
        <del>
          <Inlines tokens={token.tokens} />
        </del>
      );
    case 'codespan':
      return <code>{token.text}</code>;
    case 'br':
      return <br />;
    case 'checkbox':
      return token.checked ? '☑ ' : '☐ ';
    case 'html':
      return /^<br\b/i.test(token.text) ? <br /> : null;
    case 'link':
      return (
        <SafeLink href={token.href}>
          <Inlines tokens={token.tokens} />
        </SafeLink>
      );
    case 'image':
      return <SafeLink href={token.href}>{token.text || 'image'}</SafeLink>;
    case 'text':
      return token.tokens === undefined ? decoded(token.text) : <Inlines tokens={token.tokens} />;
    case 'escape':
      return token.text;
    default:
      return token.raw;
  }
}

/** Links to other sites open in a new window. Links to headings stay on the page. All other links become text. */
function SafeLink({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  if (href.startsWith('#')) return <a href={`#text-${href.slice(1)}`}>{children}</a>;
  if (!/^https?:\/\//i.test(href)) return children;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

/** The text of a block of HTML. */
function Tagless({ text }: { readonly text: string }) {
  const rest = text.trimStart().startsWith('<!--') ? '' : text.replace(/<[^<>]*>/g, '').trim();
  return rest === '' ? null : <p>{decoded(rest)}</p>;
}

const characters: ReadonlyMap<string, string> = new Map(
  Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', copy: '©', mdash: '—' }),
);

/** Common and numeric character references. Others are kept unchanged. */
function decoded(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,8}));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return characters.get(name) ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
