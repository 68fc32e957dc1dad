import {
  describedPrefix,
  type Description,
  elementsOf,
  followed,
  isObject,
  memberOf,
  objectIn,
} from '../description.ts';
import { firstValue } from './compare-shapes.ts';
import { hasField, parameterShape, type Versions } from './find-inverse.ts';
import { type ProposedKey, scalar } from './print-rule-book.ts';
import { changeId, type ProposedChange } from './propose-changes.ts';

/** What the top of a rule book says, and the rules of header fields that belong to it. */
export interface ProposedHead {
  readonly keys: readonly ProposedKey[];
  readonly changes: readonly ProposedChange[];
  /** The header field that names V2's release, which is no field of an operation. */
  readonly versionField: string | undefined;
}

const FIRST_RELEASE = '2025-01-01';

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Proposes the prefixes of both versions, V2's release, and where V1's clients have their key. */
export function proposeHead(versions: Versions): ProposedHead {
  const { named, v1, v2 } = versions;
  const fresh = requiredFields(versions);
  const versionField = fresh.find(
    ({ name, on }) => on.length === named.length && /version|release|revision/i.test(name),
  );
  const release = versionKey(v2.description, versionField);
  const key = credentials(v1.description, v2.description);
  return {
    keys: [...prefixKeys(v1.description, v2.description), ...release, ...key.keys],
    changes: key.changes,
    versionField: versionField?.name,
  };
}

/** Header fields that V2 requires and V1 does not have, where no field of V1 is one of them: V2 refuses requests without. */
export function newFieldChanges(
  versions: Versions,
  isKnown: (name: string) => boolean,
): readonly ProposedChange[] {
  return requiredFields(versions)
    .filter(({ name }) => !isKnown(name))
    .map(({ name, on, value }) => ({
      id: changeId(`${name}-header`),
      summary: `The header field ${name} is required.`,
      on: on.length === versions.named.length ? 'every' : on,
      rules: [],
      headers: [
        {
          texts: [`{ default: ${name}, to: ${scalar(value ?? '…')} }`],
          confidence: 0.5,
          evidence: 'V1 does not have it',
          doubt: `${name} is required in V2 and not in V1: V2 refuses requests without it`,
        },
      ],
    }));
}

interface RequiredField {
  readonly name: string;
  readonly on: string[];
  readonly value: string | undefined;
}

function requiredFields({ named, v1, v2 }: Versions): readonly RequiredField[] {
  const found = new Map<string, RequiredField>();
  for (const { pair, operation } of named) {
    const old = parameterShape(pair.v1, v1, 'header').members;
    for (const [name, { shape, required }] of parameterShape(pair.v2, v2, 'header').members) {
      if (!required || hasField(old, name)) continue;
      const value = firstValue(shape);
      const field = found.get(name) ?? { name, on: [], value: value === undefined ? value : String(value) };
      found.set(name, field);
      field.on.push(operation.id);
    }
  }
  return [...found.values()];
}

function prefixKeys(v1: Description, v2: Description): readonly ProposedKey[] {
  const [from, to] = [describedPrefix(v1, 'v1'), describedPrefix(v2, 'v2')];
  const root = [from === '' ? 'V1' : '', to === '' ? 'V2' : ''].filter((version) => version !== '');
  if (root.length > 0)
    return [
      {
        key: 'from',
        lines: [`from: ${from || '/v1'}`, `to: ${to || '/v2'}`],
        question: `${root.join(' and ')} ${root.length === 1 ? 'has' : 'have'} no path prefix in the servers, and a rule book needs one of at least one segment. Where do requests arrive?`,
      },
    ];
  const isUsual = [undefined, '/api/v1'].includes(from) && [undefined, '/api/v2'].includes(to);
  if (isUsual) return [];
  return [
    ...(from === undefined ? [] : [{ key: 'from', lines: [`from: ${from}`] }]),
    ...(to === undefined ? [] : [{ key: 'to', lines: [`to: ${to}`] }]),
  ];
}

