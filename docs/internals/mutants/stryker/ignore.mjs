// What is not altered, because it is no promise: the text of an error and the name of its class. A Refusal is no such error:
// its text is an answer that callers read.
const texts = new Set(['StringLiteral', 'TemplateLiteral', 'TemplateElement']);
const isError = (node) =>
  node.type === 'NewExpression' &&
  /Error$|^(NotAuthentic|WrongSealKey|UnknownKeyVersion)$/.test(node.callee.name ?? '');
const isSuper = (node) => node.type === 'CallExpression' && node.callee.type === 'Super';

export const strykerPlugins = [
  {
    kind: 'Ignore',
    name: 'error-texts',
    value: {
      shouldIgnore(path) {
        if (!texts.has(path.node.type)) return undefined;
        const around = path.parent;
        if (isError(around) || isSuper(around)) return 'the text of an error';
        if (around.type === 'ClassProperty' && around.key.name === 'name') return 'the name of an error class';
        return undefined;
      },
    },
  },
];
