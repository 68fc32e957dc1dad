import { scalarValue } from '../../json/names.ts';
import type { Path } from '../../edits/run.ts';
import type { AliasRule } from './alias.ts';
import type { ConvertRule, ResponseConvertRule } from './convert.ts';
import type { ResponseCopyRule } from './copy.ts';
import { shapeOfElements } from './element-schemas.ts';
import type { ResponseElementsRule } from './elements.ts';
import type { DeprecationsRule } from './deprecations.ts';
import type { FlattenRule } from './flatten.ts';
import type { ResponseJoinRule, ResponseSplitRule } from './join.ts';
import { memberAt } from './kind.ts';
import type { PlacedEdit, SchemaEdits } from './schema-edits.ts';
import { type ByName, type KindOfResponseRule, lensOf, type RequestRule } from './kinds.ts';
import type { ResponseListRule } from './list.ts';
import type { LookupRule } from './lookup.ts';
import type { MapRule, ResponseMapRule } from './map.ts';
import type { ResponseMoveRule } from './move.ts';
import type { RenameBackRule } from './rename.ts';
import type { ResponseSetRule, SetRule } from './set.ts';
import type { OnlyRule, ResponseStripRule, StripRule } from './strip.ts';
import type { UnnestRule } from './unnest.ts';
import type { UnwrapRule } from './unwrap.ts';
import type { WrapRule } from './wrap.ts';

/* The effect of each kind on the schemas of V2's description. It is here and not in the modules of the kinds, so that an edge worker loads it only when V1's description is requested. */

/** Converts the schemas of V2's objects to V1's, as a rule converts the objects. */
type SchemaKind<Rule> = {
  edits<Edit>(rule: Rule, make: SchemaEdits<Edit>): readonly PlacedEdit<Edit>[];
}['edits'];

const RENAME: SchemaKind<RenameBackRule> = ({ path, to }, make) =>
  ofMember(path, (member) => make.rename(member, to));

const UNNEST: SchemaKind<UnnestRule> = ({ path, members }, make) =>
  ofMember(path, (member) => make.bringOut(member, members, false));

const ALIAS: SchemaKind<AliasRule> = ({ path, as }, make) =>
  ofMember(path, (member) => make.alias(member, as));

const FLATTEN: SchemaKind<FlattenRule> = ({ path, members }, make) =>
  ofMember(path, (member) => make.bringOut(member, members, true));

/** The list that the gateway adds to responses. */
const DEPRECATION_LIST = {
  type: 'array',
  description: 'The deprecated attributes that the request used; absent when it used none.',
  items: {
    type: 'object',
    required: ['attribute', 'message'],
    properties: { attribute: { type: 'string' }, message: { type: 'string' } },
  },
};

const DEPRECATIONS: SchemaKind<DeprecationsRule> = ({ path }, make) =>
  make.leavesOut ? forAny(ofMember(path, (member) => make.add(member, DEPRECATION_LIST))) : [];

const STRIP: SchemaKind<ResponseStripRule> = ({ path, only, around }, make) => {
  // The rule removes one of many values, so the member becomes optional.
  if (only !== undefined) return ofMember(path, (member) => make.allowAbsent(member));
  const end = path.length - 1 - (around ?? 0);
  const gone = path.slice(end);
  return [
    {
      in: path.slice(0, end),
      edit: around === undefined ? make.remove(gone) : make.removeAt(gone),
      of: path,
    },
  ];
};

const MAP: SchemaKind<ResponseMapRule> = ({ path, values }, make) => {
  const byValue = new Map(values.map(({ from, to }) => [scalarValue(from), [scalarValue(to)]]));
  return ofMember(path, (member) => make.map(member, byValue));
};

const SET: SchemaKind<ResponseSetRule> = ({ rule, path, value }, make) => {
  const added = ofMember(path, (member) => make.add(member, rule === 'set' ? { const: value } : {}));
  return forAny(value === null ? [...added, ...ofMember(path, (member) => make.allowNull(member))] : added);
};

const MOVE: SchemaKind<ResponseMoveRule> = ({ path, from, to }, make) => [
  { in: path, edit: make.move(from, to), of: [...path, ...from] },
];

const COPY: SchemaKind<ResponseCopyRule> = ({ path, from, to }, make) => [
  { in: path, edit: make.copy(from, to), of: [...path, ...from] },
];

const CONVERT: SchemaKind<ResponseConvertRule> = ({ path, conversion }, make) =>
  ofMember(path, (member) => make.convert(member, conversion));

const LIST: SchemaKind<ResponseListRule> = ({ path, to }, make) =>
  ofMember(path, (member) =>
    make.reshape(member, to, {
      key: 'list',
      schema: (items) => ({ type: 'array', items }),
      value: (value) => [value],
    }),
  );

const FIRST: SchemaKind<ResponseListRule> = ({ path, to }, make) => {
  const first = ofMember(path, (member) =>
    make.reshape(member, to, {
      key: 'first',
      schema: (list, follow) => {
        const described = follow(list);
        return typeof described === 'object' && described !== null && 'items' in described
          ? described.items
          : {};
      },
      value: (value) => (Array.isArray(value) ? (value[0] ?? null) : value),
    }),
  );
  // An empty list has no first element.
  return [...first, ...forAny(ofMember([...path.slice(0, -1), to], (member) => make.allowNull(member)))];
};

const ELEMENTS: SchemaKind<ResponseElementsRule> = (rule, make) =>
  ofMember(rule.path, (member) => make.reshape(member, rule.to, shapeOfElements(rule)));

const JOIN: SchemaKind<ResponseJoinRule> = ({ path, members, to }, make) => [
  { in: path, edit: make.replace(members, [to]), of: [...path, ...members.slice(0, 1)] },
];

