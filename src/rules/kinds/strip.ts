import {
  declareMembers,
  type Book,
  type Declared,
  formOf,
  listed,
  type NameFacts,
  objectsAt,
  type Place,
} from './book.ts';
import { printPath, readPath } from './paths.ts';
import type { JsonScalar, NameTable } from '../../json/names.ts';
import { DraftMember, find } from '../../edits/draft.ts';
import { MappedValues } from '../../edits/mapped-values.ts';
import {
  type CompiledRule,
  type Path,
  pathIds,
  placesOf,
  PLAIN,
  type RuleBase,
  STEPS,
} from '../../edits/run.ts';
import {
  type HeaderKind,
  type Kind,
  type Lens,
  memberAt,
  type QueryKind,
  type ResponseKind,
  type StatusPattern,
  type Words,
} from './kind.ts';

/** Removes `members` from each object at `in`. */
export interface StripRule {
  readonly rule: 'strip';
  readonly members: readonly string[];
  readonly in: Path;
}

/** Removes every member that is not in `members` from each object at `in`. */
export interface OnlyRule {
  readonly rule: 'only';
  readonly members: readonly string[];
  readonly in: Path;
}

/** Removes the member at `path` of a response. */
export interface ResponseStripRule {
  readonly rule: 'strip';
  readonly path: Path;
  /** The only value that is removed; any if absent. */
  readonly only?: JsonScalar;
  /** How many of the surrounding objects are also removed if they become empty; none if absent. */
  readonly around?: number;
  readonly status: readonly StatusPattern[];
}

/** Removes every query parameter with a name in `parameters`. */
export interface QueryStripRule {
  readonly rule: 'strip';
  readonly parameters: readonly string[];
}

/** Removes every field with a name in `fields`. */
export interface HeaderStripRule {
  readonly rule: 'strip';
  readonly fields: readonly string[];
}

/** How `strip` changes the bytes of requests. */
export const kind: Kind<StripRule | OnlyRule> = {
  compile,
  isIdle: ({ rule, members }) => rule === 'strip' && members.length === 0,
};

/** Nothing can restore a removed member. */
export const lens: Lens<StripRule, never> = {
  moves: () => [],
  inverse: () => 'lost',
  drops: ({ members }, name) => members.includes(name),
  isDeprecating: true,
  became,
};

/** Nothing can restore a member that `only` removes. */
export const lensOfOnly: Lens<OnlyRule, never> = {
  moves: () => [],
  inverse: () => 'lost',
  drops: ({ members }, name) => !members.includes(name),
  became,
};

function became(place: Path | undefined): string | undefined {
  return place === undefined ? 'is gone' : undefined;
}

/** How `strip` changes the bytes of responses. */
export const back: ResponseKind<ResponseStripRule> = {
  compile: ({ path, only, around = 0 }, base, names) => {
    if (only !== undefined) return compileValue({ path, only }, base, names);
    const { member, in: inside } = memberAt(path);
    const stripped = compile({ rule: 'strip', members: [member], in: inside }, base, names);
    return around === 0 ? stripped : withObjectsAround(stripped, base, around);
  },
};

/** How `strip` changes queries. */
export const query: QueryKind<QueryStripRule> = {
  compile: ({ parameters }) => ({
    apply: (run) => {
      for (const name of parameters) run.drop(name);
    },
  }),
};

/** How `strip` changes header fields. */
export const header: HeaderKind<HeaderStripRule> = {
  apply: ({ fields }, run) => {
    for (const name of fields) run.drop(name);
    return undefined;
  },
  moves: ({ fields }) => fields.map((field) => ({ from: { header: field }, to: undefined })),
};

/** How messages and guides describe `strip`. */
export const words: Words<StripRule, ResponseStripRule> = {
  of: 'both',
  named,
  why: 'V2 never gets the value, so no response has it',
  say: (rule, name, where) => {
    if (!('members' in rule)) return `strip ${name}`;
    return `strip ${rule.members.length === 0 ? 'nothing yet' : rule.members.join(', ')}${where}`;
  },
  done: ({ name }) => `${name} is removed: V2 does not take it.`,
};

