import type { NameTable } from '../../json/names.ts';
import type { ErrorsRule, ExplicitResponseRule, Path, RequestRule } from '../../rules/rule.ts';
import { type CompiledResponseRule, type CompiledRule, responseBase, type RuleBase } from '../run.ts';
import { compileAlias, compileFlatten } from './alias.ts';
import { compileConvert } from './convert.ts';
import { compileDeprecations } from './deprecations.ts';
import { compileJoin, compileSplit } from './join.ts';
import { compileFirst, compileList } from './list.ts';
import { compileMap } from './map.ts';
import { compileMove } from './move.ts';
import { compileNest, compileUnnest } from './nest.ts';
import { compileRename } from './rename.ts';
import { compileSet } from './set.ts';
import { compileStrip, compileStripValue } from './strip.ts';
import { compileUnwrap } from './unwrap.ts';

/** Compiles a rule for requests. */
export function compileRule(rule: RequestRule, base: RuleBase, names: NameTable): CompiledRule {
  if ('conversion' in rule) return compileConvert(rule, base, names);
  switch (rule.rule) {
    case 'unwrap':
      return compileUnwrap(rule, base, names);
    case 'nest':
      return compileNest(rule, base, names);
    case 'rename':
      return compileRename(rule, base, names);
    case 'strip':
    case 'only':
      return compileStrip(rule, base, names);
    case 'map':
      return compileMap(rule, base, names);
    case 'set':
    case 'default':
      return compileSet(rule, base, names);
    case 'move':
      return compileMove(rule, base, names);
    case 'list':
      return compileList(rule, base, names);
    case 'join':
      return compileJoin(rule, base, names);
    case 'split':
      return compileSplit(rule, base, names);
  }
}

/** Compiles a rule for responses: most are those for requests, at a place that they name otherwise. */
export function compileResponseRule(
  rule: Exclude<ExplicitResponseRule, ErrorsRule>,
  change: string,
  names: NameTable,
): CompiledResponseRule {
  const compiled = compileBack(rule, responseBase({ change, rule: rule.rule }), names);
  return { ...compiled, status: rule.status };
}

function compileBack(
  rule: Exclude<ExplicitResponseRule, ErrorsRule>,
  base: RuleBase,
  names: NameTable,
): CompiledRule {
  const { path } = rule;
  if ('conversion' in rule) return compileConvert({ ...rule, ...placeOf(path) }, base, names);
  switch (rule.rule) {
    case 'unnest':
      return compileUnnest(rule, base, names);
    case 'alias':
      return compileAlias(rule, base, names);
    case 'flatten':
      return compileFlatten(rule, base, names);
    case 'deprecations':
      return compileDeprecations(rule, base, names);
    case 'first':
      return compileFirst({ ...placeOf(path), to: rule.to }, base, names);
    case 'strip': {
      const { member, in: inside } = placeOf(path);
      return rule.only === undefined
        ? compileStrip({ rule: 'strip', members: [member], in: inside }, base, names)
        : compileStripValue({ member, in: inside, only: rule.only }, base, names);
    }
    case 'move':
    case 'join':
      return compileRule({ ...rule, in: path }, base, names);
    case 'list':
      return compileList({ ...placeOf(path), rule: 'list', to: rule.to }, base, names);
    case 'rename':
    case 'map':
    case 'set':
    case 'default':
    case 'split':
      return compileRule({ ...rule, ...placeOf(path) }, base, names);
  }
}

/** The objects with the member at a path, and its name. */
function placeOf(path: Path): { readonly in: Path; readonly member: string } {
  return { in: path.slice(0, -1), member: path.at(-1) ?? '' };
}
