/** Express 4 beside Express 5, whose types serve both here. */
declare module 'express4' {
  export { default } from 'express';
}