/** How messages and guides describe `only`, which is not for responses. */
export const wordsOfOnly: Words<OnlyRule> = {
  of: 'requests',
  named,
  why: 'V2 never gets the value, so no response has it',
  say: ({ members }, _, where) => `keep only ${members.join(', ')}${where}`,
  none: (_, place) => `${place} has no other members.`,
  done: ({ name }) => `${name} is not an attribute that V2 accepts; it is removed.`,
};

/** How a rule book writes `strip`: for members, parameters and fields. */
export const book: Book<StripRule, ResponseStripRule, QueryStripRule, HeaderStripRule> = {
  request: {
    form: ({ strict, memberPath, inside, z }) =>
      formOf(
        strict({
          strip: z.union([memberPath, z.array(memberPath)], { error: 'a path or a list of paths' }),
          in: inside,
        }).describe('Removes members.'),
        (source, place) => declare(source.strip, objectsAt(source.in), place),
      ),
    learn: ({ in: objects, members }, facts) => facts.strip(objects, members),
    fate: () => 'then strips',
    lost: ({ in: objects, members }) => {
      if (members.length === 0) return [];
      const names = members.map((member) => printPath([...objects, member])).join(', ');
      return [`strip has no inverse: responses lack ${names}`];
    },
  },
  response: {
    mayBeAnywhere: true,
    form: ({ strict, memberPath, oneOrMore, status }) =>
      formOf(
        strict({ strip: oneOrMore(memberPath, 'a path or a list of paths'), status }).describe(
          'Removes members of a response.',
        ),
        (source, place) =>
          listed(source.strip, place, 'strip').names.map((member) => {
            return { rule: { rule: 'strip', path: readPath(member), status: place.status } };
          }),
      ),
    effect: ['strips '],
    learn: ({ path, only, around }, facts) => {
      const { in: objects, member } = memberAt(path);
      if (only === undefined && around === undefined) facts.strip(objects, [member]);
    },
    takes: ({ only }) => only === undefined,
  },
  query: {
    form: ({ strict, parameter, z }) =>
      formOf(
        strict({
          strip: z.union([parameter, z.array(parameter)], { error: 'a name or a list of names' }),
        }).describe('Removes query parameters.'),
        ({ strip }, place) => {
          const { names, parts } = listed(strip, place, 'strip');
          return [{ rule: { rule: 'strip', parameters: names }, parts }];
        },
      ),
    looksFor: ({ parameters }) => parameters,
    learn: ({ parameters }, names) => takeAllOf(parameters, names),
  },
  headers: {
    form: ({ strict, field, oneOrMore }) =>
      formOf(
        strict({ strip: oneOrMore(field, 'a field name or a list of them') }).describe(
          'Removes header fields.',
        ),
        ({ strip }, place) => {
          const { names, parts } = listed(strip, place, 'strip');
          return [{ rule: { rule: 'strip', fields: names }, parts }];
        },
      ),
    looksFor: ({ fields }) => fields,
    learn: ({ fields }, names) => takeAllOf(fields, names),
  },
};

/** How a rule book writes `only`. */
export const bookOfOnly: Book<OnlyRule> = {
  request: {
    form: ({ z, strict, name, insideOne }) =>
      formOf(
        strict({ only: z.array(name).min(1).describe('The members that stay.'), in: insideOne }).describe(
          'Removes from an object every member that is not listed.',
        ),
        (source, place) =>
          declareMembers(place, 'only', { in: source.in, of: source.only }, (objects) => {
            return { rule: 'only', ...objects };
          }),
      ),
    learn: ({ in: objects, members }, facts) => facts.close(objects, members),
    stale: ({ in: objects, members }, facts) => {
      const change = facts.closedBy(objects, new Set(members));
      if (change === undefined) return [];
      const reason = `change "${change}" leaves nothing else in ${printPath(objects)}; remove one of the two`;
      return [{ part: 'inside', reason }];
    },
    keepsNamed: true,
    fate: () => 'then removes, as its only does not list it',
    lost: ({ in: objects }) => [
      `only has no inverse: responses lack the members that it removes from ${printPath(objects)}`,
    ],
  },
};

