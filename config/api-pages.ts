import { mkdirSync, writeFileSync } from 'node:fs';
import { type ApiDeclaration, type ApiModule, type ApiSource, readApiModule } from './api-declarations.ts';

/** The entries of the package that have a page, with their sources below `src`. */
const ENTRIES = [
  ['capture-gateway', 'library/capture-gateway.ts'],
  ['capture-gateway/fetch', 'library/fetch.ts'],
  ['capture-gateway/hono', 'library/hono.ts'],
  ['capture-gateway/node', 'node/library/migrate-listener.ts'],
] as const;

/** The page with what the entries refer to and do not export themselves. */
const TYPES = 'types';

/** Types whose parts have no section: a rule book's, which docs/rule-book.md explains better than 50 declarations do. */
const UNOPENED: ReadonlySet<string> = new Set(['RuleBook', 'RequestRuleName', 'ResponseRuleName']);

interface Item {
  readonly page: string;
  readonly declaration: ApiDeclaration;
}

/** Returns every name that the entries export or refer to, behind its page: `capture-gateway Migration`. */
export function apiNames(): readonly string[] {
  return [...apiItems(new Set())].map(([name, { page }]) => `${page} ${name}`);
}

/** Returns the pages of docs/api, by path, made from the TSDoc comments of the sources. */
export function apiPages(): readonly (readonly [file: string, text: string])[] {
  const items = apiItems(UNOPENED);
  const titles = [
    ...ENTRIES.map(([entry]) => [pageName(entry), `\`${entry}\``] as const),
    [TYPES, 'Types'] as const,
  ];
  return titles.map(([page, title]) => [`docs/api/${page}.md`, pageText(page, title, items)] as const);
}

/** Returns what the entries export, and what that refers to, but for the types that only `unopened` ones refer to. */
function apiItems(unopened: ReadonlySet<string>): ReadonlyMap<string, Item> {
  const modules = new Map<string, ApiModule>();
  const moduleOf = (file: URL): ApiModule => {
    const known = modules.get(file.href) ?? readApiModule(file);
    modules.set(file.href, known);
    return known;
  };
  const find = ({ file, name }: ApiSource): ApiDeclaration | undefined => {
    const { declared, handedOn } = moduleOf(file);
    const source = handedOn.get(name);
    return declared.get(name) ?? (source && find(source));
  };
  const items = new Map<string, Item>();
  for (const [entry, path] of ENTRIES) {
    const file = new URL(`../src/${path}`, import.meta.url);
    const { declared, handedOn } = moduleOf(file);
    for (const name of [...handedOn.keys(), ...declared.keys()]) {
      const declaration = find({ file, name });
      if (declaration !== undefined) items.set(name, { page: pageName(entry), declaration });
    }
  }
  // A Map is visited with what is added meanwhile: the types that types refer to.
  for (const { declaration } of items.values()) {
    if (unopened.has(declaration.name)) continue;
    for (const [name, source] of declaration.imports) {
      const isNamed = new RegExp(`\\b${name}\\b`).test(declaration.text);
      const found = isNamed && !items.has(name) ? find(source) : undefined;
      if (found !== undefined) items.set(name, { page: TYPES, declaration: found });
    }
  }
  return items;
}

function pageName(entry: string): string {
  return entry.replace('capture-gateway/', '');
}

function pageText(page: string, title: string, items: ReadonlyMap<string, Item>): string {
  const sections = [...items.values()]
    .filter((item) => item.page === page)
    .sort(({ declaration: one }, { declaration: other }) => (one.name < other.name ? -1 : 1))
    .map(({ declaration }) => sectionText(declaration, page, items));
  const note =
    'Generated from the sources by `npm run generate`; [library.md](../library.md) says how the parts belong together.';
  const rest =
    'The declarations of the package (`.d.ts`) also have the parts of a `RuleBook`; [rule-book.md](../rule-book.md) says what they mean.';
  return [`# ${title}`, note, ...(page === TYPES ? [rest] : []), ...sections].join('\n\n') + '\n';
}

function sectionText(declaration: ApiDeclaration, page: string, items: ReadonlyMap<string, Item>): string {
  const { name, summary, text } = declaration;
  const links = [...items.entries()]
    .filter(([other]) => other !== name && new RegExp(`\\b${other}\\b`).test(text))
    .map(
      ([other, item]) => `[${other}](${item.page === page ? '' : `${item.page}.md`}#${other.toLowerCase()})`,
    );
  const refers = links.length === 0 ? [] : [`Refers to ${links.sort().join(', ')}.`];
  return [`## ${name}`, summary, `\`\`\`ts\n${text}\n\`\`\``, ...refers].join('\n\n');
}

if (import.meta.main) {
  const root = new URL('../', import.meta.url);
  mkdirSync(new URL('docs/api/', root), { recursive: true });
  for (const [file, text] of apiPages()) writeFileSync(new URL(file, root), text);
}
