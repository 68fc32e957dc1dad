import * as z from 'zod';
import { entrySchema } from '../../rewrite-log/entry-schema.ts';

/** Returns the fields of a rewrite log entry as a Markdown table, from the schema of the log. */
export function logFieldsTable(): string {
  const { properties = {}, required = [] } = z.toJSONSchema(entrySchema, { target: 'draft-7', io: 'input' });
  const rows = Object.entries(properties).map(([name, field]) => {
    const presence = required.includes(name) ? 'always' : '';
    return `| \`${name}\` | ${presence} | ${typeof field === 'boolean' ? '' : meaningOf(field)} |`;
  });
  return ['| field | present | meaning |', '|---|---|---|', ...rows, ''].join('\n');
}

function meaningOf({ type, description, enum: values }: z.core.JSONSchema.BaseSchema): string {
  const words = (values ?? []).map((value) => `\`${String(value)}\``).join(', ');
  const meaning = description ?? (words === '' ? (type ?? '') : '');
  return [words, meaning]
    .filter((part) => part !== '')
    .join('. ')
    .replaceAll('|', String.raw`\|`);
}
