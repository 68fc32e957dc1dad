import { spelledText } from '../../json/names.ts';
import {
  type ConversionBook,
  type ConversionKind,
  type ConversionSchema,
  type ConversionWords,
  isString,
  textOf,
} from './conversion.ts';
import {
  type CompiledDate,
  compiledDate,
  convertDate,
  type DateForm,
  dateLoss,
  dateSchemaPattern,
  formatFault,
  isNumeric,
  isZone,
  secondsOfDay,
} from './date-format.ts';

/** Writes a date in another form. */
export interface DateConversion {
  readonly rule: 'date';
  readonly from: string;
  readonly to: string;
  /** How both forms are read and written. */
  readonly forms: Readonly<
    Record<
      'from' | 'to',
      {
        readonly reads: string;
        readonly writes: readonly (
          | { readonly letter: string; readonly count: number }
          | { readonly text: string }
        )[];
      }
    >
  >;
  /** The time zone for a form whose texts have none. */
  readonly zone: string;
  /** The time of a date without one, in seconds of the day. */
  readonly at: number;
}

/** How `date` converts a value. */
export const conversion: ConversionKind<DateConversion> = {
  converter: ({ from: before, to: after, forms, zone, at }) => {
    const from = formOf(before, forms.from, zone, at);
    const to = formOf(after, forms.to, zone, at);
    return (json) => convertJson(json, from, to);
  },
  inverse: ({ from, to, forms, ...own }) => {
    return { ...own, from: to, to: from, forms: { from: forms.to, to: forms.from } };
  },
  accepts: ({ from }) => `a date in the form ${from}`,
  isOfNumbers: ({ from }) => isNumeric(from),
};

/** How messages and guides describe `date`. */
export const words: ConversionWords<DateConversion> = {
  say: ({ from, to }, name) => `write the date ${name}, ${from}, as ${to}`,
  loss: ({ from, to }) => {
    const loss = dateLoss(from, to);
    if (loss === undefined) return undefined;
    return loss === 'zone'
      ? `${to} keeps the time, but not the zone that it was written in`
      : `${to} has fewer parts of a date than ${from}`;
  },
  remark,
  remarkOfAny: 'the date is written in another form',
  sample: (own) => sampleDate(own) ?? '"2026-12-24"',
};

/** The effect of `date` on a schema. */
export const schema: ConversionSchema<DateConversion> = {
  made: ({ to, forms }) => {
    if (isNumeric(to)) return { type: 'integer' };
    if (to === 'date') return { type: 'string', format: 'date' };
    if (to === 'datetime') return { type: 'string', format: 'date-time' };
    return { type: 'string', pattern: dateSchemaPattern(forms.to) };
  },
  keepsOrder: ({ from, to }) => isNumeric(from) && isNumeric(to),
};

/** With an example, because the names of forms say little without the rule book. */
function remark(own: DateConversion): string {
  const before = sampleDate(own);
  const after = before === undefined ? undefined : conversion.converter(own)(before);
  const forms = `write the date as ${own.to}, not as ${own.from}`;
  return after === undefined ? forms : `${forms}, such as ${after}, not ${before}`;
}

function sampleDate({ from, zone, at }: DateConversion): string | undefined {
  const conversionFrom = dateConversion('datetime', from, zone, at);
  return conversion.converter(conversionFrom)('"2026-12-24T00:00:00Z"');
}

/** How a rule book writes `date`. */
export const book: ConversionBook<DateConversion> = {
  description: 'Writes a date in another form.',
  keys: ({ z, optional, checked }) => {
    const format = checked(formatFault).describe(
      "date, datetime (ISO 8601, written as RFC 3339), rfc-1123, epoch, epoch-ms, or a pattern with Unicode's date letters, such as dd/MM/yyyy or d MMM yyyy h:mm a.",
    );
    return {
      from: format,
      to: format,
      zone: optional(
        z
          .string()
          .refine(
            isZone,
            'is not a time zone; write UTC, an offset such as +10:00, or a name such as Australia/Sydney',
          ),
        'The time zone for a form without one; UTC when absent.',
      ),
      at: optional(
        z
          .string()
          .refine(
            (value) => secondsOfDay(value) !== undefined,
            'is not a time of day; write 09:00, for example',
          ),
        'The time of a date without one; midnight when absent.',
      ),
    };
  },
  read: ({ from, to, zone, at = '00:00' }: DateSource) => dateConversion(from, to, zone, secondsOfDay(at)),
  isOfTexts: true,
};

/** The keys of a rule. */
interface DateSource extends Pick<DateConversion, 'from' | 'to'> {
  readonly zone?: string;
  readonly at?: string;
}

/** The conversion of dates between two forms without faults. */
export function dateConversion(from: string, to: string, zone = 'UTC', at = 0): DateConversion {
  return { rule: 'date', from, to, forms: { from: compiledDate(from), to: compiledDate(to) }, zone, at };
}

function formOf(format: string, { reads, writes }: CompiledDate, zone: string, at: number): DateForm {
  // Not proven linear: each part of a form reads at most thirty characters, and no part can continue the previous one.
  return { format, zone, at, reads: new RegExp(reads, 'i'), writes };
}

function convertJson(json: string, from: DateForm, to: DateForm): string | undefined {
  // A service that reads the number also accepts its digits in a string.
  const text = isNumeric(from.format) && !isString(json) ? json : textOf(json);
  const converted = text === undefined ? undefined : convertDate(text, from, to);
  if (converted === undefined) return undefined;
  return isNumeric(to.format) ? converted : `"${spelledText(converted)}"`;
}
