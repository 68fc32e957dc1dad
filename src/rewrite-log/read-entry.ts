import * as z from 'zod';
import { memberOf } from '../json/values.ts';
import type { Entry } from './entry.ts';
import { entrySchema } from './entry-schema.ts';

/** Members without which a line says nothing of an exchange: a shipper of logs may have left out others. */
const NEEDED = ['time', 'requestId', 'route', 'method', 'path', 'verdict', 'status', 'totalMs', 'ruleBook'];

/**
 * Reads a parsed line of the log as an entry: it has the needed members, and each member has the type of `entrySchema`. Undefined
 * otherwise. Unknown words and members are kept, since the log may come from a newer gateway.
 */
export function readEntry(value: unknown): Entry | undefined {
  return isEntry(value) ? value : undefined;
}

function isEntry(value: unknown): value is Entry {
  return hasTypes(value);
}

const hasTypes = typeCheck({ ...z.toJSONSchema(entrySchema, { io: 'input' }), required: NEEDED });

/** Checks types alone: no words, forms or limits, and no member that the schema does not name. */
function typeCheck(schema: z.core.JSONSchema._JSONSchema | undefined): (value: unknown) => boolean {
  if (typeof schema !== 'object' || schema.type === undefined) return () => true;
  const { type, properties = {}, required = [], items } = schema;
  if (type === 'array') {
    const isElement = typeCheck(Array.isArray(items) ? undefined : items);
    return (value) => Array.isArray(value) && value.every((element) => isElement(element));
  }
  if (type !== 'object') {
    const expected = type === 'integer' ? 'number' : type;
    return (value) => typeof value === expected;
  }
  const members = Object.entries(properties).map(
    ([name, member]) => [name, required.includes(name), typeCheck(member)] as const,
  );
  return (value) =>
    typeof value === 'object' &&
    members.every(([name, isRequired, isRight]) => {
      const member = memberOf(value, name);
      return member === undefined ? !isRequired : isRight(member);
    });
}