/** Returns one rule for each object that members are removed from, in the order in which the objects first appear. */
function declare(
  source: string | readonly string[],
  base: Path,
  place: Place,
): readonly Declared<StripRule>[] {
  const { names, parts } = listed(source, place, 'strip');
  const named = names.map((text, index) => {
    return { ...memberAt([...base, ...readPath(text)]), at: parts[index] ?? place.path };
  });
  const groups = Map.groupBy(named, ({ in: objects }) => JSON.stringify(objects));
  return [...groups.values()].map((group) => {
    const members = group.map(({ at }) => at);
    return {
      rule: { rule: 'strip', members: group.map(({ member }) => member), in: group[0]?.in ?? base },
      inside: members[0] ?? place.path,
      members,
    };
  });
}

function takeAllOf(taken: readonly string[], names: NameFacts): void {
  for (const name of taken) names.take(name, `strips "${name}"`);
}

function named({ members }: StripRule | OnlyRule): readonly Path[] {
  return members.map((member) => [member]);
}

/** Removes the named members (`strip`), or all others (`only`). */
function compile(rule: StripRule | OnlyRule, base: RuleBase, names: NameTable): CompiledRule {
  const places = placesOf(rule.members, names);
  const isStrip = rule.rule === 'strip';
  const apply: CompiledRule['apply'] = (run, object) => {
    let dropped: DraftMember[] | undefined;
    let isAnyNamed = false;
    for (const member of object.members) {
      const isNamed = (places[member.id] ?? -1) >= 0;
      isAnyNamed ||= isNamed;
      if (isNamed === isStrip) (dropped ??= []).push(member);
    }
    // A single member that is dropped by name does not need a check for repetition.
    if (isAnyNamed && !(isStrip && dropped?.length === 1)) {
      const repeated = run.findRepeated(object, places);
      if (repeated !== undefined)
        return run.settleRepeated(base, repeated.id, repeated) ?? apply(run, object);
    }
    if (dropped === undefined) return undefined;
    if (!isStrip) run.readsValues();
    // V1's messages about them follow the order of the list.
    if (isStrip) dropped.sort((one, other) => (places[one.id] ?? 0) - (places[other.id] ?? 0));
    for (const member of dropped)
      run.step(base.code + (isStrip ? (places[member.id] ?? 0) : 0) * STEPS + PLAIN);
    run.drop(base, object, dropped);
    return undefined;
  };
  return { ...base, path: pathIds(rule.in, names), apply };
}

/** Also removes the surrounding objects if they contain nothing else. */
function withObjectsAround(rule: CompiledRule, base: RuleBase, around: number): CompiledRule {
  return {
    ...rule,
    apply: (run, object) => {
      const before = object.members.length;
      const stop = rule.apply(run, object);
      if (object.members.length === before) return stop;
      let emptied = object;
      for (let level = 0; level < around && emptied.members.length === 0; level += 1) {
        const { up } = emptied;
        if (!(up instanceof DraftMember) || up.holder === undefined) break;
        emptied = up.holder;
        run.drop(base, emptied, [up]);
      }
      return stop;
    },
  };
}

/** Removes the named member if it has a certain value: the inverse of a `default`. */
function compileValue(
  { path, only }: { readonly path: Path; readonly only: JsonScalar },
  base: RuleBase,
  names: NameTable,
): CompiledRule {
  const { member, in: inside } = memberAt(path);
  const id = names.add(member);
  const values = new MappedValues([{ from: only, to: only }]);
  return {
    ...base,
    path: pathIds(inside, names),
    apply: (run, object) => {
      const last = find(object, id);
      if (last === undefined) return undefined;
      run.readsValues();
      if (values.find(run.draft, last) === -1) return undefined;
      const stop = run.settleRepeated(base, id, last);
      if (stop !== undefined) return stop;
      run.step(base.code + PLAIN);
      run.drop(base, object, [last]);
      return undefined;
    },
  };
}