/** The release of V2, if the description has dated ones, or a field that V2 requires to name it. */
function versionKey(v2: Description, field: RequiredField | undefined): readonly ProposedKey[] {
  const dated = releaseOf(v2);
  if (field === undefined || field.name.toLowerCase() === 'x-api-version') return releaseKeys(v2);
  const value = field.value ?? dated;
  const isDay = value !== undefined && DAY.test(value) && value >= FIRST_RELEASE;
  const form = isDay ? '' : ', form: text';
  return [
    {
      key: 'version',
      lines: [`version: { header: ${field.name}, value: ${isDay ? value : scalar(value ?? '…')}${form} }`],
      question: `which release of V2 do these rules lead to? V2 requires ${field.name}, and V1 does not have it.`,
    },
  ];
}

/** The dated release that the rules lead to, which the version field of requests names; undefined where V2's version is no date. */
function releaseOf(v2: Description): string | undefined {
  const version = memberOf(objectIn(v2, 'info'), 'version');
  const isRelease = typeof version === 'string' && DAY.test(version) && version >= FIRST_RELEASE;
  return isRelease ? version : undefined;
}

/** The release as a key of a rule book, where V2's description has dated ones. */
export function releaseKeys(v2: Description): readonly ProposedKey[] {
  const dated = releaseOf(v2);
  return dated === undefined ? [] : [{ key: 'version', lines: [`version: ${dated}`] }];
}

/** Where a key is: a header field or a query parameter, and the word before it. */
interface KeyPlace {
  readonly in: 'header' | 'query';
  readonly name: string;
  readonly word: string;
}

function keyPlace(description: Description): KeyPlace | undefined {
  const schemes = objectIn(objectIn(description, 'components'), 'securitySchemes');
  const [required] = elementsOf(description['security']);
  const names = Object.keys(schemes);
  const asked = Object.keys(isObject(required) ? required : {});
  const [name] = asked.length > 0 ? asked : names;
  if (name === undefined || (asked.length > 0 ? asked : names).length > 1) return undefined;
  const scheme = followed(description, schemes[name]);
  const [type, place, field, word] = ['type', 'in', 'name', 'scheme'].map((key) => memberOf(scheme, key));
  if (type === 'apiKey' && typeof field === 'string' && (place === 'header' || place === 'query'))
    return { in: place, name: field, word: '' };
  const isBearer = type === 'http' && String(word).toLowerCase() === 'bearer';
  return isBearer || type === 'oauth2' || type === 'openIdConnect'
    ? { in: 'header', name: 'Authorization', word: 'Bearer' }
    : undefined;
}

/** Where V1's clients have their key, and the rule that puts it where V2 wants it. */
function credentials(v1: Description, v2: Description): Pick<ProposedHead, 'keys' | 'changes'> {
  const [old, young] = [keyPlace(v1), keyPlace(v2)];
  if (old === undefined) return { keys: [], changes: [] };
  const isAuthorization = old.name.toLowerCase() === 'authorization';
  const keys = isAuthorization
    ? []
    : [{ key: 'client', lines: [`client: { ${old.in}: ${scalar(old.name)} }`] }];
  const isSame = old.in === young?.in && old.name.toLowerCase() === young.name.toLowerCase();
  if (young === undefined || isSame || young.in === 'query' || old.word !== '') return { keys, changes: [] };
  const as = young.word === '' ? '' : `, as: ${scalar(`${young.word} {}`)}`;
  const rule = `{ ${old.in === 'query' ? 'query' : 'rename'}: ${scalar(old.name)}, to: ${young.name}${as} }`;
  const change: ProposedChange = {
    id: 'credential',
    summary: `The key of ${old.name} is in ${young.name}.`,
    on: 'every',
    rules: [],
    headers: [
      {
        texts: [rule],
        confidence: 0.8,
        evidence: `V1 has its key in ${old.name}, and V2 in ${young.name}`,
        doubt: 'V2 may have keys of its own',
      },
    ],
  };
  return { keys, changes: [change] };
}
