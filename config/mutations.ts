import { parseSync, Visitor } from 'oxc-parser';

/** One small fault that can be put into a source. */
export interface Mutation {
  readonly kind: 'arithmetic' | 'boolean' | 'boundary' | 'comparison' | 'constant' | 'statement';
  /** Offsets in the source of what is replaced. */
  readonly start: number;
  readonly end: number;
  readonly insert: string;
}

type Kind = Mutation['kind'];

const OPERATORS: Readonly<Record<string, readonly (readonly [kind: Kind, operator: string])[]>> = {
  '===': [['comparison', '!==']],
  '!==': [['comparison', '===']],
  '<': [
    ['boundary', '<='],
    ['comparison', '>='],
  ],
  '<=': [
    ['boundary', '<'],
    ['comparison', '>'],
  ],
  '>': [
    ['boundary', '>='],
    ['comparison', '<='],
  ],
  '>=': [
    ['boundary', '>'],
    ['comparison', '<'],
  ],
  '&&': [['boolean', '||']],
  '||': [['boolean', '&&']],
  '??': [['boolean', '&&']],
  '+': [['arithmetic', '-']],
  '-': [['arithmetic', '+']],
  '*': [['arithmetic', '/']],
  '/': [['arithmetic', '*']],
  '%': [['arithmetic', '*']],
  '&': [['arithmetic', '|']],
  '|': [['arithmetic', '&']],
  '<<': [['arithmetic', '>>']],
  '>>': [['arithmetic', '<<']],
  '>>>': [['arithmetic', '<<']],
  '+=': [['arithmetic', '-=']],
  '-=': [['arithmetic', '+=']],
  '++': [['arithmetic', '--']],
  '--': [['arithmetic', '++']],
};

/**
 * Returns all mutations of a source of TypeScript, in the order of the text. Left out are types, the addresses of imports, fallbacks of
 * elements, and sentences: what they say is for people, and a test that holds each word would only hold it twice.
 */
export function mutationsOf(name: string, source: string): readonly Mutation[] {
  const mutations: Mutation[] = [];
  const excluded: { readonly start: number; readonly end: number }[] = [];
  const add = (kind: Kind, start: number, end: number, insert: string): void =>
    void mutations.push({ kind, start, end, insert });
  const exclude = ({ start, end }: { readonly start: number; readonly end: number }): void =>
    void excluded.push({ start, end });
  const remove = ({ start, end }: { readonly start: number; readonly end: number }): void =>
    add('statement', start, end, ';');
  const swapOperator = (operator: string, from: number, until: number): void => {
    const start = source.indexOf(operator, from);
    if (start === -1 || start >= until) return;
    for (const [kind, insert] of OPERATORS[operator] ?? []) add(kind, start, start + operator.length, insert);
  };
  const between = (node: {
    readonly operator: string;
    readonly left: { readonly end: number };
    readonly right: { readonly start: number };
  }): void => swapOperator(node.operator, node.left.end, node.right.start);
  new Visitor({
    BinaryExpression(node) {
      if (node.operator !== '+' || !isText(source.slice(node.start, node.end))) between(node);
    },
    LogicalExpression(node) {
      between(node);
      // An element that is always there: the fallback is for the compiler (noUncheckedIndexedAccess), and nothing reaches it.
      const { left, operator, right } = node;
      if (operator === '??' && left.type === 'MemberExpression' && left.computed) exclude(right);
    },
    AssignmentExpression(node) {
      if (!isText(source.slice(node.right.start, node.right.end))) between(node);
    },
    UpdateExpression(node) {
      if (node.prefix) swapOperator(node.operator, node.start, node.argument.start);
      else swapOperator(node.operator, node.argument.end, node.end);
    },
    UnaryExpression(node) {
      if (node.operator === '!') add('boolean', node.start, node.start + 1, '');
    },
    ExpressionStatement(node) {
      const isDirectiveOrSuper = /^(?:'|"|super\()/.test(source.slice(node.start, node.end));
      if (!isDirectiveOrSuper) remove(node);
    },
    ThrowStatement: remove,
    ContinueStatement: remove,
    ReturnStatement(node) {
      if (node.argument === null) remove(node);
    },
    Literal(node) {
      const { start, end, value } = node;
      if (typeof value === 'boolean') add('boolean', start, end, String(!value));
      else if (typeof value === 'number') add('constant', start, end, String(value + 1));
      else if (typeof value === 'string' && !value.includes(' '))
        add('constant', start, end, value === '' ? "'mutated'" : "''");
    },
    Property(node) {
      if (!node.computed) exclude(node.key);
    },
    ImportDeclaration: exclude,
    ExportAllDeclaration: exclude,
    ImportExpression: exclude,
    TSLiteralType: exclude,
    TSImportType: exclude,
  }).visit(parseSync(name, source).program);
  return mutations
    .filter(({ start, end }) => !excluded.some((one) => one.start <= start && end <= one.end))
    .toSorted((a, b) => a.start - b.start || a.end - b.end);
}

/** Whether a sum is of texts: without a sum, the program is as wrong as with a difference. */
function isText(sum: string): boolean {
  return /['"`]/.test(sum);
}
