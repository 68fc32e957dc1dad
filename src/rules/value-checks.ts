import { kindOfName } from '../http/fields.ts';
import { fieldFault, isOneValue } from './field-names.ts';
import { isReleaseDate } from './rule-book.ts';
import { prefixFault } from './rule.ts';

/** The checks of values in a rule book that the engine shares. */
export const VALUE_CHECKS = { kindOfName, fieldFault, isOneValue, isReleaseDate, prefixFault };

export type ValueChecks = typeof VALUE_CHECKS;
