import { JsonDocument } from '../../json/document.ts';
import type { NameTable } from '../../json/names.ts';
import type { SetRule } from '../../rules/rule.ts';
import { addLast, find, type Template, write } from '../draft.ts';
import { type CompiledRule, OTHER, pathIds, PLAIN, type RuleBase } from '../run.ts';

const encoder = new TextEncoder();

/** Gives the named member its value: where it is, or at the end of the object. */
export function compileSet(rule: SetRule, base: RuleBase, names: NameTable): CompiledRule {
  const id = names.add(rule.member);
  const template = templateOf(rule.json, names);
  return {
    ...base,
    path: pathIds(rule.in, names),
    apply: (run, object) => {
      const member = find(object, id);
      if (member === undefined) {
        const made = addLast(object, id);
        write(made, template);
        run.step(base.code + PLAIN);
        run.recorder?.add(base, made, rule.value);
        return undefined;
      }
      const isKept = rule.rule === 'default';
      const stop = isKept ? run.settleRead(base, id, member) : run.settleRepeated(base, id, member);
      if (stop !== undefined || isKept) return stop;
      write(member, template);
      run.step(base.code + OTHER);
      run.recorder?.replace(base, member, rule.value);
      return undefined;
    },
  };
}

/** The value of a JSON text that the rule book reader made; later rules can go into its objects and arrays. */
function templateOf(json: string, names: NameTable): Template {
  const document = JsonDocument.read(encoder.encode(json));
  // The texts come from a rule book that was read, so that a fault cannot occur.
  if (!(document instanceof JsonDocument)) return { kind: 'literal', bytes: encoder.encode('null') };
  return templateAt(document, document.root, names);
}

function templateAt(document: JsonDocument, node: number, names: NameTable): Template {
  const children = [...document.childrenOf(node)];
  switch (document.kindOf(node)) {
    case 'object':
      return {
        kind: 'object',
        members: children.map((child) => [
          names.add(document.nameOf(child)),
          templateAt(document, child, names),
        ]),
      };
    case 'array':
      return { kind: 'array', elements: children.map((child) => templateAt(document, child, names)) };
    case 'string':
    case 'scalar':
      return { kind: 'literal', bytes: document.valueOf(node) };
  }
}
