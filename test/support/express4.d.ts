/** Express 4 beside Express 5, whose types say enough of it. */
declare module 'express4' {
  export { default } from 'express';
}
