import { globSync, readFileSync } from 'node:fs';
import { parseSync, Visitor, type ParseResult } from 'oxc-parser';
import { pumps } from './regex-pumps.ts';

type Program = ParseResult['program'];
type Comment = ParseResult['comments'][number];

/** A comment that begins with this, up to three lines above an expression, excuses it; its reason follows. */
const EXCUSE = 'Not proven linear:';

const EXCUSED_LINES = 3;

/**
 * Returns one sentence for each regular expression in a file of TypeScript whose time grows faster than its input, for each that is
 * built from what is no constant, and for each excuse that excuses nothing. A client, V2 or a file may bring any input.
 */
export function regexFaults(name: string, source: string): readonly string[] {
  const { program, comments } = parseSync(name, source);
  const excuses = new Map(comments.filter(isExcuse).map((comment) => [comment, false]));
  const faults: string[] = [];
  for (const { at, text, problem } of problemsOf(program, source)) {
    const line = lineAt(source, at);
    const excuse = [...excuses.keys()].find((comment) => {
      const end = lineAt(source, comment.end);
      return end <= line && line - end <= EXCUSED_LINES;
    });
    if (excuse === undefined) faults.push(`${name}:${line}: ${text} ${problem}`);
    else excuses.set(excuse, true);
  }
  for (const [{ start }, isUsed] of excuses)
    if (!isUsed) faults.push(`${name}:${lineAt(source, start)}: the comment "${EXCUSE}" excuses nothing.`);
  return faults;
}

interface Problem {
  /** The offset of the expression. */
  readonly at: number;
  /** The expression as in the source. */
  readonly text: string;
  readonly problem: string;
}

function problemsOf(program: Program, source: string): readonly Problem[] {
  const problems: Problem[] = [];
  const constants = constantsOf(program);
  const judge = (at: number, text: string, pattern: string, flags: string): void => {
    const found = pumps(pattern, flags);
    if (found.length === 0) return;
    const words = found.map((word) => JSON.stringify(word)).join(' or ');
    problems.push({ at, text, problem: `reads a run of ${words} more than once.` });
  };
  const build = ({ start, end, callee, arguments: given }: Built): void => {
    if (callee.type !== 'Identifier' || callee.name !== 'RegExp') return;
    const [pattern, flags = ''] = given.map((argument) => folded(argument, constants));
    const text = source.slice(start, end);
    if (pattern === undefined || given.length > 2 || (given.length === 2 && flags === undefined))
      problems.push({ at: start, text, problem: 'is built from what is no constant of this file.' });
    else judge(start, text, pattern, flags);
  };
  new Visitor({
    Literal(node) {
      if ('regex' in node) judge(node.start, node.raw ?? '', node.regex.pattern, node.regex.flags);
    },
    NewExpression: build,
    CallExpression: build,
  }).visit(program);
  return problems;
}

type Built = Extract<Node, { readonly type: 'NewExpression' | 'CallExpression' }>;
type Node = NonNullable<
  Extract<Program['body'][number], { readonly type: 'ExpressionStatement' }>['expression']
>;

/** The constants of a file whose values are texts, by name. */
function constantsOf(program: Program): ReadonlyMap<string, string> {
  const constants = new Map<string, string>();
  for (const statement of program.body) {
    const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    if (declared?.type !== 'VariableDeclaration' || declared.kind !== 'const') continue;
    for (const { id, init } of declared.declarations) {
      const value = init === null || id.type !== 'Identifier' ? undefined : folded(init, constants);
      if (value !== undefined && id.type === 'Identifier') constants.set(id.name, value);
    }
  }
  return constants;
}

/** The text of an expression of literals and constants; undefined for any other. */
function folded(
  node: Built['arguments'][number],
  constants: ReadonlyMap<string, string>,
): string | undefined {
  if (node.type === 'Identifier') return constants.get(node.name);
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined;
  const isRaw = node.type === 'TaggedTemplateExpression';
  if (!isRaw && node.type !== 'TemplateLiteral') return undefined;
  const { quasis, expressions } = isRaw ? node.quasi : node;
  let text = '';
  for (const [k, { value }] of quasis.entries()) {
    text += isRaw ? value.raw : (value.cooked ?? '');
    const expression = expressions[k];
    if (expression === undefined) continue;
    const inner = folded(expression, constants);
    if (inner === undefined) return undefined;
    text += inner;
  }
  return text;
}

function isExcuse({ value }: Comment): boolean {
  return value.replace(/^[\s*]+/, '').startsWith(EXCUSE);
}

function lineAt(source: string, offset: number): number {
  return source.slice(0, offset).split('\n').length;
}

/** Returns the faults of all files of the source, by path. */
export function sourceRegexFaults(root: URL): readonly string[] {
  return globSync('src/**/*.{ts,js}', { cwd: root.pathname })
    .toSorted()
    .flatMap((path) => regexFaults(path, readFileSync(new URL(path, root), 'utf8')));
}

if (import.meta.main) {
  const faults = sourceRegexFaults(new URL('../', import.meta.url));
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) {
    console.error(`Each reads its input once, or a comment above says why it may not: "${EXCUSE} …".`);
    process.exitCode = 1;
  }
}
