import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describeCommand, everyCommand } from '../../src/cli/completion.ts';
import { EXIT_CODES } from '../../src/cli/command-fault.ts';
import { createProgram } from '../../src/cli/program.ts';
import { allSettings } from '../../src/settings/settings.ts';
import { apiNames } from '../api-pages.ts';

/**
 * The surfaces whose names are listed, as docs/stability.md calls them. A name is what a user writes down: in a file, a command, an
 * alert, a program.
 */
export const SURFACES = [
  'rule book',
  'setting',
  'flag',
  'exit code',
  'log field',
  'metric',
  'error code',
  'admin API',
  'library',
  'store and rollout file',
] as const;

type Surface = (typeof SURFACES)[number];

/** The list of the last release, one name a line. */
export const LISTED_NAMES = 'config/release/surface.txt';

/** Returns all public names of the sources below `root`, sorted, each as `surface: name`. */
export async function publicNames(root: URL): Promise<readonly string[]> {
  const program = describeCommand(await createProgram(() => true));
  const named: Readonly<Record<Surface, readonly string[]>> = {
    'rule book': schemaPaths(readJson(new URL('config/rules.schema.json', root))),
    setting: allSettings.map(({ name }) => name),
    flag: everyCommand(program).flatMap(({ path, options }) =>
      options
        .flatMap(({ names }) => names.filter((name) => name.startsWith('--')))
        .map((name) => `${path} ${name}`),
    ),
    'exit code': EXIT_CODES.map(([code]) => String(code)),
    'log field': schemaPaths(readJson(new URL('config/entry.schema.json', root))),
    metric: [
      ...inSources(root, ['src'], /['"`](gateway_[a-z0-9_]+)(?=['"`{ ])/g),
      ...inSources(root, ['src/rewrite-log/metric-families.ts'], /^ {2}\| '([a-z][a-z0-9_]*)'/gm).map(
        (label) => `label ${label}`,
      ),
    ],
    'error code': [
      ...inSources(
        root,
        ['src/migrate/failure.ts', 'src/gateway/failures.ts'],
        /^ {2}'?([a-z][a-z0-9-]*)'?: \[\n? *\d{3},/gm,
      ),
      ...inSources(
        root,
        ['src/json', 'src/http', 'src/edits', 'src/rules/kinds', 'src/rewrite', 'src/migrate'],
        /\bcode: '([a-z][a-z-]+)'/g,
      ),
    ],
    'admin API': inSources(
      root,
      ['src/inspector', 'src/node/admin'],
      /\bapp\.((?:get|post)\('\/[^']*)'/g,
    ).map((call) => call.replace(/^(get|post)\('/, (_, method: string) => `${method.toUpperCase()} `)),
    library: apiNames(),
    // The members of what replicas read, each with its check.
    'store and rollout file': inSources(
      root,
      ['src/rollout/stored-rollout.ts'],
      /\b([a-z]\w*): (?:is[A-Z]|maybe\(|has[<(]|\(\w+\) =>)/g,
    ),
  };
  return SURFACES.flatMap((surface) =>
    [...new Set(named[surface])].toSorted().map((name) => `${surface}: ${name}`),
  );
}

/** Returns the public names of the last release. */
export function releasedNames(root: URL): readonly string[] {
  return readFileSync(new URL(LISTED_NAMES, root), 'utf8').trim().split('\n');
}

/** Returns the text of the list. */
export function nameList(names: readonly string[]): string {
  return `${names.join('\n')}\n`;
}

/**
 * Returns each name that came or went since the last release and that the unreleased section of the changelog does not have as code:
 * `explain --response` is told by `--response` between backticks, the setting `max-age` also by its flag or variable.
 */
export function untoldChanges(
  names: readonly string[],
  released: readonly string[],
  unreleased: string,
): readonly string[] {
  const told = new Set(
    [...unreleased.matchAll(/`([^`]+)`/g)]
      .flatMap(([, code = '']) => code.split(/[\s.=,()[\]{}']+/))
      .flatMap((word) => [
        word,
        word.replace(/^--/, ''),
        word
          .replace(/^GATEWAY_/, '')
          .toLowerCase()
          .replaceAll('_', '-'),
      ]),
  );
  const isTold = (line: string): boolean => {
    const [word = ''] = /[^\s.]+$/.exec(line.replace(/(?:\[\]|\.\*)+$/, '')) ?? [];
    return told.has(word);
  };
  const [now, then] = [new Set(names), new Set(released)];
  return [
    ...names.filter((line) => !then.has(line) && !isTold(line)).map((line) => `new: ${line}`),
    ...released.filter((line) => !now.has(line) && !isTold(line)).map((line) => `gone: ${line}`),
  ];
}

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
}

function readJson(file: URL): JsonSchema {
  const schema: JsonSchema = JSON.parse(readFileSync(file, 'utf8'));
  return schema;
}

/** The members that a schema describes, as dotted paths: `[]` is an element, `*` any name. */
function schemaPaths(schema: JsonSchema, path = ''): readonly string[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const here = path === '' ? name : `${path}.${name}`;
    return [here, ...schemaPaths(inner, here)];
  });
  const other = schema.additionalProperties;
  return [
    ...own,
    ...(typeof other === 'object' ? schemaPaths(other, `${path}.*`) : []),
    ...(schema.items === undefined ? [] : schemaPaths(schema.items, `${path}[]`)),
    ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])].flatMap((inner) =>
      schemaPaths(inner, path),
    ),
  ];
}

/** What the first group of a pattern finds in the sources of folders or files. */
function inSources(root: URL, places: readonly string[], pattern: RegExp): readonly string[] {
  const files = places.flatMap((place) =>
    place.endsWith('.ts')
      ? [place]
      : readdirSync(new URL(place, root), { recursive: true, encoding: 'utf8' })
          .filter((name) => /\.tsx?$/.test(name))
          .map((name) => `${place}/${name}`),
  );
  return files.flatMap((file) =>
    [...readFileSync(new URL(file, root), 'utf8').matchAll(pattern)].map(([, name = '']) => name),
  );
}

// Before the first release: what it will have.
if (import.meta.main) {
  const root = new URL('../../', import.meta.url);
  writeFileSync(new URL(LISTED_NAMES, root), nameList(await publicNames(root)));
}