const SPLIT: SchemaKind<ResponseSplitRule> = ({ path, to }, make) =>
  ofMember(path, (member) => make.replace([member], to));

/** The members are described by V2 in another place. */
const LOOKUP: SchemaKind<LookupRule> = ({ path, take, as, absent }, make) => {
  const properties = Object.fromEntries(take.map((name) => [name, {}]));
  return ofMember(path, (member) => member).flatMap(({ in: objects, edit: member, of }) => {
    const replaced = member === as ? [{ in: objects, edit: make.remove([member]), of }] : [];
    const added = { in: objects, edit: make.add(as, { type: 'object', properties }), of: undefined };
    const nullable = absent === 'null' ? [{ in: objects, edit: make.allowNull(as), of: undefined }] : [];
    return [...replaced, added, ...nullable];
  });
};

const WRAP: SchemaKind<WrapRule> = ({ path }, make) => wrapped(path[0] ?? '', make);

/** The effect of each kind of response rule on V2's schemas. */
const SCHEMAS: ByName<Exclude<KindOfResponseRule, ResponseConvertRule>, SchemaKind<KindOfResponseRule>> = {
  rename: RENAME,
  unnest: UNNEST,
  alias: ALIAS,
  flatten: FLATTEN,
  deprecations: DEPRECATIONS,
  strip: STRIP,
  map: MAP,
  set: SET,
  default: SET,
  move: MOVE,
  copy: COPY,
  list: LIST,
  first: FIRST,
  entries: ELEMENTS,
  unlist: ELEMENTS,
  join: JOIN,
  split: SPLIT,
  lookup: LOOKUP,
  wrap: WRAP,
};

const UNDONE_UNWRAP: SchemaKind<UnwrapRule> = ({ member }, make) => wrapped(member, make);

/** The places of a member that V1 had at any depth are unknown. */
const UNDONE_STRIP: SchemaKind<StripRule> = ({ in: objects, members }, make) =>
  (objects[0] === '**' ? [] : members).map((member) => ({
    in: objects,
    edit: make.add(member, { deprecated: true }),
    of: undefined,
  }));

/** V1 read other members, or ignored them. */
const UNDONE_ONLY: SchemaKind<OnlyRule> = ({ in: objects }, make) => [
  { in: objects, edit: make.allowOthers(), of: undefined },
];

/** A value of V2 represents all values of V1 that map to it. */
const UNDONE_MAP: SchemaKind<MapRule> = ({ in: objects, member, values }, make) => {
  const byV2 = Map.groupBy(values, ({ to }) => scalarValue(to));
  const old = [...byV2].map(([to, some]) => [to, some.map(({ from }) => scalarValue(from))] as const);
  return [{ in: objects, edit: make.map(member, new Map(old)), of: [...objects, member] }];
};

const UNDONE_SET: SchemaKind<SetRule> = ({ rule, in: objects, member }, make) => {
  const edit = rule === 'set' ? make.remove([member]) : make.allowAbsent(member);
  return [{ in: objects, edit, of: undefined }];
};

/** How request rules are undone in V2's schemas if they have no inverse, or one that covers less of them. */
const UNDONE: Readonly<Record<string, SchemaKind<RequestRule> | undefined>> = {
  unwrap: UNDONE_UNWRAP,
  strip: UNDONE_STRIP,
  only: UNDONE_ONLY,
  map: UNDONE_MAP,
  set: UNDONE_SET,
  default: UNDONE_SET,
} satisfies Partial<ByName<Exclude<RequestRule, ConvertRule>, SchemaKind<RequestRule>>>;

/** The edits that turn V2's schemas of a response into V1's, as a rule does with its body. */
export function responseSchemaEdits<Edit>(
  rule: KindOfResponseRule,
  make: SchemaEdits<Edit>,
): readonly PlacedEdit<Edit>[] {
  if ('elements' in rule) return ELEMENTS(rule, make);
  return 'conversion' in rule ? CONVERT(rule, make) : SCHEMAS[rule.rule](rule, make);
}

/** The edits that turn V2's schemas of a request into V1's, by undoing rules. */
export function requestSchemaEdits<Edit>(
  rule: RequestRule,
  make: SchemaEdits<Edit>,
): readonly PlacedEdit<Edit>[] {
  const own = UNDONE[rule.rule];
  if (own !== undefined) return own(rule, make);
  const objects = 'in' in rule ? rule.in : [];
  const inverse = lensOf(rule).inverse(rule, objects, { inside: (path) => path, hasNulls: false });
  if (typeof inverse === 'string') {
    if (!('conversion' in rule)) return [];
    return ofMember([...objects, rule.member], (member) => make.loosen(member, rule.conversion));
  }
  return inverse.flatMap((back) => responseSchemaEdits({ ...back, status: [] }, make));
}

/** The edit of a whole body that becomes the value of a member. */
function wrapped<Edit>(member: string, make: SchemaEdits<Edit>): readonly PlacedEdit<Edit>[] {
  return [{ in: [], edit: make.wrap(member), of: undefined }];
}

/** One edit of the objects with the member at a path. */
function ofMember<Edit>(path: Path, edit: (member: string) => Edit): readonly PlacedEdit<Edit>[] {
  const { in: objects, member } = memberAt(path);
  return [{ in: objects, edit: edit(member), of: path }];
}

/** The same edits, for descriptions that may not contain the members. */
function forAny<Edit>(edits: readonly PlacedEdit<Edit>[]): readonly PlacedEdit<Edit>[] {
  return edits.map((edit) => ({ ...edit, of: undefined }));
}
