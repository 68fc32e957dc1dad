import * as z from 'zod';

/** A mapping without unknown keys; the message for an unknown key lists the known ones. */
export function strict<Shape extends z.core.$ZodShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? Object.keys(shape).join(', ') : undefined),
  });
}
